import FanOut
import PusherProtocol
import TestSupport
import Testing

@testable import Cluster

@Suite("The link of a node with many channels or members")
struct LargeLinkTests {
    /// By default NATS takes messages of up to a mebibyte.
    private static let messageMax = 1 << 20

    /// Passes what one link puts out to another one, until nothing is left.
    /// - Returns: the sizes of the messages.
    private func exchange(_ one: inout LinkFixture, _ two: inout LinkFixture, at now: Int64) -> [Int] {
        var sizes: [Int] = []
        while true {
            let count = sizes.count
            sizes += pass(&one, to: &two, at: now)
            sizes += pass(&two, to: &one, at: now)
            if count == sizes.count { return sizes }
        }
    }

    private func pass(_ sender: inout LinkFixture, to receiver: inout LinkFixture, at now: Int64) -> [Int] {
        sender.take().compactMap { output in
            guard case .publish(let subject, let bytes) = output else { return nil }
            let subjects = receiver.link.subjects
            let tokens = [subjects.nodes: ClusterLink.nodesToken, subjects.node(receiver.link.node.epoch): ClusterLink.nodeToken]
            if let token = tokens[subject] { receiver.link.received(bytes, token: token, at: now, &receiver.outputs) }
            return bytes.count
        }
    }

    /// Two links that have not heard of each other.
    private func strangers() -> (LinkFixture, LinkFixture) {
        var two = LinkFixture("two", epoch: 2, reportsShares: true)
        two.link.start(&two.outputs)
        two.link.connected(at: 0, &two.outputs)
        _ = two.take()
        return (LinkFixture.up(reportsShares: true), two)
    }

    @Test("a node that comes gets the shares of 5,000 channels in few messages, and agrees")
    func shares() {
        var (one, two) = strangers()
        for number in 0..<5_000 { one.changed(.count(name("room-\(number)"), 1)) }
        _ = one.take()
        one.tick(2_000)
        two.tick(2_000)
        let sizes = exchange(&one, &two, at: 2_000)
        #expect(sizes.count < 30 && sizes.allSatisfy { $0 < Self.messageMax })
        #expect(two.link.kept.count == 5_000)
        #expect(two.link.kept.digest(of: Epoch(1)) == one.link.localShares.digest(for: Epoch(2)))
    }

    @Test("a share of a channel with 50,000 users arrives in parts")
    func largeShare() {
        var (one, two) = strangers()
        for number in 0..<50_000 {
            one.changed(.memberJoined(name("presence-a"), PresenceMember(id: "a-rather-long-user-id-\(number)")))
        }
        _ = one.take()
        one.tick(2_000)
        two.tick(2_000)
        let sizes = exchange(&one, &two, at: 2_000)
        #expect(sizes.allSatisfy { $0 < Self.messageMax })
        #expect(two.link.kept.digest(of: Epoch(1)) == one.link.localShares.digest(for: Epoch(2)))
        #expect(two.link.kept.digest(of: Epoch(1)) != ShareDigest())
    }

    @Test("a bundle may come in parts, but a part within parts is none")
    func partedBundle() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        func hear(_ body: ClusterMessage.Body, number: UInt64, _ fixture: inout LinkFixture) {
            var message = ClusterMessage(sender: Epoch(2), body)
            message.number = number
            for (index, part) in message.parts(size: 1_000).enumerated() {
                var carrier = ClusterMessage(sender: Epoch(2), part)
                carrier.number = number + 1 + UInt64(index)
                fixture.link.received(carrier.bytes, token: ClusterLink.nodeToken, at: 0, &fixture.outputs)
            }
        }
        let shares = (0..<100).map { number in
            let key = ChannelKey(app: "app", channel: "room-\(number)")
            return ClusterMessage.Body.share(key, .count(1), .toKeeper)
        }
        hear(.several(shares), number: 100, &fixture)
        #expect(fixture.link.kept.count == 100 && fixture.link.unreadableMessages == 0)
        hear(.part(of: 1, index: 0, isLast: true, ArraySlice(repeating: 1, count: 2_000)), number: 1_000, &fixture)
        #expect(fixture.link.unreadableMessages == 1)
    }

    @Test("20,000 members with information arrive in parts")
    func largeMembers() {
        var (one, two) = strangers()
        let info = Array(repeating: UInt8(ascii: "1"), count: 100)
        for number in 0..<20_000 {
            one.changed(.memberJoined(name("presence-a"), PresenceMember(id: "user-\(number)", info: info)))
        }
        _ = one.take()
        one.tick(2_000)
        two.tick(2_000)
        _ = exchange(&one, &two, at: 2_000)
        _ = two.want("presence-a", at: 2_000)
        two.link.granted([LinkFixture.first], at: 2_000, &two.outputs)
        let question = two.take().filter { if case .publish = $0 { true } else { false } }
        two.outputs = question
        let sizes = pass(&two, to: &one, at: 2_000) + pass(&one, to: &two, at: 2_000)
        #expect(sizes.count > 4 && sizes.allSatisfy { $0 < Self.messageMax })
        let outputs = two.take()
        #expect(outputs.members.count == 20_000 && outputs.ready == [0])
    }

    @Test("heartbeats stay small although 50,000 presence channels have changed")
    func heartbeats() {
        var one = LinkFixture.up()
        for number in 0..<50_000 { one.changed(.memberJoined(name("presence-\(number)"), PresenceMember(id: "ann"))) }
        _ = one.take()
        one.tick(2_000)
        var named = 0
        for case .publish(_, let bytes) in one.take() {
            #expect(bytes.count < Self.messageMax)
            if case .heartbeat(_, let versions)? = ClusterMessage(bytes)?.body { named += versions.count }
        }
        #expect(named == 50_000)
    }

    @Test("the death of a node is a pass over the channels, not one for each of them")
    func death() {
        let (few, many) = (deathTime(channels: 250), deathTime(channels: 4_000))
        #expect(many < few * 16 * 4, "16 times as many channels")
    }

    private func deathTime(channels: Int) -> Duration {
        ThreadTime.fastest {
            var fixture = LinkFixture.up([2, 3], reportsShares: true)
            for number in 0..<channels {
                fixture.changed(.occupied(name("room-\(number)")))
                fixture.changed(.count(name("room-\(number)"), 1))
            }
            fixture.tick(from: 0, to: 5_900)
            fixture.hear(3, .heartbeat(name: "n3", []), at: 5_900)
            _ = fixture.take()
            return ThreadTime.of {
                fixture.tick(6_100)
                #expect(fixture.take().went == ["n2"])
            }
        }
    }

    @Test("a tick does not look at all channels")
    func tick() {
        let (few, many) = (tickTime(channels: 100), tickTime(channels: 20_000))
        #expect(many < few * 10, "200 times as many channels")
    }

    private func tickTime(channels: Int) -> Duration {
        var fixture = LinkFixture.up([2])
        for number in 0..<channels {
            fixture.changed(.occupied(name("presence-\(number)")))
            fixture.changed(.memberJoined(name("presence-\(number)"), PresenceMember(id: "ann")))
        }
        fixture.tick(2_000)
        _ = fixture.take()
        return ThreadTime.fastest { ThreadTime.of { for now: Int64 in 2_001...2_020 { fixture.tick(now) } } }
    }
}
