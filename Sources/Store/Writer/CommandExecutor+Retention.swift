import FleetRules

/// What goes because it is old.
extension CommandExecutor {
    /// The kinds of rows that go when they are old, each by its own age. Push jobs go before their notifications, phones when
    /// nobody has seen them for long; preferences stay until their owner is erased.
    enum RetentionKind: CaseIterable {
        case answers, pushes, notifications, steps, audit, orders, routes, channels, devices
        /// Rows stay, but what waits too long for a lane that is not enabled expires.
        case overdue
        /// Rows stay, but who was to be forgotten is searched for once more, when what kept his addresses is over.
        case erasures
    }

    /// Forgets at most `most` rows of a kind (of notifications, with their steps); answers how many.
    /// - Parameters:
    ///   - lifetime: how long everything but answers is kept, in milliseconds.
    ///   - removed: gets the devices that were among them.
    func deleteExpired(
        _ kind: RetentionKind, now: Int64, lifetime: Int64, most: Int, _ removed: inout [RemovedDevice]
    ) throws(DatabaseError) -> Int {
        let cutoff = now - lifetime
        switch kind {
        case .answers: return try idempotency.deleteExpired(now: now, most: most)
        case .pushes: return try outbox.jobs.deleteExpired(before: cutoff, most: most)
        case .notifications: return try deleteNotifications(before: cutoff, most: most)
        case .steps: return try steps.deleteExpired(before: cutoff, most: most)
        case .audit: return try auditTable.deleteExpired(before: cutoff, most: most)
        case .orders: return try orders.deleteExpired(before: cutoff, most: most)
        case .routes: return try routes.deleteExpired(before: cutoff, most: most)
        // Long after the last row that bore one of its numbers.
        case .channels: return try sequences.deleteExpired(before: now - max(lifetime * 2, Self.year), most: most)
        case .devices:
            let stale = try deleteDevices(now, most: most)
            removed += stale
            return stale.count
        case .overdue:
            for lane in PushLane.allCases where !outbox.lanes.contains(lane) {
                let count = try outbox.expire(lane, now: now, most: most)
                if count > 0 { return count }
            }
            return try outbox.failOrphans(now: now, most: most)
        case .erasures:
            try resumeErasures()
            return 0
        }
    }

    private static let year: Int64 = 366 * 86_400_000

    private func deleteNotifications(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        var count = 0
        for (channel, change) in try notifications.deleteExpired(before: cutoff, most: most) {
            try sequences.countDown(change.unread, channel: channel)
            count += change.count
        }
        return count
    }

    private func deleteDevices(_ now: Int64, most: Int) throws(DatabaseError) -> [RemovedDevice] {
        let stale = try outbox.devices.removeUnseen(since: now - outbox.staleAfter, most: most)
        for device in stale {
            try outbox.cancel(of: device.owner, deviceID: device.id, reason: "stale", now: now)
            try outbox.bookings.removeIfNoDevices(device.owner)
        }
        return stale.map { $0.removed("stale") }
    }
}
