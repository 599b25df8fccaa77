import PusherProtocol

/// A user's role, from their token.
package enum Role: String, CaseIterable, Sendable {
    case driver, admin, customer, ops

    /// Nil unless `text` is a role's name, in any case.
    package init?(anyCase text: String) {
        // Lowercases bytes, not characters: Unicode also maps the Kelvin sign (U+212A) to k.
        let bytes = text.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        guard let role = Role.allCases.first(where: { $0.rawValue.utf8.elementsEqual(bytes) }) else { return nil }
        self = role
    }

    /// Whether `id` is valid for this role: 1 to 150 bytes. Ids of drivers and customers occur in channel names, so
    /// only the characters of channel names are permitted. Ids of admins and ops must not contain control characters.
    package func accepts(id: String) -> Bool {
        switch self {
        case .driver, .customer: Identity.isReference(id)
        case .admin, .ops:
            (1...Identity.idLengthMax).contains(id.utf8.count)
                && id.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
    }
}

/// The user of a Firebase ID token.
package struct FirebaseUser: Equatable, Sendable {
    /// The token's `sub`, to which a driver's account belongs.
    package let uid: String
    /// The user's id as a driver: the token's `driver_id`, else the uid.
    package let driverID: String
    /// The token's `phone_number` (E.164); nil if it has none.
    package let phone: String?
    /// Whether the token itself names the role.
    package let namesRole: Bool
    /// Whether a user without account has the role that the configuration gives to users of the project.
    package let hasDefaultRole: Bool

    package init(uid: String, driverID: String, phone: String?, namesRole: Bool, hasDefaultRole: Bool) {
        self.uid = uid
        self.driverID = driverID
        self.phone = phone
        self.namesRole = namesRole
        self.hasDefaultRole = hasDefaultRole
    }
}

/// A sign-in by code to the phone, as its tokens name it.
package struct TokenSession: Equatable, Sendable {
    /// What all tokens of one sign-in have in common: the first half of `jti`. Each refresh changes the second half.
    package let id: String
    /// The token's `exp`, in seconds since 1970.
    package let expiresAt: Int64
    /// Whether the gateway signs customers in with this issuer's tokens now. If not, it may have done so before the
    /// configuration changed: what it ended then stays ended.
    package let isCurrent: Bool

    /// The length of each half of `jti`: 12 random bytes in base64url.
    private static let halfLength = 16

    /// Nil if `jti` does not have the form that the gateway gives it.
    package init?(jti: String, expiresAt: Int64, isCurrent: Bool = true) {
        guard jti.utf8.count == 2 * Self.halfLength, jti.utf8.allSatisfy(Self.isBase64URL) else { return nil }
        id = String(Substring(jti.utf8.prefix(Self.halfLength)))
        self.expiresAt = expiresAt
        self.isCurrent = isCurrent
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// A verified user: those claims of the user's token that Fleetwire uses.
package struct Identity: Equatable, Sendable {
    package let role: Role
    /// The token's `sub`. For a Firebase token of a driver, its `driver_id` if present.
    package let id: String
    /// The token's `name`, if present.
    package let name: String?
    /// References of a customer's bookings.
    package let bookings: [String]
    /// When the token was issued (`iat`), in milliseconds since 1970; nil if it does not say.
    package let tokenIssuedAt: Int64?
    /// Of a Firebase token, while the gateway keeps drivers' accounts; nil of other tokens.
    package var firebase: FirebaseUser?
    /// Of a customer's token that a sign-in by code may have issued; nil of other tokens.
    package var session: TokenSession?

    /// The maximum length of an id or a booking's reference, in bytes.
    package static let idLengthMax = 150

    package init(role: Role, id: String, name: String? = nil, bookings: [String] = [], tokenIssuedAt: Int64? = nil) {
        self.role = role
        self.id = id
        self.name = name
        self.bookings = bookings
        self.tokenIssuedAt = tokenIssuedAt
    }

    /// The user of this Firebase token as a driver.
    package func asDriver(_ user: FirebaseUser) -> Identity {
        var driver = Identity(role: .driver, id: user.driverID, name: name, tokenIssuedAt: tokenIssuedAt)
        driver.firebase = user
        return driver
    }

    /// `role:id`, used as Pusher's `user_id`. It is unique among all users; an id alone is unique only within its role.
    package var key: String { "\(role.rawValue):\(id)" }

    /// Parses a ``key``. Nil if the role or id is invalid.
    package init?(key: String, bookings: [String] = []) {
        guard let colon = key.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let id = String(key[colon...].dropFirst())
        guard let role = Role(rawValue: String(key[..<colon])), role.accepts(id: id) else { return nil }
        self.init(role: role, id: id, bookings: bookings)
    }

    /// Parses the other spelling of a ``key``, `driver-42`. Nil if the role or the id is invalid.
    package init?(alias: String) {
        guard let hyphen = alias.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let id = String(alias[hyphen...].dropFirst())
        guard let role = Role(rawValue: String(alias[..<hyphen])), role.accepts(id: id) else { return nil }
        self.init(role: role, id: id)
    }

    /// The plain name of the user's own channel: `driver-42`.
    package var channel: String { "\(role.rawValue)-\(id)" }

    /// Whether `text` may be an id or a reference in a channel's name: 1 to 150 characters of `[A-Za-z0-9_\-=@,.;]`.
    package static func isReference(_ text: String) -> Bool {
        (1...idLengthMax).contains(text.utf8.count) && text.utf8.allSatisfy(ChannelName.isNameByte)
    }

    /// Compares bytes: ids with different bytes are different users, even if they are canonically equivalent. Two tokens
    /// of a user that differ only in their age give the same identity.
    package static func == (one: Identity, other: Identity) -> Bool {
        one.role == other.role && one.id.utf8.elementsEqual(other.id.utf8)
            && (one.name == nil) == (other.name == nil) && (one.name ?? "").utf8.elementsEqual((other.name ?? "").utf8)
            && one.bookings.elementsEqual(other.bookings) { $0.utf8.elementsEqual($1.utf8) }
    }
}
