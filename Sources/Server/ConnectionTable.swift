import PusherProtocol

/// A loop's WebSockets by slot, the index in one array. The elements are trivial values, so that sending an event to
/// many WebSockets neither allocates nor touches reference counts.
struct ConnectionTable {
    /// The state of a connection. A turn is one iteration of the event loop.
    enum State {
        /// Messages are delivered in both directions.
        case open
        /// The loop closes the connection with a close frame at the end of this turn. Incoming messages are ignored;
        /// frames written in this turn are still sent.
        case closePending
        /// The loop closes the connection without a close frame at the end of this turn. Nothing is sent or received.
        case dropped
        /// The close has begun. No new frame is accepted; frames in the outbox may still be sent.
        case closing
    }

    struct Connection {
        /// libwebsockets' handle.
        let wsi: OpaquePointer
        let socket: SocketID
        var state = State.open
        /// Whether the delegate admitted the connection. The delegate receives the events of admitted connections only.
        var isAdmitted = false
        /// Whether the socket's buffer is full; new frames then go to the outbox.
        var isBackedUp = false
        /// Limits in bytes, from the delegate's ``Admission``.
        var messageBytesMax: Int32 = 0
        var outboxBytesMax: Int32 = 0
    }

    private var connections: [Connection?] = []
    /// Slots that the next connections reuse.
    private var vacant: [Int] = []
    private var random = BlockRandom()

    /// The number of connections.
    private(set) var count = 0

    /// Adds a connection and assigns it a new socket id.
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

    /// The connection in an occupied slot.
    subscript(slot: Int) -> Connection {
        get {
            guard let connection = connections[slot] else { preconditionFailure("ConnectionTable: slot \(slot) is vacant") }
            return connection
        }
        set { connections[slot] = newValue }
    }

    /// The state of `socket`; nil if the connection is closed. Its slot may then be vacant or reused.
    func state(of socket: SocketID) -> State? {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return nil }
        return connection.socket == socket ? connection.state : nil
    }

    /// Connections in the state `.open`, in no particular order.
    var open: [SocketID] { connections.compactMap { $0?.state == .open ? $0?.socket : nil } }
}
