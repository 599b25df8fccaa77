import Testing

@testable import Cluster

@Suite("The sums of kept channels")
struct KeptChannelsTests {
    private static let one = Epoch(1)
    private static let two = Epoch(2)
    private static let key = ChannelKey(app: "app", channel: "presence-room")

    @Test("become occupied and vacated in turn, once for all nodes")
    func counts() {
        var kept = KeptChannels()
        let steps: [(Epoch, Int, [KeptChannels.Edge])] = [
            (Self.one, 1, [.occupied, .count(1)]), (Self.two, 1, [.count(2)]), (Self.two, 1, []), (Self.one, 0, [.count(1)]),
            (Self.one, 0, []), (Self.two, 0, [.count(0), .vacated]), (Self.two, 3, [.occupied, .count(3)]),
        ]
        for (node, count, edges) in steps { #expect(kept.apply(.count(count), of: node, to: Self.key, at: 0) == edges) }
    }

    @Test("a user on two nodes is added and removed once")
    func users() {
        var kept = KeptChannels()
        let steps: [(Epoch, ShareChange, [KeptChannels.Edge])] = [
            (Self.one, .joined(userID: "ann"), [.memberAdded(userID: "ann")]), (Self.two, .joined(userID: "ann"), []),
            (Self.two, .joined(userID: "ann"), []), (Self.one, .left(userID: "ann"), []), (Self.one, .left(userID: "ann"), []),
            (Self.two, .left(userID: "ann"), [.memberRemoved(userID: "ann")]), (Self.two, .left(userID: "ann"), []),
        ]
        for (node, change, edges) in steps { #expect(kept.apply(change, of: node, to: Self.key, at: 0) == edges) }
    }

    @Test("a node's whole list replaces what was known of it")
    func wholeList() {
        var kept = KeptChannels()
        _ = kept.apply(.joined(userID: "ann"), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.joined(userID: "bob"), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.joined(userID: "bob"), of: Self.two, to: Self.key, at: 0)
        let edges = kept.apply(.users(["cem", "dan"]), of: Self.one, to: Self.key, at: 0)
        #expect(edges == [.memberRemoved(userID: "ann"), .memberAdded(userID: "cem"), .memberAdded(userID: "dan")])
        #expect(kept.apply(.users([]), of: Self.two, to: Self.key, at: 0) == [.memberRemoved(userID: "bob")])
    }

    @Test("a node that has gone takes its shares")
    func nodeGone() {
        var kept = KeptChannels()
        let plain = ChannelKey(app: "app", channel: "a")
        _ = kept.apply(.count(2), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.joined(userID: "ann"), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.count(1), of: Self.one, to: plain, at: 0)
        _ = kept.apply(.count(1), of: Self.two, to: plain, at: 0)
        let found = kept.remove(Self.one, at: 1)
        #expect(found.map(\.key) == [plain, Self.key])
        #expect(found.map(\.edges) == [[.count(1)], [.memberRemoved(userID: "ann"), .count(0), .vacated]])
        #expect(kept.remove(Self.one, at: 1).isEmpty)
    }

    @Test("recent edges of a dead keeper's channels are told again, the last of each kind")
    func retelling() {
        var kept = KeptChannels()
        let other = ChannelKey(app: "app", channel: "other")
        _ = kept.apply(.count(1), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.joined(userID: "bob"), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.joined(userID: "ann"), of: Self.one, to: Self.key, at: 5_000)
        _ = kept.apply(.left(userID: "bob"), of: Self.one, to: Self.key, at: 5_000)
        _ = kept.apply(.count(1), of: Self.one, to: other, at: 5_000)
        let retold = kept.edgesToRetell(at: 10_000) { $0 == Self.key }
        #expect(retold.map(\.key) == [Self.key])
        #expect(retold.first?.edges == [.occupied, .memberAdded(userID: "ann"), .memberRemoved(userID: "bob"), .count(1)])
        let later = kept.edgesToRetell(at: 10_001) { $0 == Self.key }
        #expect(later.first?.edges == [.memberAdded(userID: "ann"), .memberRemoved(userID: "bob")])
        #expect(kept.edgesToRetell(at: 15_001) { _ in true }.isEmpty)
    }

    @Test("channels that other nodes keep are forgotten, and empty ones when their edges are old")
    func forgets() {
        var kept = KeptChannels()
        _ = kept.apply(.count(1), of: Self.one, to: Self.key, at: 0)
        _ = kept.apply(.count(1), of: Self.one, to: ChannelKey(app: "app", channel: "other"), at: 0)
        kept.tick(at: 0) { $0 == Self.key }
        #expect(kept.count == 1)
        _ = kept.apply(.count(0), of: Self.one, to: Self.key, at: 1_000)
        kept.tick(at: 11_000) { _ in true }
        #expect(kept.count == 1)
        kept.tick(at: 11_001) { _ in true }
        #expect(kept.count == 0)
    }
}
