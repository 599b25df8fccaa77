import Access
import Primitives

/// Deletes old rows.
extension CommandExecutor {
    /// The kinds of rows that retention handles. Retention deletes neither preferences nor drivers' cards; only the erasure
    /// of the person does.
    enum RetentionKind: CaseIterable {
        /// Stored responses to requests with an `Idempotency-Key`.
        case idempotency
        case pushes, pushOutcomes
        /// Notifications, and before them what belongs to them.
        case notifications
        /// The steps of notifications that were not in the log.
        case steps
        case audit, orders, routes, batches
        /// Wrong codes of more than a day ago, which lock no order any more.
        case wrongCodes
        /// The positions of drivers, also those in the audit log, whose entries are kept longer.
        case positions
        /// The cursors of devices that have not subscribed for a year.
        case cursors
        /// The sequence numbers of booking and tracking channels.
        case channels
        /// Devices that were not registered again within `push.stale_days` days.
        case devices
        /// Sign-ins by code, and what counts for their limits.
        case codes
        /// Deletes nothing: ends the expired push jobs of lanes that are not enabled, and fails the jobs of unknown
        /// lanes.
        case overdue
        /// Deletes nothing: restarts the erasures that waited until open orders and routes had ended.
        case erasures
        /// Moves the push jobs that have ended out of the queue.
        case endedPushes
        /// The deliveries of notifications for all drivers that have expired: each has as many as there are drivers.
        case broadcastDeliveries

        /// Whether the current time decides what is deleted or ended.
        var isDecidedByAge: Bool { self != .erasures && self != .endedPushes }

        /// How many rows a slice writes at most.
        func rows(limit: Int) -> Int {
            switch self {
            // A tenth of them, with their orders.
            case .batches: (limit + 9) / 10 * (1 + BatchEdits.ordersMax)
            // A tenth of them, with their jobs and bookings.
            case .devices: (limit + 9) / 10 * (2 + PushJobTable.deviceCancelledMax + DeviceBookingTable.bookingsMax)
            // A push with two names. Of a notification one row of each kind, and what its channel counts, four times.
            default: 10 * limit + 50
            }
        }
    }

    /// Deletes rows of one kind.
    /// - Parameters:
    ///   - lifetime: the age in milliseconds at which rows are deleted; notifications with what belongs to them are kept
    ///     at least until they are no longer replayed. Other ages apply to stored responses, devices, channels and cursors.
    ///   - limit: the most rows to delete; of notifications, also of each kind of row that belongs to them.
    ///   - removed: the deleted devices are appended to it.
    /// - Returns: the number of deleted rows; for `overdue`, the number of jobs that ended. There may be more if it is the
    ///   limit.
    func deleteExpired(
        _ kind: RetentionKind, now: Int64, lifetime: Int64, limit: Int, _ removed: inout [RemovedDevice]
    ) throws(DatabaseError) -> Int {
        let cutoff = now - lifetime
        let logCutoff = now - max(lifetime, backlog)
        switch kind {
        case .idempotency:
            responseCounts.removeAll()
            return try idempotency.deleteExpired(now: now, most: limit)
        case .pushes: return try outbox.jobs.deleteExpired(before: cutoff, most: limit)
        case .pushOutcomes:
            return try outbox.jobs.outcomes.deleteExpired(
                beforeNumber: try notifications.firstNumber(since: cutoff), most: limit)
        case .endedPushes: return try outbox.jobs.outcomes.move(most: limit)
        case .broadcastDeliveries: return try deleteBroadcastDeliveries(expiredAt: now, limit)
        case .notifications: return try deleteNotifications(before: logCutoff, limit)
        case .steps:
            strayCounts.removeAll()
            return try steps.deleteExpired(before: logCutoff, most: limit)
        case .audit: return try auditTable.deleteExpired(before: cutoff, most: limit)
        case .orders: return try orders.deleteExpired(before: cutoff, most: limit)
        case .routes: return try routes.deleteExpired(before: cutoff, most: limit)
        // A batch has up to 200 orders.
        case .batches:
            let most = (limit + 9) / 10
            let count = try batches.deleteExpired(before: cutoff, most: most)
            return count == most ? limit : count
        case .wrongCodes: return try batches.orders.deleteAttempts(before: now - Self.day, most: limit)
        case .positions: return try deletePositions(before: now - trips.positionLifetime, limit)
        case .cursors: return try cursors.deleteUnused(since: now - Self.year, most: limit)
        // A channel's last sequence number must be kept longer than all notifications of the channel.
        case .channels: return try sequences.deleteExpired(before: now - max(lifetime * 2, Self.year), most: limit)
        case .devices:
            let most = (limit + 9) / 10
            let stale = try deleteStaleDevices(now, most)
            removed += stale
            return stale.count == most ? limit : stale.count
        case .codes: return try deleteExpiredCodes(now: now, most: limit)
        case .overdue:
            for lane in PushLane.allCases where !outbox.lanes.contains(lane) {
                let count = try outbox.expire(lane, now: now, limit: limit)
                if count > 0 { return count }
            }
            return try outbox.failJobsOfUnknownLanes(now: now, limit: limit)
        case .erasures:
            try resumeErasures()
            return 0
        }
    }

    /// By how much the oldest notification or audit entry is older than it should be, in milliseconds.
    func retentionLag(now: Int64, lifetime: Int64) throws(DatabaseError) -> Int64 {
        let notification = try notifications.firstID().map { now - max(lifetime, backlog) - ULIDSource.time(of: $0) } ?? 0
        let entry = try auditTable.firstTime().map { now - lifetime - $0 } ?? 0
        return max(notification, entry, 0)
    }

    private static let day: Int64 = 86_400_000
    /// A leap year in milliseconds.
    private static let year: Int64 = 366 * 86_400_000

    /// Deletes the oldest notifications. What belongs to them is deleted first, because one for all drivers has rows of each
    /// driver: where these are as many as a slice may delete, they are all that it deletes.
    private func deleteNotifications(before cutoff: Int64, _ limit: Int) throws(DatabaseError) -> Int {
        guard let end = try notifications.endOfOldest(before: cutoff, most: limit) else { return 0 }
        if try outbox.jobs.outcomes.deleteExpired(beforeNumber: end, most: limit) == limit { return limit }
        if try deliveries.deleteExpired(beforeNumber: end, most: limit) == limit { return limit }
        if try steps.deleteOfOldNotifications(before: cutoff, notifications: limit, most: limit) == limit { return limit }
        if try deleteInboxEntries(before: cutoff, limit) == limit { return limit }
        try outbox.broadcasts.deleteExpired(before: cutoff, most: limit)
        var count = 0
        for (channel, deleted) in try notifications.deleteExpired(before: cutoff, most: limit) {
            let readTo = deleted.unmarked.isEmpty ? 0 : try sequences.readTo(channel: channel)
            let unmarked = deleted.unmarked.filter { $0.sequence > readTo }
            try sequences.subtract(unread: unmarked.count { !$0.wasSeen }, unmarked: unmarked.count, channel: channel)
            count += deleted.count
        }
        return count
    }

    /// Deletes inbox entries of the oldest notifications.
    private func deleteInboxEntries(before cutoff: Int64, _ limit: Int) throws(DatabaseError) -> Int {
        let entries = try inbox.deleteExpired(before: cutoff, notifications: limit, most: limit)
        for entry in entries where !entry.isMarked {
            guard let channel = Identity(key: entry.recipient)?.channel,
                try !readMarks.covers(entry: entry.id, of: entry.recipient)
            else { continue }
            try sequences.subtract(unread: entry.wasSeen ? 0 : 1, unmarked: 1, channel: channel)
        }
        return entries.count
    }

    /// Deletes the deliveries of expired notifications for all drivers: what is not replayed any more, nobody confirms. Goes
    /// on behind those of the last call, and stops at the first one that has not expired.
    private func deleteBroadcastDeliveries(expiredAt now: Int64, _ limit: Int) throws(DatabaseError) -> Int {
        let channel = FleetChannel.drivers.name
        // After a start, the first ones have none: the pages without deliveries are passed.
        for _ in 0..<10 {
            let end = try notifications.lastExpired(of: channel, after: deliveriesRemovedTo, at: now, most: 200)
            guard let end else { return 0 }
            let count = try deliveries.deleteAll(channel: channel, after: deliveriesRemovedTo, upTo: end, most: limit)
            // Some are left in this part of the channel.
            if count == limit { return count }
            deliveriesRemovedTo = end
            if count > 0 { return count }
        }
        return 0
    }

    private func deleteStaleDevices(_ now: Int64, _ limit: Int) throws(DatabaseError) -> [RemovedDevice] {
        let stale = try outbox.devices.removeUnseen(since: now - outbox.staleAfter, most: limit)
        for device in stale {
            try outbox.cancel(of: device.owner, deviceID: device.id, reason: "stale", now: now)
            try outbox.bookings.removeIfNoDevices(device.owner)
        }
        return stale.map { $0.removed("stale") }
    }
}
