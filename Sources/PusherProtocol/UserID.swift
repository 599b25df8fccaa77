/// A user's id as a key: the same bytes are the same user. Swift's `==` on texts compares what Unicode holds equivalent,
/// and of two users one may be called a Kelvin sign and one K.
package struct UserID: Hashable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package static func == (one: UserID, other: UserID) -> Bool {
        one.text == other.text && one.text.utf8.elementsEqual(other.text.utf8)
    }
}
