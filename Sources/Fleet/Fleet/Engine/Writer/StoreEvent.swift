/// A store event for the operator's log.
package enum StoreEvent: Equatable, Sendable {
    /// The store cannot be written; commands get 503 until ``recovered(refused:)``. Emitted once per outage.
    case unavailable(DatabaseError)
    /// The store has failed: commands get 503 until the gateway is started anew. Emitted once in the life of a process.
    case stopped(StoreFailure)
    /// The store of an earlier version is migrated before the gateway serves. It may take minutes.
    case migrating(from: Int, to: Int)
    /// The store can be written again. `refused` is the number of commands that got 503.
    case recovered(refused: Int)
    /// A command or a push lane's report failed even when it was repeated in a transaction of its own, so no other
    /// command can be the cause. This is a bug.
    case failed(DatabaseError, correlationID: String)
    /// The wall clock has jumped forward, and nothing is deleted by age any more; or it is trusted again.
    case clock(TrustedClock.Change)
    /// A background task failed. `kind` is the name of a ``BackgroundTask``, `retention` or `clock`. The task is retried every
    /// few seconds; the event is emitted again only for a failure after the task has succeeded.
    case backgroundTaskFailed(DatabaseError, kind: String)
    /// The write-ahead log could not be copied into the database file, while serving or at shutdown. Nothing is lost:
    /// the log remains, and the next start uses it. While serving, it is emitted again only for a failure after a
    /// success.
    case checkpointFailed(DatabaseError)
    /// The write-ahead log grows because another program reads the store and does not end its transaction, or because
    /// the disk is too slow. Emitted once until the log begins anew.
    case logGrows(bytes: Int)
    /// A stored row has a value that Fleetwire never writes, so something else has changed or damaged it. The text
    /// names the row: `preferences of driver:42`. Fleetwire does without the row. Emitted once per kind of row.
    case unreadable(String)
}
