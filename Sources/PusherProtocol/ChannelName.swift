/// A valid channel name (protocol point S8). Its prefix determines what a subscription requires.
package struct ChannelName: Hashable, Sendable {
    /// What a subscription requires.
    package enum Access: Equatable, Sendable {
        /// Nothing.
        case open
        /// A signature (S10).
        case signed
        /// A signature; events are opaque to the server (S12).
        case encrypted
        /// A signature that covers `channel_data` (R7).
        case presence
        /// A connection signed in as this user; a signature does not suffice (U5).
        case user(String)
    }

    package let text: String

    /// Channels that carry events for one user, to all their signed-in connections (U4).
    private static let userPrefix = "#server-to-user-"

    /// Nil if `text` is empty, longer than `lengthMax` bytes, or contains anything but `[A-Za-z0-9_\-=@,.;]`. After
    /// `#server-to-user-` follows a user id of up to ``Limits/userIDLength`` characters that JSON need not escape.
    package init?(_ text: String, lengthMax: Int) {
        let isValid =
            if text.utf8.starts(with: Self.userPrefix.utf8) {
                Self.isUserChannel(text)
            } else {
                !text.isEmpty && text.utf8.count <= lengthMax && text.utf8.allSatisfy(Self.isNameByte)
            }
        guard isValid else { return nil }
        self.text = text
    }

    /// Checks the length first: `hasPrefix` compares characters, which is quadratic in a character's combining marks.
    private static func isUserChannel(_ text: String) -> Bool {
        let id = text.unicodeScalars.dropFirst(userPrefix.count)
        return !id.isEmpty && id.count <= Limits.userIDLength && text.hasPrefix(userPrefix)
            && Substring(id).utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// Compares bytes. Swift's `==` compares canonical equivalence: U+212A (Kelvin sign) equals K, but is another user.
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

    /// Whether the server caches the last published event for new subscribers (K1).
    package var isCache: Bool {
        text.hasPrefix("cache-") || text.hasPrefix("private-cache-") || text.hasPrefix("private-encrypted-cache-")
            || text.hasPrefix("presence-cache-")
    }

    /// Whether a channel name may contain the byte: `[A-Za-z0-9_\-=@,.;]`.
    package static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="),
            UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
            true
        default: false
        }
    }
}
