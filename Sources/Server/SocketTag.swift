import CLibwebsockets

/// The one word the library keeps for us with each of its connections: what it is, and where we know more.
///
/// It survives the end of a request, which the library's own user space does not.
struct SocketTag {
    enum Owner: Equatable {
        case none
        /// A request whose body is on its way, by its place in ``IncomingRequests``.
        case request(Int)
        /// A WebSocket, by slot.
        case webSocket(Int)
        /// A request that waits for its answer, by its place in ``PendingResponses``.
        case response(Int)
    }

    var isLoopback: Bool
    var owner: Owner

    init(isLoopback: Bool, role: Owner) {
        self.isLoopback = isLoopback
        self.owner = role
    }

    /// Reads the word; all zero for a connection that was never given one.
    init(of wsi: OpaquePointer) {
        let bits = clws_word(wsi)
        isLoopback = bits & 1 != 0
        switch bits >> 1 & 3 {
        case 1: owner = .request(Int(bits >> 3))
        case 2: owner = .webSocket(Int(bits >> 3))
        case 3: owner = .response(Int(bits >> 3))
        default: owner = .none
        }
    }

    func store(in wsi: OpaquePointer) {
        let roleBits: Int
        switch owner {
        case .none: roleBits = 0
        case .request(let index): roleBits = 1 | index << 2
        case .webSocket(let slot): roleBits = 2 | slot << 2
        case .response(let index): roleBits = 3 | index << 2
        }
        clws_set_word(wsi, Int(isLoopback ? 1 : 0) | roleBits << 1)
    }
}
