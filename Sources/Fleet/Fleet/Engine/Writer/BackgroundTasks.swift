import Primitives

/// Work that is too large for one transaction. A command or the start of the process causes it. The writer does the
/// work in slices between batches of commands, until nothing is left. Each slice is a transaction that also stores the
/// progress, so nothing is lost if the process is killed.
enum BackgroundTask: String, CaseIterable {
    /// Creates the push jobs of broadcasts, which are notifications for all drivers.
    case broadcasts
    /// Redacts the data of erased people in the logs and in stored responses.
    case erasures
    /// Re-encrypts device tokens with the current key if they are encrypted with an older key.
    case seals
    /// Writes the read marks of inboxes that were marked as read as a whole.
    case readMarks
    /// Queues again the pushes that an earlier process was sending.
    case takeover
    /// Moves the write-ahead log into the database file and truncates the log, because the log still contains the data
    /// that an erasure has removed from the database. A PostgreSQL server does this itself.
    case checkpoint
}

extension CommandExecutor {
    /// Runs one slice of a task. Removes the task from ``backgroundTasks`` if nothing is left to do.
    /// - Returns: the push lanes that have new jobs.
    func runSlice(of task: BackgroundTask, now: Int64) throws(DatabaseError) -> Set<PushLane> {
        if task == .checkpoint {
            try database.sqlite?.checkpoint(waiting: false)
            backgroundTasks.remove(task)
            return []
        }
        let (foundWork, woken) = try transaction(declaring: task.rows) { () throws(DatabaseError) -> (Bool, Set<PushLane>) in
            switch task {
            case .broadcasts: try outbox.expandBroadcast(now: now)
            case .readMarks: (try writeReadMarks(now: now), [])
            case .erasures: (try eraseSome(), [])
            case .seals: (try resealSome(), [])
            case .takeover: try outbox.takeOverSome()
            case .checkpoint: preconditionFailure("a checkpoint cannot run in a transaction")
            }
        }
        if !foundWork { backgroundTasks.remove(task) }
        return woken
    }

    // MARK: Device keys

    /// The most tokens that a slice re-encrypts.
    static let resealMax = 500

    /// Encrypts the next slice of device tokens with the current key instead of an older one.
    /// - Returns: false if the tokens of all older keys have been handled.
    private func resealSome() throws(DatabaseError) -> Bool {
        let keys = outbox.keys
        let (keyIndex, after) = resealProgress
        guard keyIndex < keys.olderIDs.count else { return false }
        let keyID = keys.olderIDs[keyIndex]
        let old = try outbox.devices.sealedTokens(keyID: keyID, after: after, most: Self.resealMax)
        for (id, sealed) in old {
            // A token that cannot be decrypted stays as it is: the device's next push fails as `device_unreadable`.
            guard let token = keys.open(sealed, keyID: keyID, deviceID: id) else { continue }
            try outbox.devices.replaceSealedToken(of: id, by: keys.seal(token, deviceID: id), keyID: keys.currentID)
        }
        // If the commit fails, these tokens stay encrypted with the older key until the next start of the process. This
        // is harmless: the older key is configured, so pushes to these devices work.
        resealProgress = old.count < Self.resealMax ? (keyIndex + 1, "") : (keyIndex, old[old.count - 1].id)
        return true
    }
}

/// The background tasks whose last run failed. Each of them pauses; the other tasks continue.
struct BackgroundTaskFailures {
    private var failures: [String: (pausedUntil: Int64, isReported: Bool)] = [:]

    /// Whether the task's last run failed less than ``Timing/taskPauseAfterFailure`` ago.
    func isPaused(_ task: String, at now: Int64) -> Bool {
        guard let until = failures[task]?.pausedUntil else { return false }
        // A clock that was set back must not prolong the pause.
        return now < until && until - now <= Timing.taskPauseAfterFailure
    }

    /// Deletes the record of a task's failure. Call it when the task has succeeded.
    mutating func remove(_ task: String) { failures[task] = nil }

    /// Records a failure and pauses the task.
    /// - Parameter isExpected: true if the failure occurs in normal operation. Such a failure is not reported.
    /// - Returns: true if the failure must be reported. Until the task succeeds, only its first unexpected failure is.
    mutating func record(_ task: String, isExpected: Bool, at now: Int64) -> Bool {
        let wasReported = failures[task]?.isReported ?? false
        failures[task] = (now + Timing.taskPauseAfterFailure, wasReported || !isExpected)
        return !wasReported && !isExpected
    }
}
