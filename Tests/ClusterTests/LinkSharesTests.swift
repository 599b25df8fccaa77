import FanOut
import PusherProtocol
import Testing

@testable import Cluster

@Suite("Shares, and the keepers that get them")
struct LinkSharesTests {
    /// A channel whose keepers among the nodes 1, 2 and 3 are these, in order.
    private func channel(keptBy keepers: [UInt64]) -> String {
        let nodes = [Epoch(1), Epoch(2), Epoch(3)]
        let names = (0..<1_000).lazy.map { "room-\($0)" }
        return names.first { name in
            Keeper.keepers(of: ChannelKey(app: "app", channel: name), among: nodes).map(\.value) == keepers
        } ?? ""
    }

    private func key(_ channel: String) -> ChannelKey { ChannelKey(app: "app", channel: channel) }

    @Test("a change is reported to the keeper and to the one that follows it, and not told here")
    func reported() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 3])
        fixture.changed(.count(name(room), 1))
        let outputs = fixture.take()
        #expect(outputs.published.map(\.subject) == ["c.nodes.2", "c.nodes.3"])
        #expect(outputs.webhooks == [])
    }

    @Test("the keeper tells each edge once, for all nodes")
    func told() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.changed(.count(name(room), 1))
        #expect(fixture.take().webhooks == [.channelOccupied(name(room)), .subscriptionCount(name(room), 1)])
        fixture.hear(2, .share(key(room), .count(2), keeper: Epoch(1)), token: ClusterLink.nodeToken, at: 1)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 3)])
        fixture.changed(.count(name(room), 0))
        fixture.hear(2, .share(key(room), .count(0), keeper: Epoch(1)), token: ClusterLink.nodeToken, at: 2)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 2), .channelVacated(name(room))])
    }

    @Test("shares that move tell nothing")
    func moved() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.hear(2, .share(key(room), .count(2), keeper: nil), token: ClusterLink.nodeToken, at: 1)
        fixture.hear(2, .share(key(room), .users(["ann"]), keeper: nil), token: ClusterLink.nodeToken, at: 1)
        #expect(fixture.take().webhooks == [])
        fixture.hear(2, .share(key(room), .count(0), keeper: Epoch(1)), token: ClusterLink.nodeToken, at: 1)
        #expect(fixture.take().webhooks == [.channelVacated(name(room))])
    }

    @Test("the second node takes over: it tells again what is recent, then what the death has changed")
    func takeover() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 1])
        fixture.hear(2, .share(key(room), .count(1), keeper: Epoch(2)), token: ClusterLink.nodeToken, at: 1_000)
        #expect(fixture.take().webhooks == [])
        fixture.tick(from: 1_000, to: 5_000)
        fixture.hear(3, .heartbeat(name: "n3", []), at: 5_000)
        fixture.tick(from: 5_100, to: 10_900)
        let outputs = fixture.take()
        #expect(outputs.went == ["n2"])
        #expect(outputs.webhooks.filter { $0 == .channelOccupied(name(room)) }.count == 1)
        #expect(outputs.webhooks.last == .channelVacated(name(room)))
    }

    @Test("the second node tells again what is recent, even if the dead keeper's successor keeps the channel")
    func successor() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let successor = [Epoch(1), Epoch(3), Epoch(9)]
        let rooms = (0..<1_000).lazy.map { "room-\($0)" }
        let room =
            rooms.first { name in
                Keeper.keepers(of: key(name), among: [Epoch(1), Epoch(2), Epoch(3)]).map(\.value) == [2, 1]
                    && Keeper.keeper(of: name, app: "app", among: successor)?.value == 9
            } ?? ""
        fixture.changed(.count(name(room), 1))
        #expect(fixture.take().webhooks == [])
        fixture.hear(9, .heartbeat(name: "n2", []), at: 1_000)
        let outputs = fixture.take()
        #expect(outputs.webhooks == [.channelOccupied(name(room)), .subscriptionCount(name(room), 1)])
        let moved = outputs.published.filter { $0.subject == "c.nodes.9" }.map(\.body)
        #expect(moved == [.share(key(room), .count(1), keeper: nil)])
    }

    @Test("a change is told by whom its sender believes to be the keeper, or who was to follow that one")
    func differentViews() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 3])
        let tokens = ClusterLink.nodeToken
        // The sender does not know yet that another node keeps the channel now.
        fixture.hear(3, .share(key(room), .count(1), keeper: Epoch(1)), token: tokens, at: 1)
        #expect(fixture.take().webhooks.first == .channelOccupied(name(room)))
        // It does not know yet that the keeper has gone.
        fixture.hear(3, .share(key(room), .count(0), keeper: Epoch(9)), token: tokens, at: 2)
        #expect(fixture.take().webhooks == [.channelVacated(name(room))])
        fixture.hear(3, .share(key(room), .count(1), keeper: Epoch(2)), token: tokens, at: 3)
        #expect(fixture.take().webhooks == [])
    }

    @Test("after a goodbye nothing is told again")
    func goodbye() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [2, 1])
        fixture.changed(.count(name(room), 1))
        fixture.hear(2, .goodbye, at: 1_000)
        #expect(fixture.take().webhooks == [])
        fixture.changed(.count(name(room), 0))
        #expect(fixture.take().webhooks == [.channelVacated(name(room))])
    }

    @Test("a node that comes gets the shares that it is to keep")
    func reportsToNewNode() {
        var fixture = LinkFixture.up([2], reportsShares: true)
        let room = channel(keptBy: [3, 1])
        fixture.changed(.count(name(room), 1))
        fixture.changed(.memberJoined(name(room), PresenceMember(id: "ann")))
        _ = fixture.take()
        fixture.hear(3, .heartbeat(name: "n3", []), at: 1)
        let shares = fixture.take().published.filter { $0.subject == "c.nodes.3" }.map(\.body)
        #expect(
            shares == [
                .share(key(room), .count(1), keeper: nil), .share(key(room), .users(["ann"]), keeper: nil),
            ])
    }

    @Test("counts of large channels are told every five seconds")
    func largeCounts() {
        var fixture = LinkFixture.up([2, 3], reportsShares: true)
        let room = channel(keptBy: [1, 2])
        fixture.tick(100)
        fixture.hear(2, .share(key(room), .count(100), keeper: Epoch(1)), token: ClusterLink.nodeToken, at: 100)
        _ = fixture.take()
        for count in 101...120 {
            fixture.hear(2, .share(key(room), .count(count), keeper: Epoch(1)), token: ClusterLink.nodeToken, at: 200)
        }
        fixture.tick(from: 200, to: 5_000)
        #expect(fixture.take().webhooks == [])
        fixture.tick(5_100)
        #expect(fixture.take().webhooks == [.subscriptionCount(name(room), 120)])
    }
}
