import Observability

/// What an event loop bounds.
extension Limit {
    package static let connectionsPerIP = Self("connections_per_ip")
    package static let handshakesPerIP = Self("handshakes_per_ip_per_second")
    package static let bufferBytes = Self("buffer_bytes")
    /// The memory for what clients have not taken yet. Connections are dropped, and lists get 503.
    package static let outgoingBytes = Self("outgoing_bytes")
    package static let messagesPerSecond = Self("messages_per_second")
    /// The size of a request's head; 431.
    package static let headBytes = Self("head_bytes")
    /// The size of a request's body; 413.
    package static let bodyBytes = Self("body_bytes")
    /// The size of what a peer sends behind its last response or a close frame; the connection is reset.
    package static let discardedBytes = Self("discarded_bytes")
    /// The time for a TLS handshake, a head or a body.
    package static let requestSeconds = Self("request_seconds")
}
