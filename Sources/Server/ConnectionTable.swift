import PusherProtocol

/// A loop's WebSockets by slot: trivial values in one array, so that a fan-out touches neither the heap nor a count.
struct ConnectionTable {
    enum State {
        case vacant
        /// Its owner is told what it says, and it is sent what the owner says.
        case open
        /// Nothing more is read from or written to it; the library is saying goodbye.
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

    /// Whether `socket` is open; its slot may be vacant by now, or another's.
    func isOpen(_ socket: SocketID) -> Bool {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return false }
        return connection.socket == socket && connection.state == .open
    }

    /// The library's handle of a connection that is still there, open or closing.
    func handle(of socket: SocketID) -> OpaquePointer? {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return nil }
        return connection.socket == socket ? connection.wsi : nil
    }

    /// Everybody who is open, in no particular order.
    var open: [SocketID] { connections.compactMap { $0?.state == .open ? $0?.socket : nil } }
}

/// Frames for one connection whose socket takes no more at present. It holds references: a slow crowd shares them.
struct Outbox {
    private var frames: [Frame] = []
    private var sent = 0
    /// Bytes waiting.
    private(set) var bytes = 0

    enum Outcome: Equatable {
        case queued
        /// The bound is reached: the connection has to go.
        case overflow
    }

    var isEmpty: Bool { sent == frames.count }

    mutating func enqueue(_ frame: Frame, bytesMax: Int) -> Outcome {
        guard bytes + frame.bytes.count <= bytesMax else { return .overflow }
        bytes += frame.bytes.count
        frames.append(frame)
        return .queued
    }

    mutating func next() -> Frame? {
        guard sent < frames.count else { return nil }
        let frame = frames[sent]
        sent += 1
        bytes -= frame.bytes.count
        // Moving the rest up at every frame would be quadratic; at every halving it is linear.
        if sent * 2 >= frames.count {
            frames.removeFirst(sent)
            sent = 0
        }
        return frame
    }
}
