import Addresses
import Primitives
import PusherProtocol

/// A loop's connections by slot, the index in one array. The elements are trivial values, so that sending an event to
/// many WebSockets neither allocates nor touches reference counts.
struct ConnectionTable {
    /// What a connection is used for, in the order of its life.
    enum Phase: UInt8 {
        /// The header of the PROXY protocol is read; requests follow it.
        case proxyHeader
        /// HTTP requests are read and responded to.
        case http
        /// A WebSocket: messages are delivered in both directions.
        case webSocket
        /// The WebSocket gets a close frame at the end of this turn. Incoming messages are ignored; frames written in
        /// this turn are still sent.
        case closePending
        /// The close frame is sent or queued. The client's close frame, or the deadline, ends the connection.
        case closing
        /// All is said: the outbox is still sent, then the connection stops sending, and discards what it receives until
        /// the client closes. Closing at once would reset the connection and destroy the last response on its way.
        case lingering
        /// The connection is closed at the end of this turn or a later one (see ``Agenda``), whatever is unsent. Nothing is sent or
        /// received.
        case dropped
    }

    struct Connection {
        /// The transport's handle.
        let transport: Transport.Socket
        let descriptor: Int32
        /// The WebSocket's id. An HTTP connection has one, too, so that a late response is not sent to the slot's next
        /// connection.
        let socket: SocketID
        /// The address of the client, as far as it is known: the peer's, or what a trusted proxy states.
        var peer: IPAddress
        /// Whether ``SharedAddressLimits`` counts the connection for `peer`.
        var isCounted: Bool
        /// Whether the client uses TLS with the load balancer, as a trusted one states it with the PROXY protocol.
        var isSecure = false
        var phase = Phase.http
        /// Whether the connection has become a WebSocket.
        var isWebSocket = false
        /// Whether the delegate admitted the WebSocket. The delegate receives the events of admitted WebSockets only.
        var isAdmitted = false
        /// Whether the socket is full; what is written then goes to the outbox.
        var isFull = false
        /// Whether receiving is paused.
        var isReadingPaused = false
        /// Whether an HTTP connection waits for a response before it reads the next request.
        var awaitsResponse = false
        /// Whether the connection is on the agenda to be read.
        var awaitsTurn = false
        /// Whether what was received before contains requests that can be read.
        var hasRest = false
        /// Whether a WebSocket is not read until its rate of messages permits it.
        var isThrottled = false
        /// Whether the client has violated the protocol. The server cannot read what follows, so not its close frame.
        var hasFailed = false
        /// Whether the client has taken too little for too long: it gets a close frame if it takes one, and nothing else.
        var isSlow = false
        /// Whether the connection is closed as soon as its outbox is sent.
        var closesWhenSent = false
        /// What the peer has sent behind its last response or our close frame, in units of 16 bytes: see `discard`.
        var discardedUnits: UInt16 = 0
        /// The tick since which messages of the client have waited for their rate.
        var floodingSince: Int32 = 0
        /// The last tick at which messages of the client waited for their rate.
        var throttledAt: Int32 = -2
        /// Limits, from the delegate's ``Admission``: two in bytes, and the rate of messages.
        var messageBytesMax: Int32 = 0
        var outboxBytesMax: Int32 = 0
        var messageRate = RateLimit(perSecond: 0, burst: 1)
        var messages = TokenBucket()
        var deadline = Deadlines.Link()
    }

    private var connections: [Connection?] = []
    /// Slots that the next connections reuse.
    private var vacant: [Int] = []
    private var random = BlockRandom()

    /// Reserves a slot for a connection that is being adopted.
    mutating func reserveSlot() -> Int {
        if let slot = vacant.popLast() { return slot }
        connections.append(nil)
        return connections.count - 1
    }

    /// Returns a reserved slot whose connection could not be adopted.
    mutating func cancelReservation(of slot: Int) { vacant.append(slot) }

    /// Adds a connection in a reserved slot and assigns it a new socket id.
    mutating func add(
        _ transport: Transport.Socket, _ accepted: Listener.AcceptedSocket, slot: Int, loop: Int
    ) -> SocketID {
        let socket = SocketID(loop: loop, slot: slot, using: &random)
        connections[slot] = Connection(
            transport: transport, descriptor: accepted.descriptor, socket: socket, peer: accepted.address,
            isCounted: accepted.isCounted)
        return socket
    }

    mutating func remove(slot: Int) {
        connections[slot] = nil
        vacant.append(slot)
    }

    /// Whether a slot has a connection.
    func isOccupied(_ slot: Int) -> Bool { slot >= 0 && slot < connections.count && connections[slot] != nil }

    /// The connection in an occupied slot.
    subscript(slot: Int) -> Connection {
        _read {
            guard case .some(let connection) = connections[slot] else { preconditionFailure("slot \(slot) is vacant") }
            yield connection
        }
        _modify { yield &connections[slot]! }  // traps like the getter
    }

    /// The phase of `socket`; nil if the connection is closed. Its slot may then be vacant or reused.
    func phase(of socket: SocketID) -> Phase? {
        guard socket.slot < connections.count, let connection = connections[socket.slot] else { return nil }
        return connection.socket == socket ? connection.phase : nil
    }

    /// Open WebSockets, in no particular order.
    var webSockets: [SocketID] { connections.compactMap { $0?.phase == .webSocket ? $0?.socket : nil } }
}
