import PusherProtocol
import Testing

@testable import Cluster

@Suite("Copies of other nodes' members")
struct RemoteMembersTests {
    private static let one = Epoch(1)
    private static let two = Epoch(2)
    private static let ann = PresenceMember(id: "ann")
    private static let bob = PresenceMember(id: "bob")
    private static let room = PresenceChannel(app: "app", name: "presence-room")

    private typealias Change = RemoteMembers.Change

    /// The copy of a node that was asked, and answered at version 10 with Ann.
    private func copy() -> RemoteMembers {
        var members = RemoteMembers()
        members.ask(Self.one, at: 0)
        _ = members.replace(Self.one, version: 10, [Self.ann])
        return members
    }

    @Test("are complete when all nodes that were asked have answered")
    func completeness() {
        var members = RemoteMembers()
        #expect(members.isComplete)
        members.ask(Self.one, at: 0)
        members.ask(Self.two, at: 5)
        #expect(members.replace(Self.one, version: 10, [Self.ann, Self.bob]) == [.joined(Self.ann), .joined(Self.bob)])
        #expect(!members.isComplete)
        members.giveUp(askedUntil: 4)
        #expect(!members.isComplete)
        members.giveUp(askedUntil: 5)
        #expect(members.isComplete)
        // Late, but an answer.
        #expect(members.replace(Self.two, version: 3, [PresenceMember(id: "cem")]) == [.joined(PresenceMember(id: "cem"))])
    }

    @Test("the time from the first question to the last answer is told once")
    func syncTime() {
        var members = RemoteMembers()
        #expect(members.takeSyncTime(at: 0) == nil)
        members.ask(Self.one, at: 10)
        members.ask(Self.two, at: 15)
        _ = members.replace(Self.one, version: 1, [])
        #expect(members.takeSyncTime(at: 17) == nil)
        _ = members.replace(Self.two, version: 1, [])
        #expect(members.takeSyncTime(at: 30) == 20)
        #expect(members.takeSyncTime(at: 31) == nil)
    }

    @Test("of nodes that do not answer, no time is told")
    func syncTimeWithoutAnswer() {
        var members = RemoteMembers()
        members.ask(Self.one, at: 10)
        members.ask(Self.two, at: 15)
        members.giveUp(askedUntil: 12)
        _ = members.replace(Self.two, version: 1, [])
        #expect(members.takeSyncTime(at: 20) == nil)
        members.ask(Self.one, at: 40)
        _ = members.replace(Self.one, version: 1, [])
        #expect(members.takeSyncTime(at: 41) == 1)
    }

    @Test("a change before the answer is part of it")
    func changeBeforeAnswer() {
        var members = RemoteMembers()
        members.ask(Self.one, at: 0)
        #expect(members.change(Self.one, version: 11, .joined(Self.bob)) == .changed([]))
        #expect(members.replace(Self.one, version: 11, [Self.bob]) == [.joined(Self.bob)])
        #expect(members.change(Self.one, version: 11, .joined(Self.bob)) == .changed([]))
    }

    @Test("changes after the answer follow each other")
    func changesAfterAnswer() {
        var members = copy()
        #expect(members.change(Self.one, version: 11, .joined(Self.bob)) == .changed([.joined(Self.bob)]))
        #expect(members.change(Self.one, version: 12, .left(userID: "ann")) == .changed([.left(userID: "ann")]))
        #expect(members.change(Self.one, version: 13, .left(userID: "ann")) == .changed([]))
    }

    @Test("a repeated change changes nothing")
    func repeated() {
        var members = copy()
        #expect(members.change(Self.one, version: 10, .left(userID: "ann")) == .changed([]))
        #expect(members.change(Self.one, version: 9, .left(userID: "ann")) == .changed([]))
        #expect(members.change(Self.one, version: 11, .left(userID: "ann")) == .changed([.left(userID: "ann")]))
    }

    @Test("behind a gap, the node is to be asked; its answer tells the difference")
    func gap() {
        var members = copy()
        #expect(members.change(Self.one, version: 12, .joined(Self.bob)) == .missing)
        members.ask(Self.one, at: 0)
        #expect(members.replace(Self.one, version: 12, [Self.bob]) == [.left(userID: "ann"), .joined(Self.bob)])
    }

    @Test("an answer that is older than the copy changes nothing")
    func oldAnswer() {
        var members = copy()
        #expect(members.replace(Self.one, version: 9, [Self.bob]) == [])
        #expect(members.replace(Self.one, version: 10, [Self.ann]) == [])
    }

    @Test("behind an answer without members, the first change is enough")
    func firstChangeAfterNone() {
        var (members, local) = (RemoteMembers(), LocalMembers())
        members.ask(Self.one, at: 0)
        #expect(members.replace(Self.one, version: 0, []) == [])
        let first = local.join(Self.ann, on: Self.room, at: 0)
        #expect(members.change(Self.one, version: first, .joined(Self.ann)) == .changed([.joined(Self.ann)]))
    }

    @Test("of a node that was never asked: its first change is enough, another is a gap")
    func firstChange() {
        var (members, others, local) = (RemoteMembers(), RemoteMembers(), LocalMembers())
        let first = local.join(Self.ann, on: Self.room, at: 0)
        let second = local.join(Self.bob, on: Self.room, at: 0)
        #expect(members.change(Self.one, version: first, .joined(Self.ann)) == .changed([.joined(Self.ann)]))
        #expect(members.change(Self.one, version: second, .joined(Self.bob)) == .changed([.joined(Self.bob)]))
        #expect(others.change(Self.one, version: second, .joined(Self.bob)) == .missing)
    }

    @Test("a heartbeat's version shows that the last change was lost")
    func behind() {
        var members = copy()
        #expect(!members.isBehind(Self.one, version: 10))
        #expect(members.isBehind(Self.one, version: 11))
        #expect(members.isBehind(Self.two, version: 1))
        members.ask(Self.one, at: 0)
        #expect(!members.isBehind(Self.one, version: 11))
    }

    @Test("a node that has gone takes its members, and is not waited for")
    func nodeGone() {
        var members = copy()
        members.ask(Self.two, at: 0)
        #expect(members.remove(Self.two) == [])
        #expect(members.isComplete)
        #expect(members.change(Self.one, version: 11, .joined(Self.bob)) == .changed([.joined(Self.bob)]))
        #expect(members.remove(Self.one) == [.left(userID: "ann"), .left(userID: "bob")])
        #expect(members.remove(Self.one) == [])
    }

    @Test("a user on two nodes comes once and leaves once")
    func twoNodes() {
        var members = copy()
        #expect(members.replace(Self.two, version: 1, [Self.ann]) == [])
        #expect(members.change(Self.one, version: 11, .left(userID: "ann")) == .changed([]))
        #expect(members.change(Self.one, version: 12, .joined(Self.ann)) == .changed([]))
        #expect(members.remove(Self.one) == [])
        #expect(members.change(Self.two, version: 2, .left(userID: "ann")) == .changed([.left(userID: "ann")]))
    }

    // MARK: The owner's side

    @Test("versions increase, also of a channel that was forgotten in between")
    func versions() {
        var local = LocalMembers()
        let first = local.join(Self.ann, on: Self.room, at: 0)
        #expect(LocalMembers.isFirst(first))
        let second = local.leave("ann", on: Self.room, at: 0)
        #expect(second == first + 1 && !LocalMembers.isFirst(second))
        local.tick(at: 60_000)
        #expect(local.members(of: Self.room).version.version == 0)
        #expect(local.recentVersions(at: 60_000) == [])
        let third = local.join(Self.bob, on: Self.room, at: 60_001)
        #expect(third > second && LocalMembers.isFirst(third))
        #expect(local.members(of: Self.room).members == [Self.bob])
    }

    @Test("heartbeats name the channels that have changed in the last ten seconds")
    func recentVersions() {
        var local = LocalMembers()
        let other = PresenceChannel(app: "app", name: "presence-other")
        let version = local.join(Self.ann, on: Self.room, at: 0)
        let later = local.join(Self.ann, on: other, at: 5_000)
        let both = [PresenceVersion(channel: Self.room, version: version), PresenceVersion(channel: other, version: later)]
        #expect(local.recentVersions(at: 10_000) == both)
        #expect(local.recentVersions(at: 10_001) == [both[1]])
        #expect(local.recentVersions(at: 15_001) == [])
    }
}

@Suite("Members of other nodes, at the link")
struct LinkMembersTests {
    private static let ann = PresenceMember(id: "ann")
    private static let room = PresenceChannel(app: "app", name: "presence-room")

    private func answer(_ version: UInt64, _ members: [PresenceMember]) -> ClusterMessage.Body {
        .members(ticket: 1, PresenceVersion(channel: Self.room, version: version), members)
    }

    /// A link that waits for the members of two nodes.
    private func waiting() -> LinkFixture {
        var fixture = LinkFixture.up([2, 3])
        _ = fixture.want("presence-room", at: 0)
        #expect(fixture.take().membersQuestions == [])
        fixture.link.granted([LinkFixture.first], at: 10, &fixture.outputs)
        return fixture
    }

    @Test("nodes are asked when the subject is acknowledged, and the subscription waits for all of them")
    func waits() {
        var fixture = waiting()
        let asked = fixture.take()
        #expect(asked.membersQuestions == ["c.nodes.2", "c.nodes.3"] && asked.ready == [])
        fixture.hear(2, answer(1, [Self.ann]), token: ClusterLink.nodeToken, at: 20)
        let first = fixture.take()
        #expect(first.members == ["+ann"] && first.ready == [])
        fixture.hear(3, answer(0, []), token: ClusterLink.nodeToken, at: 30)
        #expect(fixture.take().ready == [0])
    }

    @Test("the subscription waits for a second at most, and not for a node that has gone")
    func patience() {
        var fixture = waiting()
        fixture.hear(3, .goodbye, at: 20)
        #expect(fixture.take().ready == [])
        fixture.tick(1_009)
        #expect(fixture.take().ready == [])
        fixture.tick(1_010)
        #expect(fixture.take().ready == [0])
        fixture.hear(2, answer(1, [Self.ann]), token: ClusterLink.nodeToken, at: 1_500)
        #expect(fixture.take().members == ["+ann"])
    }

    @Test("a node that has not answered is asked again with its next heartbeat")
    func asksAgain() {
        var fixture = waiting()
        fixture.hear(2, answer(1, [Self.ann]), token: ClusterLink.nodeToken, at: 20)
        fixture.tick(1_010)
        #expect(fixture.take().ready == [0])
        for node in [2, 3] as [UInt64] { fixture.hear(node, .heartbeat(name: "n\(node)", []), at: 2_000) }
        #expect(fixture.take().membersQuestions == ["c.nodes.3"])
        fixture.hear(3, answer(0, []), token: ClusterLink.nodeToken, at: 2_010)
        fixture.hear(3, .heartbeat(name: "n3", []), at: 4_000)
        #expect(fixture.take().membersQuestions == [])
    }

    @Test("a heartbeat with a newer version asks the node again")
    func heartbeat() {
        var fixture = waiting()
        for node in [2, 3] as [UInt64] { fixture.hear(node, answer(1, []), token: ClusterLink.nodeToken, at: 20) }
        _ = fixture.take()
        let version = PresenceVersion(channel: Self.room, version: 2)
        fixture.hear(2, .heartbeat(name: "n2", [version]), at: 2_000)
        #expect(fixture.take().membersQuestions == ["c.nodes.2"])
        fixture.hear(2, .heartbeat(name: "n2", [version]), at: 2_001)
        #expect(fixture.take().membersQuestions == [])
    }

    @Test("a node that has died takes its members; one that comes is asked")
    func deathAndReturn() {
        var fixture = waiting()
        fixture.hear(2, answer(1, [Self.ann]), token: ClusterLink.nodeToken, at: 20)
        fixture.hear(3, answer(1, [PresenceMember(id: "bob")]), token: ClusterLink.nodeToken, at: 20)
        fixture.changed(.occupied(name("presence-room")))
        fixture.tick(from: 100, to: 3_000)
        fixture.hear(2, .heartbeat(name: "n2", []), at: 3_000)
        _ = fixture.take()
        fixture.tick(from: 3_100, to: 6_100)
        let death = fixture.take()
        #expect(death.went == ["n3"] && death.members == ["-bob"])
        fixture.hear(3, .heartbeat(name: "n3", []), at: 6_200)
        let back = fixture.take()
        #expect(back.came == ["n3"] && back.membersQuestions == ["c.nodes.3"])
    }

    @Test("a change of a node that is not known is part of its answer when it comes")
    func unknownNode() {
        var fixture = LinkFixture.up()
        _ = fixture.want("presence-room", at: 0)
        fixture.link.granted([LinkFixture.first], at: 0, &fixture.outputs)
        _ = fixture.take()
        let first: UInt64 = 1 << 32 + 1
        fixture.hear(4, .memberJoined(version: first, Self.ann), token: LinkFixture.first, at: 1)
        #expect(fixture.take().isEmpty)
        fixture.hear(4, .heartbeat(name: "n4", []), at: 2)
        #expect(fixture.take().membersQuestions == ["c.nodes.4"])
        fixture.hear(4, answer(first, [Self.ann]), token: ClusterLink.nodeToken, at: 3)
        #expect(fixture.take().members == ["+ann"])
    }
}
