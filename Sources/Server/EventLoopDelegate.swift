import HTTP
import PusherProtocol

/// The request that opens a WebSocket.
package struct UpgradeRequest {
    /// Percent-decoded, without the query.
    package let path: String
    /// Percent-decoded, in the order of the request.
    package let query: [(name: String, value: String)]
    /// The `Origin` header, which browsers set to the origin of the page; nil if the request has none.
    package let origin: String?
    /// Whether the client uses TLS, with this server or with the proxy in front of it.
    package let isSecure: Bool
}

/// Whether a new WebSocket may stay open.
package enum Admission {
    /// The WebSocket stays open, with these limits in bytes: for a message from the client, and for the outbox.
    case admitted(messageBytesMax: Int, outboxBytesMax: Int)
    /// The loop sends the frame, if any, and closes the WebSocket with this code and reason.
    case rejected(CloseCode, reason: String, frame: Frame?)
}

/// Receives a loop's events, always on the loop's thread.
package protocol EventLoopDelegate: AnyObject {
    /// A WebSocket has opened.
    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission
    /// An admitted WebSocket has sent a complete text message.
    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID)
    /// An admitted WebSocket has sent a pong frame.
    func ponged(from socket: SocketID)
    /// An admitted WebSocket is closed. Its slot is not reused before this returns.
    func closed(_ socket: SocketID)
    /// The loop is about to close a WebSocket with this code.
    func closing(with code: CloseCode)
    /// A request is complete.
    /// - Returns: the response; nil if ``EventLoop/respond(_:to:)`` follows later.
    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse?
    /// A request cannot be read. The connection closes after the returned response.
    func errorResponse(_ status: Int, _ text: String, path: String) -> HTTPResponse
    /// The listener has accepted a connection, which a loop must adopt.
    func accepted(_ connection: Listener.AcceptedSocket)
    /// A second has passed since the last call.
    func ticked()
    /// The loop has drained: all WebSockets are closed, or the time of the drain is over.
    func drained()
    /// Another thread has signalled the ``Wakeup``.
    func woken()
    /// All ready events have been handled; the loop is about to sleep.
    func turnEnded()
}
