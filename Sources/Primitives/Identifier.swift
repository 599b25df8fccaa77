/// A string that is compared and hashed as bytes: ids of users, drivers, devices, orders.
///
/// Swift's `==` on strings compares canonical equivalence, so two ids with different bytes can be equal: the Kelvin
/// sign (U+212A) equals the letter K, but as ids they name two users.
package struct Identifier: Hashable, Sendable {
    /// The id as received.
    package let text: String

    /// - Parameter text: any string; it is not normalised.
    package init(_ text: String) { self.text = text }

    /// Whether the ids have the same bytes.
    // Strings with the same bytes are equal, so the synthesized hash of `text` is consistent with this comparison.
    package static func == (one: Identifier, other: Identifier) -> Bool { one.text.hasSameBytes(as: other.text) }
}
