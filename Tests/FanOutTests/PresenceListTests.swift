import HubFixture
import PusherProtocol
import Testing

@testable import FanOut

@Suite("The list of a presence channel")
struct PresenceListTests {
    private let room = name("presence-room")

    /// The lists that the hub sends for these inputs.
    private func lists(_ deliveries: [Received]) -> [PresenceList] {
        deliveries.compactMap { if case .sendPresence(let list, _) = $0.instruction { list } else { nil } }
    }

    private func members(_ count: Int) -> [PresenceMember] {
        (0..<count).map { member("user-\($0)", info: #"{"name":"\#($0)"}"#) }
    }

    @Test("is one for all who subscribe until a member comes or goes")
    func shared() {
        var hub = Hub(loopCount: 1, apps: [AppRules()])
        let sockets = (1...6).map { socket("\($0).\($0)") }
        for socket in sockets { _ = hub.apply(.opened(socket, app: 0)) }
        let first = lists(hub.apply(.subscribe(sockets[0], grant("presence-room", as: "anna"))))
        let again = lists(hub.apply(.subscribe(sockets[1], grant("presence-room", as: "anna"))))
        #expect(first.count == 1 && first.first === again.first)
        let second = lists(hub.apply(.subscribe(sockets[2], grant("presence-room", as: "bert"))))
        #expect(second.first !== first.first && second.first?.members.map(\.id) == ["anna", "bert"])
        _ = hub.apply(.closed(sockets[1]))
        let same = lists(hub.apply(.subscribe(sockets[3], grant("presence-room", as: "bert"))))
        #expect(same.first === second.first, "a connection has gone, but no member")
        _ = hub.apply(.closed(sockets[0]))
        let third = lists(hub.apply(.subscribe(sockets[4], grant("presence-room", as: "bert"))))
        #expect(third.first?.members.map(\.id) == ["bert"])
        #expect(first.first?.members.map(\.id) == ["anna"], "a list does not change")
    }

    @Test("changes when a member comes or goes on another node")
    func cluster() {
        var hub = Hub(loopCount: 1, apps: [AppRules()], isClustered: true)
        _ = hub.apply(.tick(0), .opened(x, app: 0), .opened(y, app: 0), .subscribe(x, grant("presence-room", as: "anna")))
        _ = hub.apply(.remoteMemberJoined(member("bert"), on: room, app: 0))
        #expect(lists(hub.apply(.subscribe(y, grant("presence-room", as: "anna")))).first?.members.map(\.id) == ["anna", "bert"])
        _ = hub.apply(.remoteMemberLeft(userID: "bert", on: room, app: 0), .tick(1), .tick(100), .unsubscribe(y, room))
        #expect(lists(hub.apply(.subscribe(y, grant("presence-room", as: "anna")))).first?.members.map(\.id) == ["anna"])
    }

    @Test("is encoded once")
    func encodedOnce() {
        let list = PresenceList(room, members(300))
        let (frame, isNew) = list.frame()
        #expect(isNew && frame == ServerMessage.subscriptionSucceeded(room, members: members(300)))
        #expect(!list.frame().isNew && list.frame().frame == frame)
    }

    @Test("is not kept beyond the memory for all lists")
    func bounded() {
        let size = PresenceList(room, members(50)).frame().frame.bytes.count
        let memory = PresenceList.Memory(bytesMax: 2 * size)
        var kept = (0..<3).map { _ in PresenceList(room, members(50), memory) }
        for list in kept { #expect(list.frame().isNew) }
        #expect(kept.map { $0.frame().isNew } == [false, false, true] && memory.bytes == 2 * size)
        kept.removeFirst()
        #expect(memory.bytes == size, "a list that is gone gives its memory back")
        #expect(kept[1].frame().isNew && !kept[1].frame().isNew)
    }

    @Test("keeps the order of joining over the bounds of its parts", arguments: [63, 64, 65, 200])
    func parts(count: Int) {
        var presence = Presence()
        for member in members(count) { _ = presence.join(member) }
        let before = presence.list(named: room, PresenceList.Memory())
        _ = presence.leave("user-10")
        _ = presence.join(member("user-10"))
        #expect(before.members == members(count))
        let ids = members(count).map(\.id)
        #expect(presence.members.map(\.id) == ids.filter { $0 != "user-10" } + ["user-10"])
        #expect(presence.findUserIDs() == presence.userIDs)
    }

    // MARK: Writing

    @Test("counts as several writes when it is encoded, and less when it is kept")
    func cost() {
        let list = PresenceList(room, members(1_000))
        let count = list.frame().frame.bytes.count
        var loop = LoopFanOut(x, y, z)
        loop.apply([.sendPresence(PresenceList(room, members(1_000)), to: x), .sendPresence(list, to: y)])
        var writes = 0
        let isUnfinished = loop.flush(writesMax: 2) { _, _ in writes += 1 }
        #expect(isUnfinished && writes == 1, "the first takes all the time")
        _ = loop.flush(writesMax: 2) { _, _ in writes += 1 }
        #expect(writes == 2 && !loop.isPending && count > 16_384)
    }

    /// A client subscribes to many presence channels at once.
    @Test("does not make a write grow without bound")
    func bytesPerWrite() {
        var loop = LoopFanOut(x, y, z)
        let lists = (0..<50).map { PresenceList(name("presence-\($0)"), members(500)) }
        loop.apply(lists.map { .sendPresence($0, to: x) } + [.send(Frame(text: [65]), to: y)])
        var written: [SocketID: [UInt8]] = [:]
        var sizes: [Int] = []
        var turns = 0
        while loop.isPending {
            _ = loop.flush(writesMax: 1) { socket, frame in
                written[socket, default: []] += frame.bytes
                sizes.append(frame.bytes.count)
            }
            turns += 1
        }
        #expect(written[x] == lists.flatMap { $0.frame().frame.bytes }, "in order, and all of them")
        #expect(written[y] == Frame(text: [65]).bytes)
        #expect(sizes.allSatisfy { $0 <= 262_144 } && turns > 3 && loop.writtenEnd == loop.end)
    }

    @Test("is not encoded for a connection that takes no more")
    func closing() {
        var loop = LoopFanOut(x, y, z)
        let lists = (0..<50).map { PresenceList(name("presence-\($0)"), members(500)) }
        loop.apply(lists.map { .sendPresence($0, to: x) })
        var writes = 0
        loop.flush(x, while: { writes < 1 }, { _, _ in writes += 1 })
        #expect(writes == 1 && lists.last?.frame().isNew == true)
        loop.close(x)
        _ = loop.flush(writesMax: 10) { _, _ in writes += 1 }
        #expect(!loop.isPending && writes == 1)
    }
}

private let x = socket("1.0")
private let y = socket("2.1")
private let z = socket("3.2")
