/// A string that is compared and hashed as bytes: ids of users, and of whatever they own.
///
/// Swift's `==` on strings compares canonical equivalence, so two ids with different bytes can be equal: the Kelvin
/// sign (U+212A) equals the letter K, but as ids they name two users.
package struct Identifier: Hashable, Sendable {
    /// The id as received.
    package let text: String

    /// - Parameter text: any string; it is not normalised.
    package init(_ text: String) { self.text = text }

    /// Whether the ids have the same bytes.
    package static func == (one: Identifier, other: Identifier) -> Bool { one.text.hasSameBytes(as: other.text) }

    // Hashes bytes, too: the hash of a string normalises it, which takes long for a text of combining marks.
    package func hash(into hasher: inout Hasher) { text.withBytes { hasher.combine(bytes: $0) } }
}
