import Addresses
import HTTP
import Observability
import PusherProtocol

/// The request that opens a WebSocket.
package struct UpgradeRequest {
    /// Method, path, query and header fields. Valid only while the loop handles the request.
    package let http: HTTPRequest
    /// Whether the client uses TLS, with this server or with a trusted proxy in front of it.
    package let isSecure: Bool
    /// The client's address.
    package let address: IPAddress
}

/// Whether a new WebSocket may stay open.
package enum Admission {
    /// The WebSocket stays open, with the limits of its application. The loop sends the frame together with the upgrade
    /// response.
    case admitted(Limits, frame: Frame)
    /// The loop sends the frame, if any, and closes the WebSocket with this code and reason.
    case rejected(CloseCode, reason: String, frame: Frame?)
}

/// A request that is over, for log lines.
package struct AnsweredRequest {
    /// Nil if the request could not be read.
    package let method: HTTPRequest.Method?
    /// The number of ``EventLoopDelegate/decide(on:_:)``.
    package let endpoint: Int
    /// 499 if the client has left before the response.
    package let status: Int
    /// The size of the response's body.
    package let bytes: Int
    /// From the last byte read to the last byte handed to the socket; nil if the request's last byte was never read.
    package let nanoseconds: UInt64?
    package let actor: String?
    package let correlationID: String
}

/// What happens to a request whose head is complete.
package enum HeadDecision {
    /// The response. A body is not needed: the loop discards it.
    case respond(HTTPResponse)
    /// The body is read, up to this many bytes, and given to ``EventLoopDelegate/respond(to:_:)``. A larger body gets
    /// 413.
    case readBody(bytesMax: Int)
    /// ``EventLoop/resume(_:with:actor:)`` follows later. Until then nothing more is read from the connection.
    case wait
}

/// Receives a loop's events, always on the loop's thread.
package protocol EventLoopDelegate: AnyObject {
    /// A WebSocket has opened.
    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission
    /// An admitted WebSocket has sent a complete text message.
    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID)
    /// An admitted WebSocket has sent a ping frame, which the loop answers.
    func pingReceived(from socket: SocketID)
    /// An admitted WebSocket has sent a pong frame.
    /// - Parameter payload: at most 125 bytes, valid during the call.
    func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer)
    /// An admitted WebSocket is closed: the loop has begun to close it, or the client has. Its slot is not reused before
    /// this returns.
    func closed(_ socket: SocketID)
    /// The loop is about to close a WebSocket with this code.
    func closing(with code: CloseCode)
    /// The head of a request is complete. `request` has no body yet.
    /// - Returns: the decision, the number under which ``RequestMetrics`` counts requests with this path, and the sender,
    ///   if it is known.
    func decide(on request: HTTPRequest, _ id: RequestID) -> (decision: HeadDecision, endpoint: Int, actor: String?)
    /// The last byte of a response was handed to the socket, or the client has left before. Called for each request, so it
    /// must be quick.
    func answered(_ request: AnsweredRequest)
    /// Whether a request with `Upgrade: websocket` is for a path that serves WebSockets. Elsewhere the field is ignored.
    func opensWebSocket(_ request: HTTPRequest) -> Bool
    /// The number under which ``RequestMetrics`` counts a request that opens a WebSocket, or tried to.
    func endpoint(of request: HTTPRequest) -> Int
    /// A request is complete for which ``decide(on:_:)`` has returned `.readBody`.
    /// - Returns: the response; nil if ``EventLoop/respond(_:to:)`` follows later.
    func respond(to request: HTTPRequest, _ id: RequestID) -> HTTPResponse?
    /// A request on which ``decide(on:_:)`` was called needs no response: its connection has closed, or the loop has
    /// responded itself, because the body was invalid, too large or late.
    func abandoned(_ id: RequestID)
    /// The response to a request that the loop itself refuses.
    /// - Parameter request: what was read of its head. The path is the whole target if that is invalid, and empty if it could
    ///   not be read.
    func errorResponse(_ status: Int, _ text: String, to request: HTTPRequest) -> HTTPResponse
    /// The loop has refused something because of a limit.
    func limitReached(_ limit: Limit)
    /// The loop closes a connection that does not begin with a header of the PROXY protocol from a trusted peer.
    func proxyHeaderRefused(by peer: IPAddress, _ reason: ProxyHeaderRefusal)
    /// The listener has accepted a connection, which a loop must adopt.
    func accepted(_ connection: Listener.AcceptedSocket)
    /// A second has passed since the last call.
    func ticked()
    /// The loop has drained: all WebSockets are closed, or the time of the drain is over.
    func drained()
    /// The ``Wakeup`` was signalled, by another thread or by the loop itself.
    ///
    /// Performs the messages of other threads, at least one, until a moment of the monotonic clock in nanoseconds. What
    /// clients have sent comes after them: it is handled when all are performed.
    /// - Returns: false if some are left. The loop calls this again in its next turn.
    func performMessages(until end: UInt64) -> Bool
    /// Does a piece of what ``EventLoop/performLater()`` has announced.
    func performDeferred()
    /// All ready events have been handled, and of the agenda as much as the turn has time for.
    /// - Parameter begunAt: when the turn began, in nanoseconds of the monotonic clock.
    func turnEnded(begunAt: UInt64)
}
