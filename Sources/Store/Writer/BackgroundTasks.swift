import FleetRules

/// What is not finished in the transaction that begins it, and is done a piece at a time between batches: at once and until
/// nothing is left. Each piece is a transaction that also notes how far it came, so that a killed process loses none.
enum BackgroundTask: String, CaseIterable {
    /// Jobs for every driver's phones.
    case broadcasts
    /// Somebody who is to be forgotten, in the log of notifications.
    case erasures
    /// Phones sealed with a key that is no longer the first.
    case seals
    /// What was erased still stands in the write-ahead log: it goes into the file, which no longer has it.
    case checkpoint
}

extension CommandExecutor {
    /// Does a piece of it, or finds out that there is nothing; answers the lanes that have more to do now.
    func runSlice(of chore: BackgroundTask, now: Int64) throws(DatabaseError) -> Set<PushLane> {
        if chore == .checkpoint {
            try database.checkpoint(waiting: false)
            backgroundTasks.remove(chore)
            return []
        }
        let (isBusy, woken) = try transaction { () throws(DatabaseError) -> (Bool, Set<PushLane>) in
            switch chore {
            case .broadcasts: try outbox.expandBroadcast(now: now)
            case .erasures: (try eraseSome(), [])
            case .seals: (try resealSome(), [])
            case .checkpoint: preconditionFailure("a checkpoint within a transaction")
            }
        }
        if !isBusy { backgroundTasks.remove(chore) }
        return woken
    }

    // MARK: Seals

    /// Phones that one piece seals anew.
    private static let sealsMax = 500

    /// Seals some phones anew that an older key has sealed; false when there are no more.
    private func resealSome() throws(DatabaseError) -> Bool {
        let keys = outbox.keys
        let (keyIndex, after) = resealed
        guard keyIndex < keys.olderIDs.count else { return false }
        let keyID = keys.olderIDs[keyIndex]
        let old = try outbox.devices.sealed(keyID: keyID, after: after, most: Self.sealsMax)
        for (id, sealed) in old {
            // What does not open stays as it is: its next push says so.
            guard let token = keys.open(sealed, keyID: keyID, deviceID: id) else { continue }
            try outbox.devices.seal(id: id, keys.seal(token, deviceID: id), keyID: keys.currentID)
        }
        // Should the commit fail, these are left for the next start: either key opens them.
        resealed = old.count < Self.sealsMax ? (keyIndex + 1, "") : (keyIndex, old[old.count - 1].id)
        return true
    }
}
