/// A store event for the operator's log.
package enum StoreEvent: Equatable, Sendable {
    /// The store cannot be written; commands get 503 until ``recovered(refused:)``. Emitted once per outage.
    case unavailable(DatabaseError)
    /// The store can be written again. `refused`: commands that got 503.
    case recovered(refused: Int)
    /// One command or report caused an error itself: a bug.
    case failed(DatabaseError, correlationID: String)
    /// A ``BackgroundTask`` or `retention` failed. Retried every few seconds; emitted once until it succeeds.
    case backgroundTaskFailed(DatabaseError, kind: String)
    /// The write-ahead log could not be moved into the database file at shutdown. Nothing is lost: the next start does
    /// it.
    case checkpointFailed(DatabaseError)
    /// A row has a value that this program cannot have written: `preferences of driver:42`. The row is treated as
    /// missing. Emitted once per kind of row.
    case unreadable(String)
}
