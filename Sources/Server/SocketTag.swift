import CLibwebsockets

/// What a libwebsockets connection is used for, and the index of its state in the loop's tables. Stored in the opaque
/// pointer-sized value that libwebsockets keeps per connection.
///
/// Unlike libwebsockets' per-session user space, that value survives the end of a request.
struct SocketTag {
    enum State: Equatable {
        /// A connection without state in a table, such as an HTTP connection between two requests.
        case none
        /// A request whose body is being received: its slot in ``IncomingRequests``.
        case request(Int)
        /// A WebSocket: its slot in ``ConnectionTable``.
        case webSocket(Int)
        /// A request that waits for its response: its slot in ``PendingResponses``.
        case response(Int)
    }

    /// Whether the peer has a loopback address.
    var isLoopback: Bool
    var state: State

    init(isLoopback: Bool, _ state: State) {
        self.isLoopback = isLoopback
        self.state = state
    }

    /// Reads the tag. The value of a new connection is zero, which means `.none`.
    init(of wsi: OpaquePointer) {
        let bits = clws_word(wsi)
        isLoopback = bits & 1 != 0
        switch bits >> 1 & 3 {
        case 1: state = .request(Int(bits >> 3))
        case 2: state = .webSocket(Int(bits >> 3))
        case 3: state = .response(Int(bits >> 3))
        default: state = .none
        }
    }

    /// Sets the state of `wsi` and keeps the rest of its tag.
    static func setState(_ state: State, of wsi: OpaquePointer) {
        var tag = SocketTag(of: wsi)
        tag.state = state
        tag.store(in: wsi)
    }

    func store(in wsi: OpaquePointer) {
        let stateBits: Int
        switch state {
        case .none: stateBits = 0
        case .request(let index): stateBits = 1 | index << 2
        case .webSocket(let slot): stateBits = 2 | slot << 2
        case .response(let index): stateBits = 3 | index << 2
        }
        clws_set_word(wsi, Int(isLoopback ? 1 : 0) | stateBits << 1)
    }
}
