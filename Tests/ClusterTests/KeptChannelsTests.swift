import Testing

@testable import Cluster

@Suite("The sums of kept channels")
struct KeptChannelsTests {
    private static let one = Epoch(1)
    private static let two = Epoch(2)
    private static let key = ChannelKey(app: "app", channel: "presence-room")
    private static let plain = ChannelKey(app: "app", channel: "plain")

    private var kept = KeptChannels(memory: 10_000)

    private mutating func apply(
        _ change: ShareChange, of node: Epoch, to key: ChannelKey = Self.key, at now: Int64 = 0, isKeeper: Bool = true,
        isMoved: Bool = false, isSettled: Bool = true
    ) {
        let arrival = KeptChannel.Arrival(now: now, isKeeper: isKeeper, isMoved: isMoved, isSettled: isSettled)
        kept.apply(change, of: node, to: key, arrival)
    }

    private mutating func edges(at now: Int64, of key: ChannelKey = Self.key) -> [ChannelEdge] {
        kept.takeEdges(of: key, at: now)
    }

    @Test("become occupied at once, and vacated after three seconds, once for all nodes")
    mutating func counts() {
        let steps: [(Int64, Epoch, Int, [ChannelEdge])] = [
            (0, Self.one, 1, [.occupied, .count(1)]), (0, Self.two, 1, [.count(2)]), (0, Self.two, 1, []),
            (0, Self.one, 0, [.count(1)]), (0, Self.one, 0, []), (10, Self.two, 0, [.count(0)]), (3_009, Self.two, 0, []),
            (3_010, Self.two, 0, [.vacated]), (3_010, Self.two, 3, [.occupied, .count(3)]),
        ]
        for (now, node, count, expected) in steps {
            apply(.count(count), of: node, at: now)
            #expect(edges(at: now) == expected)
        }
    }

    @Test("a user on two nodes is added and removed once")
    mutating func users() {
        let steps: [(Int64, Epoch, ShareChange, [ChannelEdge])] = [
            (0, Self.one, .joined(userID: "ann"), [.memberAdded(userID: "ann")]), (0, Self.two, .joined(userID: "ann"), []),
            (0, Self.two, .joined(userID: "ann"), []), (0, Self.one, .left(userID: "ann"), []),
            (0, Self.one, .left(userID: "ann"), []), (0, Self.two, .left(userID: "ann"), []),
            (3_000, Self.two, .left(userID: "ann"), [.memberRemoved(userID: "ann")]),
            (6_000, Self.two, .left(userID: "ann"), []),
        ]
        for (now, node, change, expected) in steps {
            apply(change, of: node, at: now)
            #expect(edges(at: now) == expected)
        }
    }

    @Test("who comes back within three seconds has not left")
    mutating func returns() {
        apply(.count(1), of: Self.one)
        apply(.joined(userID: "ann"), of: Self.one)
        #expect(edges(at: 0) == [.occupied, .memberAdded(userID: "ann"), .count(1)])
        apply(.whole(count: 0, users: []), of: Self.one, at: 100)
        #expect(edges(at: 3_099) == [.count(0)])
        apply(.whole(count: 1, users: ["ann"]), of: Self.two, at: 3_099)
        #expect(edges(at: 9_000) == [.count(1)])
        #expect(!kept.isDue(Self.key))
    }

    @Test("a node's whole share replaces what was known of it")
    mutating func whole() {
        for (node, user) in [(Self.one, "ann"), (Self.one, "bob"), (Self.two, "bob")] { apply(.joined(userID: user), of: node) }
        _ = edges(at: 0)
        apply(.whole(count: 2, users: ["cem", "dan"]), of: Self.one)
        #expect(edges(at: 0) == [.occupied, .memberAdded(userID: "cem"), .memberAdded(userID: "dan"), .count(2)])
        #expect(edges(at: 3_000) == [.memberRemoved(userID: "ann")])
        apply(.whole(count: 0, users: []), of: Self.two, at: 3_000)
        #expect(edges(at: 6_000) == [.memberRemoved(userID: "bob")])
    }

    @Test("a node that has gone takes its shares")
    mutating func nodeGone() {
        apply(.whole(count: 2, users: ["ann"]), of: Self.one)
        apply(.count(1), of: Self.one, to: Self.plain)
        apply(.count(1), of: Self.two, to: Self.plain)
        _ = edges(at: 0)
        _ = edges(at: 0, of: Self.plain)
        kept.remove(Self.one, at: 1) { _ in true }
        #expect(edges(at: 1) == [.count(0)])
        #expect(edges(at: 3_001) == [.memberRemoved(userID: "ann"), .vacated])
        #expect(edges(at: 3_001, of: Self.plain) == [.count(1)])
        #expect(kept.digest(of: Self.one) == ShareDigest())
    }

    @Test("a follower tells nothing, and what is recent again when the keeper has died")
    mutating func takeOver() {
        apply(.count(1), of: Self.one, isKeeper: false)
        apply(.joined(userID: "bob"), of: Self.one, isKeeper: false)
        apply(.joined(userID: "ann"), of: Self.one, at: 5_000, isKeeper: false)
        apply(.left(userID: "bob"), of: Self.one, at: 5_000, isKeeper: false)
        #expect(!kept.isDue(Self.key))
        let facts = kept.handOver(Self.key, at: 10_001, died: true, resigns: false, isAgreed: false)
        let (ann, bob) = (ChannelFact.membership(userID: "ann"), ChannelFact.membership(userID: "bob"))
        #expect(facts == [HandedFact(.occupancy, told: true), HandedFact(ann, told: nil), HandedFact(bob, told: nil)])
        #expect(edges(at: 10_001) == [.memberAdded(userID: "ann"), .memberRemoved(userID: "bob")])
    }

    @Test("shares that have moved here were told, and later changes were not")
    mutating func moved() {
        // The change of one node overtakes the share of another, which says that the channel was occupied before.
        apply(.count(1), of: Self.one, isSettled: false)
        apply(.whole(count: 1, users: ["ann"]), of: Self.two, isMoved: true)
        #expect(edges(at: 0) == [.count(2)])
        apply(.whole(count: 0, users: []), of: Self.two, at: 1)
        apply(.count(0), of: Self.one, at: 1)
        #expect(edges(at: 3_001) == [.memberRemoved(userID: "ann"), .count(0), .vacated])
    }

    @Test("facts that were not told are handed over, and told by the next keeper as they are")
    mutating func handOver() {
        apply(.whole(count: 1, users: ["ann"]), of: Self.one)
        #expect(kept.handOver(Self.key, at: 0, died: false, resigns: true, isAgreed: true).map(\.told) == [false, false, nil])
        #expect(edges(at: 0) == [])
        var next = KeptChannels(memory: 10_000)
        let users: [ChannelFact] = [.membership(userID: "ann"), .membership(userID: "bob"), .membership(userID: "cem")]
        let facts = [HandedFact(.occupancy, told: false)] + zip(users, [nil, true, false]).map { HandedFact($0, told: $1) }
        next.receive(facts, of: Self.key, at: 0)
        next.apply(
            .whole(count: 1, users: []), of: Self.one, to: Self.key,
            KeptChannel.Arrival(now: 0, isKeeper: true, isMoved: true, isSettled: true))
        #expect(next.takeEdges(of: Self.key, at: 0) == [.occupied])
        #expect(next.takeEdges(of: Self.key, at: 3_000) == [.memberRemoved(userID: "ann"), .memberRemoved(userID: "bob")])
    }

    @Test("what is doubted is told again, unless a share that moves here says that it was told")
    mutating func doubts() {
        for key in [Self.key, Self.plain] {
            apply(.whole(count: 1, users: ["ann", "bob"]), of: Self.one, to: key)
            _ = edges(at: 0, of: key)
        }
        kept.doubtAll(at: 0)
        apply(.whole(count: 1, users: ["ann"]), of: Self.one)
        #expect(edges(at: 0) == [.occupied, .memberAdded(userID: "ann"), .count(1)])
        #expect(edges(at: 3_000) == [.memberRemoved(userID: "bob")])
        apply(.whole(count: 1, users: ["ann"]), of: Self.two, to: Self.plain, isMoved: true, isSettled: true)
        #expect(edges(at: 3_000, of: Self.plain) == [.memberRemoved(userID: "bob")])
    }

    @Test("channels of other keepers and nodes that have gone are forgotten, and facts that no longer hold after a while")
    mutating func forgets() {
        apply(.count(1), of: Self.one)
        apply(.count(1), of: Self.one, to: Self.plain)
        apply(.count(1), of: Epoch(9))
        kept.forgetOld(at: 0, me: Self.one, living: [Self.one]) { Keepers(of: $0, among: [$0 == Self.key ? Self.one : Self.two]) }
        #expect(kept.keys == [Self.key])
        #expect(kept.digest(of: Epoch(9)) == ShareDigest())
        _ = edges(at: 0)
        apply(.count(0), of: Self.one, at: 1_000)
        #expect(kept.digest(of: Self.one) == ShareDigest())
        _ = edges(at: 4_000)
        kept.forgetOld(at: 14_000, me: Self.one, living: [Self.one]) { Keepers(of: $0, among: [Self.one]) }
        #expect(kept.count == 1)
        kept.forgetOld(at: 14_001, me: Self.one, living: [Self.one]) { Keepers(of: $0, among: [Self.one]) }
        #expect(kept.count == 0)
    }

    @Test("what has held while nothing could be told is told with its end")
    mutating func heldUntold() {
        apply(.whole(count: 1, users: ["ann"]), of: Self.one, at: 0)
        apply(.whole(count: 0, users: []), of: Self.one, at: 1_000)
        #expect(kept.isDue(Self.key, at: 1_000))
        #expect(edges(at: 1_000) == [.occupied, .memberAdded(userID: "ann"), .count(0)])
        #expect(!kept.isDue(Self.key, at: 3_999))
        #expect(edges(at: 4_000) == [.memberRemoved(userID: "ann"), .vacated])
        // A member who comes back meanwhile is told to be there, once.
        apply(.count(1), of: Self.one, at: 20_000)
        apply(.count(0), of: Self.one, at: 20_001)
        apply(.count(1), of: Self.one, at: 20_002)
        #expect(edges(at: 30_000) == [.occupied, .count(1)])
    }

    @Test("digests of the same shares are equal in any order, and differ otherwise")
    func digests() {
        var (one, other) = (KeptChannels(memory: 1), KeptChannels(memory: 1))
        let arrival = KeptChannel.Arrival(now: 0, isKeeper: true, isMoved: false, isSettled: true)
        for change in [ShareChange.count(2), .joined(userID: "ann"), .joined(userID: "bob"), .left(userID: "bob")] {
            one.apply(change, of: Self.one, to: Self.key, arrival)
        }
        #expect(one.digest(of: Self.one) != other.digest(of: Self.one))
        other.apply(.whole(count: 2, users: ["ann"]), of: Self.one, to: Self.key, arrival)
        #expect(one.digest(of: Self.one) == other.digest(of: Self.one))
        for change in [ShareChange.count(3), .joined(userID: "cem"), .left(userID: "ann")] {
            let before = other.digest(of: Self.one)
            other.apply(change, of: Self.one, to: Self.key, arrival)
            #expect(other.digest(of: Self.one) != before)
        }
    }
}
