import FleetRules

/// Broadcasts: notifications for all drivers. A broadcast is stored as one row; the writer creates its push jobs in
/// slices, between other transactions.
extension PushOutbox {
    /// The most devices in one slice.
    static let expansionMax = 500

    /// Creates the next slice of jobs of the oldest broadcast.
    /// - Returns: whether there was a broadcast, and the push lanes that have new jobs.
    func expandBroadcast(now: Int64) throws(DatabaseError) -> (foundWork: Bool, woken: Set<PushLane>) {
        guard let broadcast = try broadcasts.first() else { return (false, []) }
        guard let logged = try notifications.notification(id: broadcast.notificationID),
            logged.notification.expiresAt > now - clockLead
        else {
            try broadcasts.remove(broadcast.notificationID)
            return (true, [])
        }
        let page = try devices.reachableDrivers(
            after: broadcast.afterOwner, since: now - clockLead - staleAfter, most: Self.expansionMax)
        let draft = Draft(
            notification: logged.notification, entity: broadcast.entity, round: broadcast.round, now: now)
        var woken: Set<PushLane> = []
        for devices in page.devices.split(byOwnersExcept: broadcast.except) {
            if broadcast.isForOnlineDrivers,
                try !availability.mayHear(ofBatches: devices[devices.startIndex].owner)
            {
                continue
            }
            if broadcast.round > 0, try recipients.isConfirmed(logged, by: devices[devices.startIndex].owner) { continue }
            try enqueue(draft, on: devices, &woken)
        }
        if let last = page.lastOwner {
            try broadcasts.advance(broadcast.notificationID, to: last)
        } else {
            try broadcasts.complete(broadcast.notificationID)
        }
        return (true, woken)
    }
}

// MARK: - Reminders

extension PushOutbox {
    /// Pushes a notification for all drivers once more, to those who have neither confirmed nor acknowledged it.
    /// - Returns: the number of these drivers; 0 while the jobs of the first push or of an earlier reminder are being
    ///   created.
    func remind(of logged: LoggedNotification, now: Int64) throws(DatabaseError) -> Int {
        let broadcast = try broadcasts.broadcast(of: logged.notification.id)
        if let broadcast, broadcast.isExpanding { return 0 }
        let count = try recipients.reachableCount(
            unconfirmed: logged, except: broadcast?.except, since: now - clockLead - staleAfter, lanes)
        if count > 0 { try broadcasts.addReminder(logged.notification.id) }
        return count
    }
}

extension [DeviceTable.Address] {
    /// Splits the devices into one slice per owner. Omits the devices of the owner `except`.
    fileprivate func split(byOwnersExcept except: String?) -> [ArraySlice<DeviceTable.Address>] {
        var parts: [ArraySlice<DeviceTable.Address>] = []
        var start = startIndex
        for index in indices where index + 1 == endIndex || !self[index].owner.isSame(as: self[index + 1].owner) {
            if !(except.map { self[index].owner.isSame(as: $0) } ?? false) { parts.append(self[start...index]) }
            start = index + 1
        }
        return parts
    }
}
