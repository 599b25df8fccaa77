import PusherProtocol
import TestSupport
import Testing

@testable import Server

@Suite struct ConnectionTableTests {
    /// A stand-in for libwebsockets' handle, which the table never dereferences.
    private func handle(_ number: Int) -> OpaquePointer { OpaquePointer(bitPattern: number)! }  // nil only for 0

    @Test func socketIDHasLoopAndSlot() {
        var table = ConnectionTable()
        for slot in 0..<5 {
            let socket = table.add(handle(slot + 1), loop: 3)
            #expect(socket.loop == 3 && socket.slot == slot)
            #expect(table[slot].socket == socket)
            #expect(table[slot].wsi == handle(slot + 1))
            #expect(table.state(of: socket) == .open)
            #expect(table.count == slot + 1)
        }
    }

    @Test func newConnectionIsNeitherAdmittedNorBackedUp() {
        var table = ConnectionTable()
        let socket = table.add(handle(1), loop: 0)
        #expect(table[socket.slot].state == .open)
        #expect(!table[socket.slot].isAdmitted && !table[socket.slot].isBackedUp)
    }

    @Test func reusesSlotsUnderANewSocketID() {
        var table = ConnectionTable()
        let first = table.add(handle(1), loop: 0)
        table[first.slot].isAdmitted = true
        table[first.slot].isBackedUp = true
        table.remove(slot: first.slot)
        let second = table.add(handle(2), loop: 0)
        #expect(second.slot == first.slot)
        #expect(second != first && second.description != first.description)
        #expect(!table[second.slot].isAdmitted && !table[second.slot].isBackedUp)
        #expect(table.count == 1)
    }

    @Test func closedSocketIDDoesNotMatchTheSlotsNextConnection() {
        var table = ConnectionTable()
        let first = table.add(handle(1), loop: 0)
        table.remove(slot: first.slot)
        #expect(table.state(of: first) == nil)
        let second = table.add(handle(2), loop: 0)
        #expect(table.state(of: first) == nil)
        #expect(table.state(of: second) == .open && table[second.slot].wsi == handle(2))
    }

    @Test func unknownSocketIDsHaveNoState() throws {
        var table = ConnectionTable()
        let known = table.add(handle(1), loop: 1)
        for text in ["1.16777216", "\(known.salt).0", "\(known.salt).33554432", "\(known.salt).4294967295"] {
            let other = try #require(SocketID(text))
            #expect(other == known || table.state(of: other) == nil, "\(text)")
        }
    }

    @Test func keepsTheHandleOfAClosingConnection() {
        var table = ConnectionTable()
        let socket = table.add(handle(1), loop: 0)
        table[socket.slot].state = .closing
        #expect(table.state(of: socket) == .closing)
        #expect(table[socket.slot].wsi == handle(1))
        #expect(table.count == 1)
    }

    @Test func listsOpenConnections() {
        var table = ConnectionTable()
        let sockets = (0..<6).map { table.add(handle($0 + 1), loop: 0) }
        table.remove(slot: 1)
        table[4].state = .closing
        #expect(Set(table.open) == Set([0, 2, 3, 5].map { sockets[$0] }))
        #expect(table.count == 5)
    }

    @Test func growsOnlyToThePeakNumberOfConnections() {
        var table = ConnectionTable()
        var sockets = (0..<10).map { table.add(handle($0 + 1), loop: 0) }
        var random = SplitMix(seed: 1)
        var ids = Set(sockets)
        for number in 11..<500 {
            let closed = sockets.remove(at: Int.random(in: 0..<sockets.count, using: &random))
            table.remove(slot: closed.slot)
            let socket = table.add(handle(number), loop: 0)
            #expect(socket.slot == closed.slot && ids.insert(socket).inserted)
            sockets.append(socket)
        }
        #expect(Set(table.open) == Set(sockets) && table.count == 10)
    }
}
