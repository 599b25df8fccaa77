/// A connection's subscription to a durable channel that it owns.
///
/// It first *replays*: the store's pages are written, and live notifications are left out, because a page will contain
/// them. When a page ends at or behind the last notification that was left out, it is *live*. A notification that a page
/// contained may still come as a live one, because the store knows it before the loop; it is left out, too.
struct OwnerSubscription {
    let key: ReceiptKey
    /// The name by which the client has subscribed: each of two mirrored names gets its own copy.
    let name: String
    /// The channel's slot in the hub.
    private(set) var channel: Int
    /// The number of the replay that belongs to it.
    private(set) var replay: Int
    /// False when the connection has left the channel. A pong may still confirm what was written before.
    var isOpen = true
    var isReplaying = true
    /// The sequence number up to which everything is written to the connection, or need not be.
    var written: Int64
    /// What was written since the last ping.
    private(set) var unpinged: [SequenceRange] = []
    /// The greatest sequence number that was left out while replaying.
    var leftOut: Int64 = 0

    init(_ key: ReceiptKey, as name: String, channel: Int, replay: Int, cursor: Int64) {
        self.key = key
        self.name = name
        self.channel = channel
        self.replay = replay
        written = cursor
    }

    /// Begins to replay again, behind what was written to the connection.
    mutating func reopen(channel: Int, replay: Int, cursor: Int64) {
        (self.channel, self.replay) = (channel, replay)
        (isOpen, isReplaying, leftOut) = (true, true, 0)
        written = max(written, cursor)
    }

    /// Records that a notification is written. Those between the last one and this one are not: their owner has
    /// acknowledged them, or they are left out.
    mutating func add(_ sequence: Int64) {
        written = sequence
        if let last = unpinged.last, last.upTo == sequence - 1 {
            unpinged[unpinged.count - 1].upTo = sequence
        } else {
            unpinged.append(SequenceRange(after: sequence - 1, upTo: sequence))
        }
    }

    /// Records that a sequence number is reached without a notification. What stands behind the next ping moves the
    /// device's cursor so far.
    mutating func skip(to sequence: Int64) {
        guard sequence > written else { return }
        written = sequence
        unpinged.append(SequenceRange(after: sequence, upTo: sequence))
    }

    /// Whether anything was written since the last ping.
    var hasUnpinged: Bool { !unpinged.isEmpty }

    /// Returns what was written since the last ping, and forgets it.
    mutating func takeUnpinged() -> [SequenceRange] {
        defer { unpinged = [] }
        return unpinged
    }
}

/// Consecutive notifications of a channel: those behind `after`, up to and including `upTo`. If both are equal, there are
/// none.
struct SequenceRange: Equatable {
    var after: Int64
    var upTo: Int64
}
