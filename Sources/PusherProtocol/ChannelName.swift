/// A valid channel name (PROTOCOL S8) that knows what it asks of a subscriber.
package struct ChannelName: Hashable, Sendable {
    /// What a subscription needs.
    package enum Access: Equatable, Sendable {
        /// Nothing.
        case open
        /// A signature (S10).
        case signed
        /// A signature, and the events are opaque to the server (S12).
        case encrypted
        /// A signature over who one is (R7).
        case presence
        /// Being signed in as that user; no signature opens it (U5).
        case user(String)
    }

    package let text: String

    /// Events for one user, on whatever connections he is signed in (U4).
    private static let userPrefix = "#server-to-user-"

    /// Nil when `text` is empty, longer than `lengthMax` or holds anything but `[A-Za-z0-9_\-=@,.;]`. Behind
    /// `#server-to-user-` stands a user id, with a length of its own; it may hold anything that JSON need not escape.
    package init?(_ text: String, lengthMax: Int) {
        let isValid =
            if text.utf8.starts(with: Self.userPrefix.utf8) {
                Self.isUsers(text)
            } else {
                !text.isEmpty && text.utf8.count <= lengthMax && text.utf8.allSatisfy(Self.isAllowed)
            }
        guard isValid else { return nil }
        self.text = text
    }

    /// The length comes first: what compares characters takes time that grows with the square of one's marks.
    private static func isUsers(_ text: String) -> Bool {
        let id = text.unicodeScalars.dropFirst(userPrefix.count)
        return !id.isEmpty && id.count <= Limits.userIDLength && text.hasPrefix(userPrefix)
            && Substring(id).utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// As bytes: Swift's == compares what Unicode holds equivalent, and of two users one may be called a Kelvin sign, one K.
    package static func == (one: ChannelName, other: ChannelName) -> Bool {
        one.text == other.text && one.text.utf8.elementsEqual(other.text.utf8)
    }

    package var access: Access {
        if text.hasPrefix("private-encrypted-") { return .encrypted }
        if text.hasPrefix("private-") { return .signed }
        if text.hasPrefix("presence-") { return .presence }
        return text.hasPrefix(Self.userPrefix) ? .user(String(text.dropFirst(Self.userPrefix.count))) : .open
    }

    package var isPresence: Bool { text.hasPrefix("presence-") }

    /// Whether the last published event is kept for newcomers (K1).
    package var isCache: Bool {
        text.hasPrefix("cache-") || text.hasPrefix("private-cache-") || text.hasPrefix("private-encrypted-cache-")
            || text.hasPrefix("presence-cache-")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="),
            UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
            true
        default: false
        }
    }
}
