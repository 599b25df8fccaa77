/// An operator's word that the wall clock is right (`fleetwire trust-clock`).
///
/// It is a row of the database: so it works whether or not a gateway is running, and survives a restart. A running
/// gateway that does not trust the wall clock finds it within a second or two. A confirmation that no gateway needs
/// changes nothing: it contains the time for which it was given, so a later jump is still found.
package enum ClockConfirmation {
    /// Confirms what the wall clock shows in `reading`.
    /// - Throws: ``StoreError`` if the store does not exist, has another schema version, or cannot be written.
    package static func store(_ reading: ClockReading, path: String) throws(StoreError) {
        let database: Database
        do {
            // Without the lock that keeps a second gateway from writing: SQLite's own locks admit one more row.
            database = try Database(path: path, .writing)
        } catch {
            throw StoreError(error, path: path)
        }
        try Migrations().checkBeforeReading(database)
        do { try ClockTable(database: database).store(reading, as: .confirmed) } catch { throw StoreError(error, path: path) }
    }
}
