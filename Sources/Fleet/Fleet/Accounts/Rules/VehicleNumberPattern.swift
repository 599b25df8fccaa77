/// The operator's pattern of vehicles' numbers: a regular expression.
package struct VehicleNumberPattern: Equatable, Sendable {
    /// The pattern of India's numbers, such as `MH12AB1234`.
    package static let standard = VehicleNumberPattern(checked: "^[A-Z]{2}[0-9]{1,2}[A-Z]{1,3}[0-9]{4}$")

    package let text: String

    private init(checked text: String) { self.text = text }

    /// Nil if `text` is no regular expression.
    package init?(_ text: String) {
        guard (try? Regex(text)) != nil else { return nil }
        self.text = text
    }

    /// Whether the pattern matches. Compiles the expression each time: registrations are rare, and a compiled one cannot
    /// be passed to another thread.
    package func accepts(_ number: String) -> Bool {
        guard let pattern = try? Regex(text) else { return false }
        return (try? pattern.firstMatch(in: number)) != nil
    }
}
