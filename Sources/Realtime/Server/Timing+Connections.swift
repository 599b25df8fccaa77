import Primitives

/// The constants of time of clients' connections.
extension Timing {
    /// The step of the deadlines of connections.
    static let deadlineTick = milliseconds(1_000)
    /// From the accept to the first byte through TLS.
    static let handshakeDeadline = milliseconds(10_000)
    /// From the accept, or the first byte of a request's head, to the end of the head.
    static let headDeadline = milliseconds(10_000)
    /// From the end of a request's head to the end of its body.
    static let bodyDeadline = milliseconds(30_000)
    /// From a response to the first byte of the next request, and of a response that the socket does not take at once to
    /// its last byte.
    static let idleDeadline = milliseconds(60_000)
    /// From the moment at which the outbox of a WebSocket exceeds its limit until it is empty.
    static let outboxDeadline = milliseconds(10_000)
    /// From the gateway's close frame or last response to the client's close.
    static let closeDeadline = milliseconds(5_000)
    /// A client whose messages have waited for their rate for so long is closed. Otherwise the kernel, which keeps
    /// megabytes of what a client has sent, would keep its connection for minutes, even after the client has gone.
    static let floodMax = milliseconds(20_000)
    /// After this time a loop that has stopped accepting for lack of descriptors checks for free ones.
    static let acceptRetry = milliseconds(100)
    /// From one wave of a drain's closes to the next.
    static let drainTick = milliseconds(50)
    /// Time for clients to respond to their close frames after the last wave.
    static let drainGrace = milliseconds(1_000)
}
