/// A client's mistake. The client gets an error event and stays connected (protocol points M2, M3).
package struct ProtocolError: Error, Equatable, Sendable {
    /// What is wrong and what to do, for the developer of the client.
    package let message: String
    /// Pusher's error code; nil where Pusher has none.
    package let code: Int?
    /// If a subscription is refused: why, for operators. The client does not get it.
    package let refusal: RefusalReason?

    package init(_ message: String, code: Int? = nil, refusal: RefusalReason? = nil) {
        self.message = message
        self.code = code
        self.refusal = refusal
    }

    /// Whether clients get the same.
    package static func == (one: ProtocolError, other: ProtocolError) -> Bool {
        one.code == other.code && one.message.utf8.elementsEqual(other.message.utf8)
    }
}
