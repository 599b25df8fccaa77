import FleetRules

/// Who did what to an order or a route, for whoever asks beside a running gateway or after it.
package final class AuditTrail {
    private let database: Database
    private let table: AuditTable

    /// Opens the store only to read.
    package init(path: String) throws(StoreError) {
        database = try Database.open(readingFrom: path)
        table = AuditTable(database: database)
    }

    /// Hands out the entries, oldest first.
    package func entries(of subject: AuditEntry.Subject, _ each: (AuditEntry) -> Void) throws(StoreError) {
        do { try table.entries(of: subject, each) } catch { throw StoreError(error, path: database.path) }
    }
}
