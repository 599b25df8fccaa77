import FleetRules

/// Work that one command's transaction starts and the writer finishes in slices between batches, until nothing is left.
/// Each slice is a transaction that also stores its progress, so a killed process loses nothing.
enum BackgroundTask: String, CaseIterable {
    /// Creates the push jobs of notifications for every driver.
    case broadcasts
    /// Redacts an erased person in the notification log and in stored responses.
    case erasures
    /// Encrypts device tokens of older keys with the current key.
    case seals
    /// Moves the write-ahead log into the database file and truncates it: until then the log contains the erased data.
    case checkpoint
}

extension CommandExecutor {
    /// Runs one slice; removes the task if nothing is left.
    /// - Returns: the lanes that have new jobs.
    func runSlice(of task: BackgroundTask, now: Int64) throws(DatabaseError) -> Set<PushLane> {
        if task == .checkpoint {
            try database.checkpoint(waiting: false)
            backgroundTasks.remove(task)
            return []
        }
        let (isBusy, woken) = try transaction { () throws(DatabaseError) -> (Bool, Set<PushLane>) in
            switch task {
            case .broadcasts: try outbox.expandBroadcast(now: now)
            case .erasures: (try eraseSome(), [])
            case .seals: (try resealSome(), [])
            case .checkpoint: preconditionFailure("checkpoint in a transaction")
            }
        }
        if !isBusy { backgroundTasks.remove(task) }
        return woken
    }

    // MARK: Device keys

    /// Devices per slice.
    private static let sealsMax = 500

    /// Encrypts some device tokens of older keys with the current key.
    /// - Returns: false if there are no more older keys.
    private func resealSome() throws(DatabaseError) -> Bool {
        let keys = outbox.keys
        let (keyIndex, after) = resealed
        guard keyIndex < keys.olderIDs.count else { return false }
        let keyID = keys.olderIDs[keyIndex]
        let old = try outbox.devices.sealed(keyID: keyID, after: after, most: Self.sealsMax)
        for (id, sealed) in old {
            // A token that cannot be decrypted stays as it is: its next push fails as `device_unreadable`.
            guard let token = keys.open(sealed, keyID: keyID, deviceID: id) else { continue }
            try outbox.devices.seal(id: id, keys.seal(token, deviceID: id), keyID: keys.currentID)
        }
        // If the commit fails, these devices wait for the next start: both keys decrypt them.
        resealed = old.count < Self.sealsMax ? (keyIndex + 1, "") : (keyIndex, old[old.count - 1].id)
        return true
    }
}

/// The background tasks whose last run failed. Each pauses while the others go on.
struct BackgroundTaskFailures {
    /// Milliseconds.
    private static let pause: Int64 = 5_000

    private var failures: [String: (pausedUntil: Int64, isReported: Bool)] = [:]

    /// Whether the task failed less than ``pause`` ago.
    func isPaused(_ task: String, at now: Int64) -> Bool {
        guard let until = failures[task]?.pausedUntil else { return false }
        // A clock that was set back must not prolong the pause.
        return now < until && until - now <= Self.pause
    }

    /// The task succeeded.
    mutating func remove(_ task: String) { failures[task] = nil }

    /// Records a failure and pauses the task.
    /// - Parameter isExpected: true if the failure is no defect; it is then not reported.
    /// - Returns: true if the failure must be reported: once until the task succeeds.
    mutating func record(_ task: String, isExpected: Bool, at now: Int64) -> Bool {
        let wasReported = failures[task]?.isReported ?? false
        failures[task] = (now + Self.pause, wasReported || !isExpected)
        return !wasReported && !isExpected
    }
}
