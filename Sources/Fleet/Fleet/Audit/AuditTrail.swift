/// Reads the audit log of an order or a route, with or without a running gateway.
package final class AuditTrail {
    private let database: Database
    private let table: AuditTable

    /// Opens the store for reading.
    package init(_ address: StoreAddress) throws(StoreError) {
        database = try Database.open(readingFrom: address)
        table = AuditTable(database: database)
    }

    /// Calls `each` for every entry of an order or route, oldest first.
    package func entries(of subject: AuditEntry.Subject, _ each: (AuditEntry) -> Void) throws(StoreError) {
        do { try table.entries(of: subject, each) } catch { throw StoreError(error, database.address) }
    }
}
