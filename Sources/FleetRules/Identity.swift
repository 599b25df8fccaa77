/// What somebody may do, as their token says.
package enum Role: String, CaseIterable, Sendable {
    case driver, admin, customer, ops
}

/// Who is asking.
package struct Identity: Equatable, Sendable {
    package let role: Role
    package let id: String
    package let name: String?
    /// Of customers: the references of the bookings that their token names.
    package let bookings: [String]

    package init(role: Role, id: String, name: String? = nil, bookings: [String] = []) {
        self.role = role
        self.id = id
        self.name = name
        self.bookings = bookings
    }

    /// The user id that others see: `driver:42`.
    package var key: String { "\(role.rawValue):\(id)" }
}
