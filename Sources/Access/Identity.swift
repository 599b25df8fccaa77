/// What somebody may do, as their token says.
package enum Role: String, CaseIterable, Sendable {
    case driver, admin, customer, ops

    /// Nil unless `text` is a role's name, in any case.
    package init?(anyCase text: String) {
        // By bytes: only A-Z have another case here, and nothing else may pass for one of them.
        let bytes = text.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
        guard let role = Role.allCases.first(where: { $0.rawValue.utf8.elementsEqual(bytes) }) else { return nil }
        self = role
    }

    /// Whether `id` may be the id of somebody with this role: 1 to 150 bytes, of the channel alphabet for those after whom
    /// channels are called, without control characters for the others.
    package func accepts(id: String) -> Bool {
        switch self {
        case .driver, .customer: Identity.isReference(id)
        case .admin, .ops:
            (1...Identity.idLengthMax).contains(id.utf8.count)
                && id.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
    }
}

/// Who is asking: what remains of a token that was believed.
package struct Identity: Equatable, Sendable {
    package let role: Role
    /// The token's `sub`; of a driver's Firebase token `driver_id`, if it has one.
    package let id: String
    package let name: String?
    /// Of customers: the references of the bookings that are theirs.
    package let bookings: [String]

    /// Bytes of an id or a booking's reference.
    package static let idLengthMax = 150

    package init(role: Role, id: String, name: String? = nil, bookings: [String] = []) {
        self.role = role
        self.id = id
        self.name = name
        self.bookings = bookings
    }

    /// Who this is among everybody, as a `user_id`: ids are told apart within a role only.
    package var key: String { "\(role.rawValue):\(id)" }

    /// Whose ``key`` that is; nil for what only looks like one: `driver:` with a Kelvin sign is not the driver K.
    package init?(key: String, bookings: [String] = []) {
        guard let colon = key.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let id = String(key[colon...].dropFirst())
        guard let role = Role(rawValue: String(key[..<colon])), role.accepts(id: id) else { return nil }
        self.init(role: role, id: id, bookings: bookings)
    }

    /// The plain name of the channel that is his alone: `driver-42`.
    package var channel: String { "\(role.rawValue)-\(id)" }

    /// Whether `text` can stand in a channel's name: 1 to 150 of `[A-Za-z0-9_\-=@,.;]`.
    package static func isReference(_ text: String) -> Bool {
        (1...idLengthMax).contains(text.utf8.count) && text.utf8.allSatisfy(isChannelCharacter)
    }

    /// As bytes: Swift's == compares what Unicode holds equivalent, and two such ids are two people.
    package static func == (one: Identity, other: Identity) -> Bool {
        one.role == other.role && one.id.utf8.elementsEqual(other.id.utf8)
            && (one.name == nil) == (other.name == nil) && (one.name ?? "").utf8.elementsEqual((other.name ?? "").utf8)
            && one.bookings.elementsEqual(other.bookings) { $0.utf8.elementsEqual($1.utf8) }
    }

    private static func isChannelCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="),
            UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
            true
        default: false
        }
    }
}
