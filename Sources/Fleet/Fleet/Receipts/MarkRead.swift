import Access
import JSON

/// Marks the actor's notifications as read.
package struct MarkRead: Command {
    /// Nil: all of the actor's notifications.
    package let ids: [String]?

    package init(_ ids: [String]?) { self.ids = ids }

    package var name: String { "read" }
    package var rows: Int { ids.map { 2 * $0.count + PushJobTable.cancelledMax + 2 } ?? 3 }
    /// Some 25 ids cost the store as much as one command.
    package var tokens: Int { ids.map { max(1, ($0.count + 24) / 25) } ?? 1 }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        if let ids { return transaction.committed(.markedRead(try mark(ids, transaction))) }
        return transaction.committed(.markedRead(try markAll(transaction)))
    }

    private func mark(_ ids: [String], _ transaction: Transaction) throws(DatabaseError) -> Int {
        let (stores, actor, now) = (transaction.stores, transaction.actor, transaction.now)
        var json = JSONWriter()
        json.array(ids.filter(\.mayBeNotificationID))
        let ids = json.bytes
        let readTo = try stores.sequences.readTo(channel: actor.channel)
        let marked = try stores.notifications.markRead(ids: ids, channel: actor.channel, after: readTo, now: now)
        stores.countRead(marked)
        if marked.contains(where: { !$0.wasAcknowledged }) {
            try stores.outbox.cancelNeedless(of: actor.key, reason: "acknowledged", now: now)
        }
        let entries = actor.role == .customer ? try stores.inbox.markRead(ids: ids, for: actor.key, now: now) : []
        try stores.countRead(entries: entries.map(\.id))
        try stores.sequences.subtract(
            unread: marked.count { !$0.wasSeen } + entries.count(where: \.wasUnread),
            unmarked: marked.count + entries.count, channel: actor.channel)
        return marked.count + entries.count
    }

    /// Marks an inbox as read, however large it is: see ``ReadMarkTable``.
    private func markAll(_ transaction: Transaction) throws(DatabaseError) -> Int {
        let (stores, actor) = (transaction.stores, transaction.actor)
        guard let marked = try stores.sequences.markAllRead(channel: actor.channel) else { return 0 }
        try stores.readMarks.add(
            ReadMarkTable.Mark(
                channel: actor.channel, sequence: marked.last,
                entry: actor.role == .customer ? try stores.inbox.lastID(for: actor.key) ?? "" : "", recipient: actor.key,
                readAt: transaction.now, writtenTo: marked.readTo))
        stores.backgroundTasks.insert(.readMarks)
        return marked.unmarked
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
