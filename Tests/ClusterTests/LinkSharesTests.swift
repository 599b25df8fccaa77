import FanOut
import PusherProtocol
import Testing

@testable import Cluster

@Suite("Shares, and the keepers that get them")
struct LinkSharesTests {
    /// A channel whose keepers among the nodes are these, in order.
    private func channel(keptBy keepers: [UInt64], among nodes: [UInt64] = [1, 2, 3]) -> String {
        channel { self.keepers(of: $0, among: nodes) == keepers }
    }

    private func channel(where isWanted: (String) -> Bool) -> String {
        (0..<1_000).lazy.map { "room-\($0)" }.first(where: isWanted) ?? ""
    }

    private func keepers(of channel: String, among nodes: [UInt64]) -> [UInt64] {
        Keepers(of: key(channel), among: nodes.map(Epoch.init)).all.map(\.value)
    }

    private func key(_ channel: String) -> ChannelKey { ChannelKey(app: "app", channel: channel) }

    /// The messages to a node, without digests and questions for members.
    private func messages(_ outputs: [ClusterLink.Output], to node: UInt64) -> [ClusterMessage.Body] {
        outputs.published.filter { $0.subject == "c.nodes.\(node)" }.map(\.body).filter { body in
            if case .sharesDigest = body { return false }
            if case .membersQuestion = body { return false }
            return true
        }
    }

    @Test("a change is reported to the keeper and to the one that follows it, and not told here")
    func reported() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 3])
        fixture.changed(.count(name(room), 1))
        let outputs = fixture.take()
        #expect(messages(outputs, to: 2) == [.share(key(room), .count(1), .toKeeper)])
        #expect(messages(outputs, to: 3) == [.share(key(room), .count(1), .toFollower)])
        #expect(outputs.webhooks == [])
    }

    @Test("the keeper tells each edge once, for all nodes, and the end three seconds later")
    func told() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.changed(.count(name(room), 1))
        #expect(fixture.take().webhooks == [.channelOccupied(name(room)), .subscriptionCount(name(room), 1)])
        fixture.hear(2, .count(2), of: room, .toKeeper, at: 1)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 3)])
        fixture.changed(.count(name(room), 0))
        fixture.hear(2, .count(0), of: room, .toKeeper, at: 2)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 2)])
        fixture.tick(3_001)
        #expect(fixture.take().webhooks == [])
        fixture.tick(3_002)
        #expect(fixture.take().webhooks == [.channelVacated(name(room))])
    }

    @Test("the second node takes over: it tells again what is recent, then what the death has changed")
    func takeover() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 1])
        fixture.changed(.count(name(room), 1))
        fixture.hear(2, .count(1), of: room, .toFollower, at: 1_000)
        fixture.tick(from: 1_000, to: 5_000)
        fixture.hear(3, .heartbeat(name: "n3", []), at: 5_000)
        fixture.tick(from: 5_100, to: 6_100)
        var outputs = fixture.take()
        #expect(outputs.went == ["n2"])
        #expect(outputs.webhooks == [])
        // The third node has noticed it, too.
        fixture.agree([3], at: 6_200)
        fixture.tick(from: 6_200, to: 6_800)
        fixture.changed(.count(name(room), 0))
        fixture.tick(from: 6_900, to: 9_900)
        outputs = fixture.take()
        #expect(
            outputs.webhooks == [.channelOccupied(name(room)), .subscriptionCount(name(room), 1), .channelVacated(name(room))])
    }

    @Test("what the dead keeper may not have told is handed over to its successor")
    func successor() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel { keepers(of: $0, among: [1, 2, 3]) == [2, 1] && keepers(of: $0, among: [1, 3, 9]) == [9, 1] }
        fixture.changed(.count(name(room), 1))
        #expect(fixture.take().webhooks == [])
        fixture.hear(9, .heartbeat(name: "n2", []), at: 1_000)
        let outputs = fixture.take()
        #expect(outputs.webhooks == [])
        #expect(
            messages(outputs, to: 9) == [
                .handOver(key(room), [HandedFact(.occupancy, told: nil), HandedFact(.count, told: nil)]),
                .share(key(room), .whole(count: 1, users: []), .toKeeper),
            ])
    }

    @Test("a change that comes to a node that is no longer the keeper is told by the keeper")
    func differentViews() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 3])
        fixture.hear(3, .count(1), of: room, .toKeeper, at: 1)
        let outputs = fixture.take()
        #expect(outputs.webhooks == [])
        let facts = [HandedFact(.occupancy, told: nil), HandedFact(.count, told: nil)]
        #expect(messages(outputs, to: 2) == [.handOver(key(room), facts)])
    }

    @Test("after a goodbye nothing is told again")
    func goodbye() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 1])
        fixture.changed(.count(name(room), 1))
        fixture.hear(2, .goodbye, at: 1_000)
        fixture.agree([3], at: 1_000)
        fixture.tick(1_100)
        #expect(fixture.take().webhooks == [])
        fixture.changed(.count(name(room), 0))
        fixture.tick(from: 1_200, to: 4_200)
        #expect(fixture.take().webhooks == [.channelVacated(name(room))])
    }

    @Test("a node that ends hands over what it has not told, also what comes after its goodbye")
    func ends() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let (room, other) = (channel(keptBy: [1, 2]), channel(keptBy: [1, 3]))
        fixture.changed(.count(name(room), 1))
        fixture.changed(.count(name(room), 0))
        _ = fixture.take()
        fixture.link.end(&fixture.outputs)
        let outputs = fixture.take()
        #expect(outputs.webhooks == [])
        #expect(messages(outputs, to: 2) == [.handOver(key(room), [HandedFact(.occupancy, told: true)])])
        fixture.hear(2, .count(1), of: other, .toKeeper, at: 1)
        let facts = [HandedFact(.occupancy, told: nil), HandedFact(.count, told: nil)]
        #expect(messages(fixture.take(), to: 3) == [.handOver(key(other), facts)])
    }

    @Test("the last node tells all at its end")
    func endsAlone() {
        var fixture = LinkFixture.up(reportsShares: true)
        fixture.tick(from: 100, to: 6_000)
        fixture.changed(.count(name("room"), 1))
        fixture.changed(.count(name("room"), 0))
        _ = fixture.take()
        fixture.link.end(&fixture.outputs)
        #expect(fixture.take().webhooks == [.channelVacated(name("room"))])
    }

    @Test("what a node hands over counts after its goodbye")
    func lastWord() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        fixture.hear(2, .goodbye, at: 1)
        fixture.hear(2, .count(1), of: "room", .toKeeper, at: 1)
        #expect(fixture.link.kept.count == 0)
        fixture.hear(2, .handOver(key("room"), [HandedFact(.occupancy, told: true)]), token: ClusterLink.nodeToken, at: 1)
        fixture.tick(3_001)
        #expect(fixture.take().webhooks == [.channelVacated(name("room"))])
    }

    @Test("after a death, what has changed in the last eleven seconds is reported as untold")
    func recentAfterDeath() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let rooms = (0..<1_000).map { "room-\($0)" }.filter { keepers(of: $0, among: [1, 2, 3]) == [2, 1] }
        let (old, recent) = (rooms[0], rooms[1])
        fixture.changed(.count(name(old), 1))
        for second: Int64 in 0..<16 {
            if second < 9 { fixture.hear(2, .heartbeat(name: "n2", []), at: second * 1_000) }
            fixture.hear(3, .heartbeat(name: "n3", []), at: second * 1_000)
            fixture.tick(from: second * 1_000, to: second * 1_000 + 900)
            if second == 10 { fixture.changed(.count(name(recent), 1)) }
        }
        let shares = messages(fixture.take(), to: 3).compactMap { body -> [String]? in
            if case .share(let key, _, let report) = body { [key.channel, "\(report)"] } else { nil }
        }
        #expect(Set(shares) == [[old, "moved"], [recent, "toFollower"]])
    }

    @Test("a node that comes gets the shares that it is to keep")
    func reportsToNewNode() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [3, 2])
        fixture.changed(.count(name(room), 1))
        fixture.changed(.memberJoined(name(room), PresenceMember(id: "ann")))
        _ = fixture.take()
        fixture.hear(3, .heartbeat(name: "n3", []), at: 1)
        let shares = messages(fixture.take(), to: 3).filter { if case .share = $0 { true } else { false } }
        #expect(shares == [.share(key(room), .whole(count: 1, users: ["ann"]), .moved)])
    }

    @Test("counts of large channels are told every five seconds")
    func largeCounts() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.tick(100)
        fixture.hear(2, .count(100), of: room, .toKeeper, at: 100)
        _ = fixture.take()
        for count in 101...120 { fixture.hear(2, .count(count), of: room, .toKeeper, at: 200) }
        fixture.tick(from: 200, to: 4_900)
        #expect(fixture.take().webhooks == [])
        fixture.tick(5_000)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 120)])
    }

    // MARK: Losses

    @Test("while nodes come and go nothing is told, until all have compared, or for six seconds at most")
    func waitsForAgreement() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let rooms = [[1, 2], [4, 1]].map { channel(keptBy: $0, among: [1, 2, 3, 4]) }
        fixture.hear(4, .heartbeat(name: "n4", []), at: 100)
        for room in rooms { fixture.hear(2, .count(1), of: room, .toKeeper, at: 100) }
        fixture.agree([2, 3], at: 200)
        fixture.tick(700)
        #expect(fixture.take().webhooks == [])
        fixture.agree([4], at: 800)
        fixture.tick(900)
        #expect(fixture.take().webhooks == [.channelOccupied(name(rooms[0])), .subscriptionCount(name(rooms[0]), 1)])
    }

    @Test("a lost report is noticed by the digest and reported again")
    func lostReport() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        var remote = KeptChannels(memory: 1)
        remote.apply(
            .count(1), of: Epoch(2), to: key(room), KeptChannel.Arrival(now: 0, isKeeper: true, isMoved: false, isSettled: true))
        let digest = remote.digest(of: Epoch(2)).value
        fixture.hear(2, .sharesDigest(digest), token: ClusterLink.nodeToken, at: 0)
        #expect(messages(fixture.take(), to: 2) == [])
        fixture.hear(2, .sharesDigest(digest), token: ClusterLink.nodeToken, at: 2_000)
        #expect(messages(fixture.take(), to: 2) == [.sharesQuestion])
        fixture.hear(2, .sharesBegin, token: ClusterLink.nodeToken, at: 2_001)
        fixture.hear(2, .whole(count: 1, users: []), of: room, .toKeeper, at: 2_001)
        fixture.hear(2, .sharesEnd(1), token: ClusterLink.nodeToken, at: 2_001)
        #expect(fixture.take().webhooks == [])
        fixture.hear(2, .sharesDigest(digest), token: ClusterLink.nodeToken, at: 4_000)
        fixture.tick(4_001)
        let outputs = fixture.take()
        #expect(outputs.webhooks.first == .channelOccupied(name(room)))
        #expect(!messages(outputs, to: 2).contains(.sharesQuestion))
    }

    @Test("a share that is missing from a node's whole report has ended")
    func missingFromWhole() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.hear(2, .whole(count: 1, users: ["ann"]), of: room, .toKeeper, at: 0)
        _ = fixture.take()
        fixture.hear(2, .sharesBegin, token: ClusterLink.nodeToken, at: 1)
        fixture.hear(2, .sharesEnd(0), token: ClusterLink.nodeToken, at: 1)
        fixture.tick(3_001)
        #expect(fixture.take().webhooks == [.memberRemoved(name(room), userID: "ann"), .channelVacated(name(room))])
    }

    @Test("a whole report of which a part was lost ends no share")
    func incompleteWhole() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.hear(2, .whole(count: 1, users: ["ann"]), of: room, .toKeeper, at: 0)
        _ = fixture.take()
        fixture.hear(2, .sharesBegin, token: ClusterLink.nodeToken, at: 1)
        fixture.hear(2, .sharesEnd(1), token: ClusterLink.nodeToken, at: 1)
        fixture.tick(3_001)
        #expect(fixture.take().webhooks == [])
    }

    @Test("a keeper whose shares differ from what a node has reported tells nothing until they agree, or three heartbeats")
    func differs() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.hear(2, .sharesDigest(1), token: ClusterLink.nodeToken, at: 0)
        fixture.changed(.count(name(room), 1))
        fixture.tick(from: 100, to: 5_900)
        #expect(fixture.take().webhooks == [])
        fixture.hear(2, .sharesDigest(1), token: ClusterLink.nodeToken, at: 5_950)
        fixture.tick(6_000)
        #expect(fixture.take().webhooks == [.channelOccupied(name(room)), .subscriptionCount(name(room), 1)])
    }

    @Test("a node that others had given up tells again what its clients make occupied")
    func gaveUp() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let (mine, shared) = (channel(keptBy: [1, 2]), channel(keptBy: [1, 3]))
        fixture.changed(.count(name(mine), 1))
        fixture.changed(.count(name(shared), 1))
        _ = fixture.take()
        fixture.hear(2, .gaveUp, token: ClusterLink.nodeToken, at: 10_000)
        // The other node was the keeper meanwhile, and has subscribers of one channel.
        fixture.hear(2, .whole(count: 1, users: []), of: shared, .moved, at: 10_000)
        fixture.agree([2], at: 10_000)
        fixture.tick(from: 10_100, to: 10_500)
        let webhooks = fixture.take().webhooks
        #expect(webhooks.contains(.channelOccupied(name(mine))))
        #expect(!webhooks.contains(.channelOccupied(name(shared))))
    }

    @Test("a node that was declared dead and speaks is told so")
    func tellsThatItGaveUp() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        fixture.tick(from: 100, to: 6_100)
        #expect(fixture.take().went == ["n2"])
        fixture.hear(2, .heartbeat(name: "n2", []), at: 7_000)
        #expect(messages(fixture.take(), to: 2).first == .gaveUp)
        fixture.hear(2, .heartbeat(name: "n2", []), at: 8_000)
        #expect(messages(fixture.take(), to: 2) == [])
    }
}
