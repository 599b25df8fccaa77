import PusherProtocol
import TestSupport
import Testing

@testable import Cluster

/// Bytes that no node has sent never crash one; what is read of them can be written and read again.
@Suite("Random bytes")
struct FuzzTests {
    @Test("as messages")
    func messages() throws {
        var dice = SplitMix(seed: 1)
        var readable = 0
        for _ in 0..<20_000 {
            // A header that is right, so that most bodies are read.
            var bytes: [UInt8] = [1, UInt8(dice.within(1...24))]
            for _ in 0..<24 { bytes.append(UInt8(truncatingIfNeeded: dice.next())) }
            guard let message = ClusterMessage(bytes + Self.bytes(using: &dice)) else { continue }
            readable += 1
            #expect(try #require(ClusterMessage(message.bytes)) == message)
        }
        #expect(readable > 2_000)
    }

    @Test("as messages that were right but for some bytes")
    func changedMessages() throws {
        var dice = SplitMix(seed: 2)
        let key = ChannelKey(app: "1001", channel: "presence-a")
        let bodies: [ClusterMessage.Body] = [
            .share(key, .whole(count: 2, users: ["ann", "bob"]), .moved), .share(key, .count(7), .toKeeper),
            .subscriptionCount(8),
            .handOver(
                key,
                [
                    HandedFact(.count, told: nil), HandedFact(.membership(userID: "ann"), told: true),
                    HandedFact(.occupancy, told: false),
                ]),
            .members(
                ticket: 1, PresenceVersion(channel: PresenceChannel(app: "1001", name: "presence-a"), version: 7),
                [PresenceMember(id: "ann"), PresenceMember(id: "bob", info: [1])]),
            .heartbeat(name: "n1", []),
            .several([.share(key, .joined(userID: "ann"), .toFollower), .gaveUp, .sharesEnd(3)]),
            .part(of: 1, index: 1, isLast: true, [1, 2, 3]),
        ]
        for step in 0..<20_000 {
            var bytes = ClusterMessage(sender: Epoch(5), bodies[step % bodies.count]).bytes
            for _ in 0..<dice.within(1...3) { bytes[dice.below(bytes.count)] = UInt8(truncatingIfNeeded: dice.next()) }
            guard let message = ClusterMessage(bytes) else { continue }
            #expect(try #require(ClusterMessage(message.bytes)) == message)
        }
    }

    @Test("as questions")
    func questions() throws {
        var dice = SplitMix(seed: 3)
        for _ in 0..<20_000 {
            guard let question = ClusterQuestion(kind: UInt8(dice.within(0...4)), Self.bytes(using: &dice)) else { continue }
            let again = try #require(ClusterQuestion(kind: question.kind, question.bytes))
            #expect("\(again)" == "\(question)")
        }
    }

    @Test("as shares")
    func shares() {
        var dice = SplitMix(seed: 4)
        for _ in 0..<20_000 {
            let shares = ChannelShare.list(Self.bytes(using: &dice))
            #expect(ChannelShare.list(ChannelShare.parts(of: shares).flatMap { $0 }) == shares)
            var sums = ChannelSums()
            for _ in 0..<4 { sums.add(shares) }
            _ = sums.channels
        }
    }

    @Test("as counts of shares, which a keeper adds up")
    func keptShares() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let key = ChannelKey(app: "app", channel: "room")
        for node in [2, 3] as [UInt64] {
            // The last of them are negative as signed numbers, the first overflow the sum.
            for count in [UInt64(Int64.max), 1 << 63, .max] {
                var bytes = ClusterMessage(sender: Epoch(node), .share(key, .count(0), .toKeeper)).bytes
                bytes.removeLast(8)
                bytes += (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
                fixture.link.received(bytes, token: ClusterLink.nodeToken, at: 1, &fixture.outputs)
            }
        }
        #expect(fixture.link.unreadableMessages == 6)
    }

    /// Up to 60 bytes. Many are zero or small, so that they are plausible as lengths and kinds.
    private static func bytes(using dice: inout SplitMix) -> [UInt8] {
        (0..<dice.below(60)).map { _ in
            dice.chance(percent: 60)
                ? 0 : dice.chance(percent: 70) ? UInt8(dice.below(12)) : UInt8(truncatingIfNeeded: dice.next())
        }
    }
}
