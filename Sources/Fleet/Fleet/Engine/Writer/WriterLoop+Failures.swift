import Primitives
import Threads

/// What the writer does when the store is lost or damaged.
extension WriterLoop {
    /// Looks whether the store is still the file that the gateway has opened, before each transaction: what is answered with
    /// 200 must be found by the next start. Two looks at the file system cost some microseconds.
    /// - Returns: whether the store may be written.
    func isUsable() -> Bool {
        guard counts.failure == nil else { return false }
        guard let sqlite = executor.database.sqlite, let file = sqlite.file, let loss = file.loss else { return true }
        counts.fail(.lost(loss), onEvent: onEvent)
        switch (loss.part, loss.isReplaced) {
        // Only the log is gone, and no other process has begun a new one: what it contains can still be kept.
        case (.log, false): _ = try? sqlite.copyLog()
        // An operator has restored a backup.
        case (.database, true): file.setLogAside()
        case (.log, true), (.database, false): break
        }
        return false
    }

    /// Refuses all requests after a failure. Nothing is tried any more: only a new process reads what there is.
    mutating func refuseUntilClosed() {
        var batch: [StoreWriter.Request] = []
        while queue.take(into: &batch, most: batchSize.value, waiting: Timing.writerWaitMax) != .closed {
            heartbeat.beat()
            _ = takePublished()
            if !batch.isEmpty { publish(refuse(batch)) }
        }
        closeFailed()
    }

    /// Closes a store that has failed. SQLite copies the log into the database, and deletes the log, unless that is another
    /// process's file by now, or the database has moved.
    func closeFailed() {
        heartbeat.end()
        leaveCluster()
        checkpointer?.stop()
        if let sqlite = executor.database.sqlite, sqlite.file?.logLoss?.isReplaced == true { sqlite.leaveLog() }
    }
}
