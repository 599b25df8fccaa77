import PusherProtocol

/// A loop's WebSockets by slot: trivial values in one array, so that a fan-out touches neither the heap nor a count.
struct ConnectionTable {
    enum State {
        /// Its owner is told what it says, and it is sent what the owner says.
        case open
        /// Nothing more is read; what is noted in this turn is still sent.
        case closePending
        /// Nothing is sent any more either: it is ended without a word at the end of this turn.
        case dropped
        /// Nothing new is sent either; what waits in its outbox may still go.
        case closing
    }

    struct Connection {
        /// The library's handle.
        let wsi: OpaquePointer
        let socket: SocketID
        var state = State.open
        /// Whether the owner knows it.
        var isAdmitted = false
        /// Whether its socket takes no more at present: everything new goes to its outbox.
        var isBackedUp = false
        var messageBytesMax: Int32 = 0
        var outboxBytesMax: Int32 = 0
    }

    private var connections: [Connection?] = []
    private var vacant: [Int] = []
    private var random = SystemRandomNumberGenerator()

    /// How many there are.
    private(set) var count = 0

    /// Enters a connection and names it.
    mutating func add(_ wsi: OpaquePointer, loop: Int) -> SocketID {
        let slot = vacant.popLast() ?? connections.count
        if slot == connections.count { connections.append(nil) }
        let socket = SocketID(loop: loop, slot: slot, using: &random)
        connections[slot] = Connection(wsi: wsi, socket: socket)
        count += 1
        return socket
    }

    mutating func remove(slot: Int) {
        connections[slot] = nil
        vacant.append(slot)
        count -= 1
    }

    /// The connection of a slot that is known to be taken.
    subscript(slot: Int) -> Connection {
        get {
            guard let connection = connections[slot] else { preconditionFailure("slot \(slot) is vacant") }
            return connection
        }
        set { connections[slot] = newValue }
    }

    /// The state of `socket`; nil when it has gone: its slot may be vacant by now, or another's.
    func state(of socket: SocketID) -> State? {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return nil }
        return connection.socket == socket ? connection.state : nil
    }

    /// Everybody who is open, in no particular order.
    var open: [SocketID] { connections.compactMap { $0?.state == .open ? $0?.socket : nil } }
}
