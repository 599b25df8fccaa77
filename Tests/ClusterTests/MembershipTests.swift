import Testing

@testable import Cluster

@Suite("Which nodes live")
struct MembershipTests {
    private static let one = ClusterNode(name: "one", epoch: Epoch(1))
    private static let two = ClusterNode(name: "two", epoch: Epoch(2))

    /// Connected at 0, with a heartbeat of both nodes at that time.
    private func connected() -> Membership {
        var membership = Membership(heartbeatMilliseconds: 2_000)
        membership.connected(at: 0)
        _ = membership.heard(Self.one, at: 0)
        _ = membership.heard(Self.two, at: 0)
        return membership
    }

    /// The connection was away, and is there again at 60,000: no node was heard since.
    private func reconnected() -> Membership {
        var membership = connected()
        membership.disconnected()
        membership.connected(at: 60_000)
        return membership
    }

    @Test("a node comes with its first heartbeat")
    func comes() {
        var membership = Membership(heartbeatMilliseconds: 2_000)
        membership.connected(at: 0)
        #expect(membership.heard(Self.two, at: 1) == [.came(Self.two)])
        #expect(membership.heard(Self.two, at: 2) == [])
        #expect(membership.heard(Self.one, at: 3) == [.came(Self.one)])
        #expect(membership.nodes == [Self.one, Self.two])
    }

    @Test("three missed heartbeats: the node is dead")
    func dies() {
        var membership = connected()
        _ = membership.heard(Self.one, at: 4_000)
        #expect(membership.tick(at: 6_000) == [])
        #expect(membership.tick(at: 6_001) == [.went(Self.two, isOrderly: false)])
        #expect(membership.tick(at: 6_002) == [])
        #expect(membership.nodes == [Self.one])
    }

    @Test("a silent node that goes on comes back")
    func comesBack() {
        var membership = connected()
        #expect(membership.tick(at: 6_001).count == 2)
        #expect(!membership.hasEnded(Self.two.epoch))
        #expect(membership.heard(Self.two, at: 6_100) == [.came(Self.two)])
    }

    @Test("while this node is disconnected, it declares no node dead")
    func disconnected() {
        var membership = connected()
        membership.disconnected()
        #expect(membership.tick(at: 60_000) == [])
        #expect(membership.count == 2)
    }

    @Test("after a reconnect, the others have as long as they may need to connect again")
    func grace() {
        var membership = reconnected()
        #expect(membership.tick(at: 60_000) == [])
        #expect(membership.tick(at: 70_999) == [])
        _ = membership.heard(Self.one, at: 70_999)
        #expect(membership.tick(at: 71_000) == [.went(Self.two, isOrderly: false)])
    }

    @Test("a node that was heard after a reconnect, and then no more, is dead after three heartbeats")
    func diesAfterReconnect() {
        var membership = reconnected()
        _ = membership.heard(Self.one, at: 60_001)
        #expect(membership.tick(at: 66_001) == [])
        #expect(membership.tick(at: 66_002) == [.went(Self.one, isOrderly: false)])
        #expect(membership.tick(at: 70_999) == [])
        #expect(membership.tick(at: 71_000) == [.went(Self.two, isOrderly: false)])
    }

    @Test("a freeze after a reconnect does not shorten the others' time to connect again")
    func freezeAfterReconnect() {
        var membership = reconnected()
        membership.resume(at: 62_500)
        _ = membership.heard(Self.one, at: 70_000)
        #expect(membership.tick(at: 70_999) == [])
        #expect(membership.tick(at: 71_000) == [.went(Self.two, isOrderly: false)])
    }

    @Test("after a freeze alone, the others have three heartbeats")
    func freeze() {
        var membership = connected()
        membership.resume(at: 60_000)
        #expect(membership.tick(at: 66_000) == [])
        #expect(membership.tick(at: 66_001).count == 2)
    }

    @Test("another epoch of a name replaces the earlier one at once")
    func anotherEpoch() {
        var membership = connected()
        let again = ClusterNode(name: "one", epoch: Epoch(9))
        #expect(membership.heard(again, at: 100) == [.went(Self.one, isOrderly: false), .came(again)])
        #expect(membership.nodes == [Self.two, again])
    }

    @Test("late heartbeats of a replaced epoch are void")
    func lateOfReplaced() {
        var membership = connected()
        let again = ClusterNode(name: "one", epoch: Epoch(9))
        _ = membership.heard(again, at: 100)
        #expect(membership.isReplaced(Self.one.epoch))
        #expect(membership.heard(Self.one, at: 2_099) == [])
        #expect(!membership.isLost(Self.one.epoch, at: 2_099))
        #expect(membership.nodes == [Self.two, again])
    }

    @Test("a replaced node that goes on lives beside the other one of its name, until one of them ends")
    func sharedName() {
        var membership = connected()
        let other = ClusterNode(name: "one", epoch: Epoch(9))
        _ = membership.heard(other, at: 100)
        #expect(membership.isLost(Self.one.epoch, at: 2_100))
        #expect(membership.heard(Self.one, at: 2_100) == [.came(Self.one)])
        #expect(!membership.isLost(Self.one.epoch, at: 2_100))
        #expect(membership.heard(other, at: 2_200) == [])
        let third = ClusterNode(name: "one", epoch: Epoch(10))
        #expect(membership.heard(third, at: 2_300) == [.came(third)])
        #expect(membership.nodes == [Self.one, Self.two, other, third])
        for node in [other, third] { _ = membership.left(node.epoch, at: 2_400) }
        let next = ClusterNode(name: "one", epoch: Epoch(11))
        #expect(membership.heard(next, at: 2_500) == [.went(Self.one, isOrderly: false), .came(next)])
    }

    @Test("late messages of a node that has said goodbye are void, for a minute")
    func goodbye() {
        var membership = connected()
        #expect(membership.left(Self.one.epoch, at: 100) == [.went(Self.one, isOrderly: true)])
        #expect(membership.hasEnded(Self.one.epoch))
        #expect(membership.heard(Self.one, at: 101) == [])
        #expect(membership.nodes == [Self.two])
        _ = membership.tick(at: 60_100)
        #expect(!membership.hasEnded(Self.one.epoch))
    }

    @Test("a goodbye of a node that was not known makes its late heartbeats void")
    func unknownGoodbye() {
        var membership = connected()
        #expect(membership.left(Epoch(7), at: 100) == [])
        #expect(membership.heard(ClusterNode(name: "seven", epoch: Epoch(7)), at: 101) == [])
    }
}
