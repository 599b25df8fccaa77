import Addresses
import PusherProtocol
import TestSupport
import Testing

@testable import Server

extension ConnectionTable {
    /// Adds a connection with a stand-in for the transport's handle, which the table never dereferences.
    mutating func add(_ number: Int, loop: Int = 0) -> SocketID {
        let handle = OpaquePointer(bitPattern: number)!  // nil only for 0
        let accepted = Listener.AcceptedSocket(descriptor: Int32(number), address: IPAddress(ipv4: 0x7F00_0001))
        return add(handle, accepted, slot: reserveSlot(), loop: loop)
    }
}

@Suite struct ConnectionTableTests {
    @Test func socketIDHasLoopAndSlot() {
        var table = ConnectionTable()
        for slot in 0..<5 {
            let socket = table.add(slot + 1, loop: 3)
            #expect(socket.loop == 3 && socket.slot == slot)
            #expect(table[slot].socket == socket && table[slot].descriptor == Int32(slot + 1))
            #expect(table.phase(of: socket) == .http)
            #expect(!table.isOccupied(slot + 1))
        }
    }

    @Test func reusesSlotsUnderANewSocketID() {
        var table = ConnectionTable()
        let first = table.add(1)
        table[first.slot].isAdmitted = true
        table[first.slot].isFull = true
        table.remove(slot: first.slot)
        #expect(table.phase(of: first) == nil && !table.isOccupied(first.slot))
        let second = table.add(2)
        #expect(second.slot == first.slot)
        #expect(second != first && second.description != first.description)
        #expect(!table[second.slot].isAdmitted && !table[second.slot].isFull)
        #expect(table.phase(of: first) == nil && table.phase(of: second) == .http)
    }

    @Test func slotOfAFailedAdoptionIsReused() {
        var table = ConnectionTable()
        let slot = table.reserveSlot()
        #expect(!table.isOccupied(slot))
        table.cancelReservation(of: slot)
        #expect(table.add(1).slot == slot)
    }

    @Test func unknownSocketIDsHaveNoPhase() throws {
        var table = ConnectionTable()
        let known = table.add(1, loop: 1)
        for text in ["1.16777216", "\(known.salt).0", "\(known.salt).33554432", "\(known.salt).4294967295"] {
            let other = try #require(SocketID(text))
            #expect(other == known || table.phase(of: other) == nil, "\(text)")
        }
    }

    @Test func listsOpenWebSockets() {
        var table = ConnectionTable()
        let sockets = (0..<6).map { table.add($0 + 1) }
        for socket in sockets { table[socket.slot].phase = .webSocket }
        table.remove(slot: 1)
        table[4].phase = .closing
        table[5].phase = .http
        #expect(Set(table.webSockets) == Set([0, 2, 3].map { sockets[$0] }))
        #expect((0..<7).count { table.isOccupied($0) } == 5)
    }

    @Test func growsOnlyToThePeakNumberOfConnections() {
        var table = ConnectionTable()
        var sockets = (0..<10).map { table.add($0 + 1) }
        var random = SplitMix(seed: 1)
        var ids = Set(sockets)
        for number in 11..<500 {
            let closed = sockets.remove(at: Int.random(in: 0..<sockets.count, using: &random))
            table.remove(slot: closed.slot)
            let socket = table.add(number)
            #expect(socket.slot == closed.slot && ids.insert(socket).inserted)
            sockets.append(socket)
        }
        #expect((0..<10).allSatisfy { table.isOccupied($0) })
        #expect(table.reserveSlot() == 10)
    }

    /// Every idle connection costs a record.
    @Test func recordsAreSmall() {
        #expect(MemoryLayout<ConnectionTable.Connection>.stride <= 104)
    }
}
