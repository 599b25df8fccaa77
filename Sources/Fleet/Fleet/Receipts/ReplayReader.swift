/// Reads the pages of replays, on a connection that only reads.
///
/// What a replay leaves out for its age or its length is decided once, on its first page: otherwise a notification that
/// becomes too old while its turn comes would be left out without being announced.
package final class ReplayReader {
    private let database: Database
    private let notifications: NotificationTable
    private let sequences: ChannelSequenceTable
    /// The age in milliseconds from which notifications of a person's channel are left out.
    private let backlog: Int64
    /// The most notifications of a replay.
    private let limit: Int

    package init(_ database: Database, backlogHours: Int, limit: Int) {
        self.database = database
        notifications = NotificationTable(database: database)
        sequences = ChannelSequenceTable(database: database)
        backlog = Int64(backlogHours) * 3_600_000
        self.limit = limit
    }

    package func page(for request: ReplayRequest, at reading: ClockReading) throws(DatabaseError) -> ReplayPage {
        // One snapshot: what a concurrent commit adds is either in the page or behind `upTo`.
        try database.transaction(.reading) { () throws(DatabaseError) in
            let key = request.key
            // Trusted time: a notification that is left out because the clock has jumped would never be replayed.
            let now = try trustedTime(at: reading)
            let (last, erasedTo) = try sequences.end(of: key.channel)
            let pending = NotificationTable.Pending(
                channel: key.channel, owner: key.owner, expiresAfter: key.isForEveryDriver ? now : .min)
            var after = max(request.after, erasedTo)
            var gap: ReplayGap?
            if request.isFirst {
                let start = try start(pending, after: after, now)
                gap = try self.gap(pending, after: after, upTo: start)
                after = start
            }
            let limit = max(request.limit, 1)
            let found = try notifications.next(pending, after: after, limit: limit)
            let upTo = if found.count == limit, let end = found.last { end.sequence } else { max(after, last) }
            return ReplayPage(notifications: found, upTo: upTo, isComplete: upTo >= last, gap: gap)
        }
    }

    /// The sequence number behind which a replay begins: what is older or beyond the limit is left out.
    private func start(
        _ pending: NotificationTable.Pending, after: Int64, _ now: Int64
    ) throws(DatabaseError) -> Int64 {
        var start = after
        // Only people's channels have an age limit; what has expired is not pending on `drivers-channel`.
        if !pending.isForEveryDriver, let old = try notifications.last(of: pending.channel, createdBefore: now - backlog) {
            start = max(start, old)
        }
        return try notifications.newest(pending, after: start, skipping: limit) ?? start
    }

    /// - Returns: nil if nothing is pending between the two sequence numbers.
    private func gap(
        _ pending: NotificationTable.Pending, after: Int64, upTo: Int64
    ) throws(DatabaseError) -> ReplayGap? {
        guard upTo > after, let (count, from, to) = try notifications.summary(pending, after: after, upTo: upTo)
        else { return nil }
        return ReplayGap(count: count, from: from, to: to, upTo: upTo)
    }

    /// Milliseconds since 1970.
    private func trustedTime(at reading: ClockReading) throws(DatabaseError) -> Int64 {
        var clock = try ClockKeeper(database, at: reading)
        _ = clock.observe(reading)
        return reading.wall - clock.lead
    }
}

/// A request for the next notifications that a device is to get again.
package struct ReplayRequest: Equatable, Sendable {
    package let key: ReceiptKey
    /// The sequence number behind which the page begins.
    package let after: Int64
    /// The most notifications in the page.
    package let limit: Int
    /// Whether this is the replay's first page. It decides what the replay leaves out.
    package let isFirst: Bool
    package let replyTo: ReplyAddress

    package init(key: ReceiptKey, after: Int64, limit: Int, isFirst: Bool, replyTo: ReplyAddress) {
        self.key = key
        self.after = after
        self.limit = limit
        self.isFirst = isFirst
        self.replyTo = replyTo
    }
}

/// Some of the notifications of a channel that a device has not confirmed and its owner has not acknowledged.
package struct ReplayPage: Equatable, Sendable {
    /// In the order of the channel.
    package let notifications: [ReplayedNotification]
    /// All of the channel up to this sequence number has been considered: the next page begins behind it.
    package let upTo: Int64
    /// Whether ``upTo`` is the channel's last sequence number at this moment.
    package let isComplete: Bool
    /// What the replay leaves out; nil if it leaves out nothing. Only a first page has one.
    package let gap: ReplayGap?

    package init(notifications: [ReplayedNotification], upTo: Int64, isComplete: Bool, gap: ReplayGap?) {
        self.notifications = notifications
        self.upTo = upTo
        self.isComplete = isComplete
        self.gap = gap
    }
}

package struct ReplayedNotification: Equatable, Sendable {
    package let sequence: Int64
    package let notification: Notification

    package init(sequence: Int64, notification: Notification) {
        self.sequence = sequence
        self.notification = notification
    }
}

/// Notifications that a replay leaves out because they are too old or too many.
package struct ReplayGap: Equatable, Sendable {
    package let count: Int
    /// When the first of them was created, in milliseconds since 1970.
    package let from: Int64
    /// When the last of them was created, in milliseconds since 1970.
    package let to: Int64
    /// The sequence number behind which the replay begins.
    package let upTo: Int64

    package init(count: Int, from: Int64, to: Int64, upTo: Int64) {
        self.count = count
        self.from = from
        self.to = to
        self.upTo = upTo
    }
}
