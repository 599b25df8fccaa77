/// Up to which notification it was checked whether it was confirmed in time. See ``Schema/delivery``.
struct ConfirmationCheckTable {
    let database: Database

    /// The id of the last notification that was checked; empty if none was.
    func position() throws(DatabaseError) -> String {
        try database.first("SELECT position FROM confirmation_checks", as: { $0.string(0) }) ?? ""
    }

    func record(_ position: String) throws(DatabaseError) {
        try database.change("UPDATE confirmation_checks SET position = ?", .string(position))
    }
}
