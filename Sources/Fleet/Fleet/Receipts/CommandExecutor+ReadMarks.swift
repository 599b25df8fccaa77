import Access
import JSON

/// Marks notifications as read.
extension CommandExecutor {
    /// - Parameter ids: nil: the whole inbox.
    func markRead(_ ids: [String]?, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let count: Int
        if let ids {
            count = try markRead(ids, by: command.actor, now)
        } else {
            count = try markAllRead(by: command.actor, now)
        }
        return result(.markedRead(count), of: command)
    }

    private func markRead(_ ids: [String], by actor: Identity, _ now: Int64) throws(DatabaseError) -> Int {
        var json = JSONWriter()
        json.array(ids.filter(\.mayBeNotificationID))
        let ids = json.bytes
        let readTo = try sequences.readTo(channel: actor.channel)
        let marked = try notifications.markRead(ids: ids, channel: actor.channel, after: readTo, now: now)
        count(marked)
        if marked.contains(where: { !$0.wasAcknowledged }) {
            try outbox.cancelNeedless(of: actor.key, reason: "acknowledged", now: now)
        }
        let entries = actor.role == .customer ? try inbox.markRead(ids: ids, for: actor.key, now: now) : []
        try count(entries: entries.map(\.id))
        try sequences.subtract(
            unread: marked.count { !$0.wasSeen } + entries.count(where: \.wasUnread),
            unmarked: marked.count + entries.count, channel: actor.channel)
        return marked.count + entries.count
    }

    /// Marks an inbox as read, however large it is: see ``ReadMarkTable``.
    private func markAllRead(by actor: Identity, _ now: Int64) throws(DatabaseError) -> Int {
        guard let marked = try sequences.markAllRead(channel: actor.channel) else { return 0 }
        try readMarks.add(
            ReadMarkTable.Mark(
                channel: actor.channel, sequence: marked.last,
                entry: actor.role == .customer ? try inbox.lastID(for: actor.key) ?? "" : "", recipient: actor.key,
                readAt: now, writtenTo: marked.readTo))
        backgroundTasks.insert(.readMarks)
        return marked.unmarked
    }

    // MARK: The rows of inboxes that are read as a whole

    /// About the most rows of a slice.
    static let readMarksSlice = 500
    /// An inbox counts as so many rows of a slice at least: rows that need no mark are read, too.
    static let readMarksLeast = 20

    /// Writes the marks of the next rows, the oldest marks first.
    /// - Returns: false if all rows have their marks.
    func writeReadMarks(now: Int64) throws(DatabaseError) -> Bool {
        var left = Self.readMarksSlice
        while left > 0 {
            guard let mark = try readMarks.first() else { return left < Self.readMarksSlice }
            left -= max(Self.readMarksLeast, try write(mark, most: left, now))
        }
        return true
    }

    /// - Returns: the number of rows that were written, or that were read if these are more.
    private func write(_ mark: ReadMarkTable.Mark, most: Int, _ now: Int64) throws(DatabaseError) -> Int {
        let end = try notifications.sequence(of: mark.channel, most, after: mark.writtenTo) ?? mark.sequence
        let marked = try notifications.markRead(
            channel: mark.channel, after: mark.writtenTo, upTo: min(end, mark.sequence), at: mark.readAt)
        count(marked)
        if end < mark.sequence {
            try readMarks.advance(mark, to: end)
            return most
        }
        let entries =
            mark.entry.isEmpty
            ? [] : try inbox.markRead(upTo: mark.entry, for: mark.recipient, at: mark.readAt, most: most)
        try count(entries: entries)
        if entries.count == most {
            try readMarks.advance(mark, to: mark.sequence)
            return most
        }
        let cancelled = try outbox.cancelNeedless(of: mark.recipient, reason: "acknowledged", now: now)
        try readMarks.remove(mark)
        return marked.count + entries.count + cancelled
    }

    private func count(_ marked: [NotificationTable.Unmarked]) {
        for notification in marked {
            if !notification.wasAcknowledged { counter.counts.add(.acknowledged, of: notification.event) }
            counter.counts.add(.read, of: notification.event)
        }
    }

    private func count(entries ids: [String]) throws(DatabaseError) {
        for id in ids {
            if let notification = try notifications.head(of: id) { counter.counts.add(.read, of: notification.event) }
        }
    }
}

extension String {
    /// Whether it consists of digits and letters, as the ids of notifications do. A server refuses some other characters
    /// in JSON.
    fileprivate var mayBeNotificationID: Bool {
        let (digits, letters) = (UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"))
        return utf8.allSatisfy { digits.contains($0) || letters.contains($0 | 0x20) }
    }
}
