/// A valid channel name (PROTOCOL S8) that knows what it asks of a subscriber.
package struct ChannelName: Hashable, Sendable {
    /// What a subscription needs.
    package enum Access: Equatable, Sendable {
        /// Nothing.
        case open
        /// A signature (S10).
        case signed
        /// A signature over who one is (R7).
        case presence
    }

    package let text: String

    /// Nil when `text` is empty, longer than `lengthMax` or holds anything but `[A-Za-z0-9_\-=@,.;]`.
    package init?(_ text: String, lengthMax: Int) {
        guard !text.isEmpty, text.utf8.count <= lengthMax, text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    package var access: Access {
        if text.hasPrefix("private-") { return .signed }
        return text.hasPrefix("presence-") ? .presence : .open
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
