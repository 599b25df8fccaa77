import Threads

/// Copies the write-ahead log into the database file, on a thread with a connection of its own, so that no commit has
/// to. ``CheckpointSchedule`` decides when.
final class Checkpointer: Sendable {
    /// SQLite's page size in bytes, with which all stores are created.
    private static let pageBytes = 4_096

    private let schedule: Lock<CheckpointSchedule>
    /// An element per step to do.
    private let steps: WorkQueue<Void>
    private let thread: Thread
    private let onEvent: @Sendable (StoreEvent) -> Void

    /// Opens a store that a ``Database`` of this process has open for writing, and starts the thread. Nil for a store on a
    /// PostgreSQL server, which has its own checkpointer.
    /// - Parameter onEvent: gets events for the operator's log. Called on this thread and on the writer's.
    init?(_ address: StoreAddress, onEvent: @escaping @Sendable (StoreEvent) -> Void) throws(StoreError) {
        guard case .file(let path) = address else { return nil }
        let schedule = Lock(CheckpointSchedule())
        let steps = WorkQueue<Void>(capacity: 1)
        self.schedule = schedule
        self.steps = steps
        self.onEvent = onEvent
        thread = try StoreThread.start(
            name: "store-checkpoint",
            open: { () throws(StoreError) in try SQLiteConnection(copyingLogOf: path) },
            run: { connection in
                var hasFailed = false
                var step: [Void] = []
                while steps.take(into: &step, most: 1) == .items {
                    let isComplete = Self.copy(connection, &hasFailed, onEvent)
                    schedule.withLock { $0.copied(all: isComplete) }
                }
            })
    }

    /// Records the length of the log. Called on the writer's thread after each transaction.
    /// - Parameter pages: the pages in the log.
    /// - Returns: whether the writer is to copy the rest of the log now (``SQLiteConnection/copyLog()``).
    func committed(pages: Int) -> Bool {
        let (action, isAlarmDue) = schedule.withLock { ($0.committed(pages: pages), $0.isAlarmDue()) }
        if isAlarmDue { onEvent(.logGrows(bytes: pages * Self.pageBytes)) }
        if action == .copy { _ = steps.post(()) }  // has room: the schedule waits for the end of the step
        return action == .copyRest
    }

    /// Ends the thread. Call once.
    func stop() {
        steps.close()
        thread.join()
    }

    /// - Returns: whether the whole log is copied.
    private static func copy(
        _ connection: SQLiteConnection, _ hasFailed: inout Bool, _ onEvent: (StoreEvent) -> Void
    ) -> Bool {
        do throws(DatabaseError) {
            let (pages, copied) = try connection.copyLog()
            hasFailed = false
            return copied == pages
        } catch {
            // Busy is expected: the writer checkpoints after an erasure.
            if !error.isBusy, !hasFailed {
                hasFailed = true
                onEvent(.checkpointFailed(error))
            }
            return false
        }
    }
}
