/// Reads what happens to a notification, with or without a running gateway.
package final class NotificationTrail {
    private let database: Database
    private let executor: QueryExecutor

    /// Opens the store for reading.
    package init(_ address: StoreAddress) throws(StoreError) {
        database = try Database.open(readingFrom: address)
        executor = QueryExecutor(database)
    }

    /// The notification and its steps so far, oldest first.
    /// - Parameters:
    ///   - id: the notification's id, or one under which apps have reported steps.
    ///   - now: milliseconds since 1970.
    /// - Returns: nil if there is neither; the notification is nil if the id belongs to none.
    package func read(
        _ id: String, now: Int64
    ) throws(StoreError) -> (report: NotificationReport?, steps: [NotificationStep])? {
        let result: Result<QueryResult, RuleError>
        do { result = try executor.execute(.notificationHistory(notificationID: id), now: now) } catch {
            throw StoreError(error, database.address)
        }
        guard case .success(.notificationHistory(let report, let steps)) = result else { return nil }
        return (report, steps)
    }
}
