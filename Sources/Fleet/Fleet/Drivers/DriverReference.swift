import Primitives

/// How an admin names a driver: as in channels, or by the driver's account. Everything else knows only the id in channels.
struct DriverReference {
    private let text: String

    init(_ text: String) { self.text = text }

    /// The driver's id in channels.
    func channelID(_ accounts: AccountTable) throws(DatabaseError) -> String { try accounts.channelID(ofDriver: text) }
}

extension Assignment.Driver {
    /// The same driver with the id in channels.
    func resolved(_ accounts: AccountTable) throws(DatabaseError) -> Assignment.Driver {
        Assignment.Driver(id: try id.resolved(accounts), name: name)
    }
}

extension Identifier {
    /// The id in channels of the driver whom an admin names so.
    func resolved(_ accounts: AccountTable) throws(DatabaseError) -> Identifier {
        Identifier(try DriverReference(text).channelID(accounts))
    }
}
