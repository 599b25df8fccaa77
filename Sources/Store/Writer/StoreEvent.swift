/// A store event for the operator's log.
package enum StoreEvent: Equatable, Sendable {
    /// The store cannot be written; commands get 503 until ``recovered(refused:)``. Emitted once per outage.
    case unavailable(DatabaseError)
    /// The store can be written again. `refused` is the number of commands that got 503.
    case recovered(refused: Int)
    /// A command or a push lane's report caused an error although it had a transaction of its own. This is a bug.
    case failed(DatabaseError, correlationID: String)
    /// A background task failed. `kind` is the name of a ``BackgroundTask``, or `retention`. The task is retried every
    /// few seconds; the event is emitted again only for a failure after the task has succeeded.
    case backgroundTaskFailed(DatabaseError, kind: String)
    /// The write-ahead log could not be moved into the database file at shutdown. Nothing is lost: the log remains, and
    /// the next start uses it.
    case checkpointFailed(DatabaseError)
    /// A row has a value that Fleetwire does not write. The text names the row: `preferences of driver:42`. The row is
    /// treated as missing. Emitted once per kind of row.
    case unreadable(String)
}
