import Access

/// Broadcasts: notifications for all drivers, or for many. A broadcast is stored as one row; the writer creates its push jobs
/// in slices, between other transactions.
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
        if let last = broadcast.lastNamed { return (true, try expandNamed(broadcast, upTo: last, now)) }
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

// MARK: - Many named drivers

extension PushOutbox {
    /// Stores that the notifications of an announcement are to be pushed, each to one driver. Their ids are consecutive.
    func enqueueLater(_ intents: [PushIntent]) throws(DatabaseError) {
        guard !lanes.isEmpty, let first = intents.first, let last = intents.last else { return }
        try broadcasts.add(named: first.notificationID, upTo: last.notificationID)
    }

    /// Creates the jobs of the next notifications of an announcement. The same transaction stores how far it has come, so
    /// each device gets one push whenever the process is killed.
    /// - Returns: the push lanes that have new jobs.
    private func expandNamed(
        _ broadcast: PushBroadcastTable.Broadcast, upTo last: String, _ now: Int64
    ) throws(DatabaseError) -> Set<PushLane> {
        var woken: Set<PushLane> = []
        var left = Self.expansionMax
        for logged in try broadcasts.named(from: broadcast.afterOwner, upTo: last, most: Self.expansionMax / 2 + 1) {
            let notification = logged.notification
            guard left > 0 else {
                try broadcasts.advance(broadcast.notificationID, to: notification.id)
                return woken
            }
            guard let driver = notification.driver else { continue }
            let addresses = try devices.reachable(driver.key, since: now - clockLead - staleAfter)
            let draft = Draft(
                notification: notification, entity: nil, isFallback: rules[notification.event].push.contains(.fallback), now: now)
            try enqueue(draft, on: addresses[...], &woken)
            // Who has no device costs a look.
            left -= max(2, addresses.count)
        }
        try broadcasts.remove(broadcast.notificationID)
        return woken
    }
}

extension Notification {
    /// The driver whose own channel it is on; nil if it is on another channel.
    fileprivate var driver: Identity? {
        let prefix = "\(Role.driver.rawValue)-"
        guard channel.utf8.starts(with: prefix.utf8) else { return nil }
        return Identity(role: .driver, id: String(Substring(channel.utf8.dropFirst(prefix.utf8.count))))
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
        for index in indices where index + 1 == endIndex || !self[index].owner.hasSameBytes(as: self[index + 1].owner) {
            if !(except.map { self[index].owner.hasSameBytes(as: $0) } ?? false) { parts.append(self[start...index]) }
            start = index + 1
        }
        return parts
    }
}
