/// A client's mistake that costs it an error event and nothing else (PROTOCOL M2, M3).
package struct ProtocolError: Error, Equatable, Sendable {
    /// For the app's developer: what was wrong and what to do.
    package let message: String
    /// One of Pusher's codes, or nil where it has none.
    package let code: Int?

    package init(_ message: String, code: Int? = nil) {
        self.message = message
        self.code = code
    }
}
