/// An operator's word that the wall clock is right (`fleetwire trust-clock`).
///
/// It is a row of the database: so it works whether or not a gateway is running, and survives a restart. A running
/// gateway that does not trust the wall clock finds it within a second or two. A confirmation that no gateway needs
/// changes nothing: it contains the time for which it was given, so a later jump is still found.
package enum ClockConfirmation {
    /// Confirms what the wall clock shows in `reading`.
    /// - Throws: ``StoreError`` if the store does not exist, has another schema version, or cannot be written.
    package static func store(_ reading: ClockReading, in address: StoreAddress) throws(StoreError) {
        let database = try Database.open(besideGateway: address)
        do { try ClockTable(database: database).store(reading, as: .confirmed) } catch { throw StoreError(error, address) }
    }
}
