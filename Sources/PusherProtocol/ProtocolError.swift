/// A client's mistake. The client gets an error event and stays connected (protocol points M2, M3).
package struct ProtocolError: Error, Equatable, Sendable {
    /// What is wrong and what to do, for the developer of the client.
    package let message: String
    /// Pusher's error code; nil where Pusher has none.
    package let code: Int?

    package init(_ message: String, code: Int? = nil) {
        self.message = message
        self.code = code
    }
}
