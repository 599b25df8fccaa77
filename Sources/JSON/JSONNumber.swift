/// A JSON number, kept as written: it is sent exactly as it was received.
package struct JSONNumber: Equatable, Sendable {
    /// A valid JSON number.
    package let text: String

    package init(text: String) { self.text = text }
}
