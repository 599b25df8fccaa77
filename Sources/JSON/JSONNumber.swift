/// A number as somebody wrote it in JSON: it goes out as it came in.
package struct JSONNumber: Equatable, Sendable {
    /// A valid JSON number.
    package let text: String

    package init(text: String) { self.text = text }
}
