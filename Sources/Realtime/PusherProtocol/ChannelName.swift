import Primitives

/// A valid channel name (protocol point S8). Its prefix determines what a subscription requires.
package struct ChannelName: Hashable, Sendable {
    /// What a subscription requires.
    package enum Access: Equatable, Sendable {
        /// Nothing.
        case open
        /// A signature made with the application's secret (S10).
        case signed
        /// A signature, too. The events' data is encrypted, and the server relays it without reading it (S12).
        case encrypted
        /// A signature that also covers `channel_data`, which describes the member (R7).
        case presence
        /// A connection that is signed in as this user. A signature does not suffice (U5).
        case user(String)
    }

    /// The whole name, prefix included.
    package let text: String

    /// The prefix of channels that carry events for one user (U4). The user's id follows it.
    private static let userPrefix = "#server-to-user-"

    /// Nil unless `text` is one of these:
    /// - 1 to `lengthMax` bytes, all of `[A-Za-z0-9_\-=@,.;]`
    /// - `#server-to-user-` and a user id of 1 to ``Limits/userIDLength`` Unicode scalars, none of which JSON escapes;
    ///   the name's length in bytes is then not limited
    package init?(_ text: String, lengthMax: Int) {
        let isValid =
            if text.utf8.first == UInt8(ascii: "#") {
                Self.isUserChannel(text)
            } else {
                !text.isEmpty && text.utf8.count <= lengthMax && text.withBytes { $0.allSatisfy(Self.isNameByte) }
            }
        guard isValid else { return nil }
        self.text = text
    }

    /// The name of the internal channels that tell watchers about a user. No client can name it, because `#` is
    /// reserved (S8).
    package static let watchers = ChannelName(reserved: "#watchers")

    /// The name of the internal channels of subscribers from whom parts of events are hidden.
    package static let hidden = ChannelName(reserved: "#hidden")

    /// The name under which the nodes of a cluster tell each other whether a user is signed in. No client can name it.
    package static func signIns(of userID: String) -> ChannelName { ChannelName(reserved: "#signed-in-" + userID) }

    /// A channel's name as another node of the cluster writes it. Nil if it is none.
    package init?(ofNode text: String) {
        if text.utf8.starts(with: "#signed-in-".utf8) { self.init(reserved: text) } else { self.init(text, lengthMax: .max) }
    }

    private init(reserved text: String) { self.text = text }

    /// Checks the length first, because `hasPrefix` compares characters: its time is quadratic in the number of
    /// combining marks of a character.
    private static func isUserChannel(_ text: String) -> Bool {
        let id = text.unicodeScalars.dropFirst(userPrefix.count)
        return !id.isEmpty && id.count <= Limits.userIDLength && text.hasPrefix(userPrefix)
            && Substring(id).utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }

    /// Compares bytes. Swift's `==` on strings compares canonical equivalence: the Kelvin sign (U+212A) equals the
    /// letter K, but ids that differ only in this belong to two users, each with a channel.
    package static func == (one: ChannelName, other: ChannelName) -> Bool { one.text.hasSameBytes(as: other.text) }

    // Hashes bytes, too: the hash of a string normalises it, which takes long for a user's id of combining marks.
    package func hash(into hasher: inout Hasher) { text.withBytes { hasher.combine(bytes: $0) } }

    /// What a subscription to this channel requires.
    package var access: Access {
        switch text.utf8.first {
        case UInt8(ascii: "p"):
            if begins(with: "private-encrypted-") { return .encrypted }
            if begins(with: "private-") { return .signed }
            return isPresence ? .presence : .open
        case UInt8(ascii: "#") where begins(with: "#server-to-user-"):
            return .user(String(decoding: text.utf8.dropFirst(Self.userPrefix.utf8.count), as: UTF8.self))
        default: return .open
        }
    }

    package var isPresence: Bool { begins(with: "presence-") }

    /// Whether the server caches the last published event for new subscribers (K1).
    package var isCache: Bool {
        switch text.utf8.first {
        case UInt8(ascii: "c"): begins(with: "cache-")
        case UInt8(ascii: "p"):
            begins(with: "private-cache-") || begins(with: "private-encrypted-cache-") || begins(with: "presence-cache-")
        default: false
        }
    }

    /// Compares bytes: `hasPrefix` compares characters, which is slower.
    private func begins(with prefix: StaticString) -> Bool {
        text.withBytes { $0.hasPrefix(prefix) }
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
