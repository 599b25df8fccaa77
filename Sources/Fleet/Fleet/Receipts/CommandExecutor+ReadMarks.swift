/// Marks the rows of inboxes that were read as a whole.
extension CommandExecutor {
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
        countRead(marked)
        if end < mark.sequence {
            try readMarks.advance(mark, to: end)
            return most
        }
        let entries =
            mark.entry.isEmpty
            ? [] : try inbox.markRead(upTo: mark.entry, for: mark.recipient, at: mark.readAt, most: most)
        try countRead(entries: entries)
        if entries.count == most {
            try readMarks.advance(mark, to: mark.sequence)
            return most
        }
        let cancelled = try outbox.cancelNeedless(of: mark.recipient, reason: "acknowledged", now: now)
        try readMarks.remove(mark)
        return marked.count + entries.count + cancelled
    }

    func countRead(_ marked: [NotificationTable.Unmarked]) {
        for notification in marked {
            if !notification.wasAcknowledged { counter.counts.add(.acknowledged, of: notification.event) }
            counter.counts.add(.read, of: notification.event)
        }
    }

    func countRead(entries ids: [String]) throws(DatabaseError) {
        for id in ids {
            if let notification = try notifications.head(of: id) { counter.counts.add(.read, of: notification.event) }
        }
    }
}
