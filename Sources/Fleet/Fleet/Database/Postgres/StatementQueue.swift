/// The statements of a transaction that wait to be sent, and which of all statements have changed rows.
struct StatementQueue {
    /// The statements that wait, in order.
    private(set) var waiting: [PostgresRequest] = []
    /// The number of statements so far, those that wait included.
    private(set) var count: Int64 = 0
    /// The number of the last statement that is known to have changed rows.
    private(set) var lastChange: Int64 = 0

    mutating func append(_ request: PostgresRequest) {
        waiting.append(request)
        count += 1
        if request.text.alwaysChanges { lastChange = count }
    }

    /// Returns what waits. Call ``record(_:)`` with its results.
    mutating func take() -> [PostgresRequest] {
        defer { waiting.removeAll(keepingCapacity: true) }
        return waiting
    }

    /// Records the results of the last statements.
    mutating func record(_ results: [PostgresResult]) {
        guard let last = results.lastIndex(where: { $0.changedRows > 0 }) else { return }
        lastChange = max(lastChange, count - Int64(results.count - 1 - last))
    }

    /// Counts a statement that did not wait.
    mutating func record(_ result: PostgresResult) {
        count += 1
        record([result])
    }

    /// Forgets what waits.
    mutating func discard() { waiting.removeAll(keepingCapacity: true) }
}
