import HTTP
import PusherProtocol

/// What a WebSocket client said while opening.
package struct UpgradeRequest {
    /// Percent-decoded, without the query.
    package let path: String
    /// Percent-decoded, in the order written.
    package let query: [(name: String, value: String)]
    /// The `Origin` header: which page a browser opens it for.
    package let origin: String?
    /// Whether it came over TLS, here or at the proxy in front.
    package let isSecure: Bool
}

/// What becomes of a WebSocket that has opened.
package enum Admission {
    /// It may stay, within these bounds (bytes).
    case admitted(messageBytesMax: Int, outboxBytesMax: Int)
    /// It hears why, and is closed.
    case refused(CloseCode, reason: String, saying: Frame?)
}

/// Whose sockets they are: what a loop calls, always on its own thread.
package protocol EventLoopDelegate: AnyObject {
    /// A WebSocket has opened.
    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission
    /// An admitted WebSocket has sent one whole text message.
    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID)
    /// An admitted WebSocket has answered a ping.
    func heard(from socket: SocketID)
    /// An admitted WebSocket has gone; the id is not used again until this returns.
    func closed(_ socket: SocketID)
    /// The loop closes a connection with this code.
    func closing(with code: CloseCode)
    /// A request is complete. Nil: the answer comes later, by ``EventLoop/respond(_:to:)``.
    func answer(_ request: HTTPRequest, _ exchange: RequestID) -> HTTPResponse?
    /// A request cannot be read; the connection ends with this answer.
    func refusal(_ status: Int, _ text: String, path: String) -> HTTPResponse
    /// The listener has a new connection; somebody has to adopt it.
    func accepted(_ connection: Listener.AcceptedSocket)
    /// About a second has passed.
    func ticked()
    /// The loop drains, and has nobody left to wait for.
    func drained()
    /// Somebody called the wake-up.
    func woken()
    /// All that was ready has been handled; the loop is about to sleep.
    func turnEnded()
}
