/// Guaranteed delivery, for the connections of one loop: which notifications were written to which connections, which
/// pings stand behind them, and what a pong confirms.
///
/// A value without clock and sockets: the caller writes, and says what it has written. Only connections that own a
/// durable channel have state here; a write to any other costs one look-up.
package struct OwnerReceipts {
    /// What stands behind a ping: notifications of one channel.
    struct Mark {
        let payload: PingPayload
        /// The index in ``Connection/subscriptions``.
        let subscription: Int
        let range: SequenceRange
        let writtenAt: Int64
        /// Whether the store knows that they were written.
        var isReported = false
    }

    struct Connection {
        /// Those that have ended, too: what was written to them is not written again.
        var subscriptions: [OwnerSubscription] = []
        /// Oldest first.
        var marks: [Mark] = []

        /// Begins a subscription.
        /// - Returns: the sequence number behind which to replay.
        mutating func open(
            _ key: ReceiptKey, as name: String, channel: Int, replay: Int, cursor: Int64
        ) -> Int64 {
            let ended = subscriptions.indices.filter { !subscriptions[$0].isOpen }
            if let index = ended.first(where: { subscriptions[$0].key == key && subscriptions[$0].name == name }) {
                subscriptions[index].reopen(channel: channel, replay: replay, cursor: cursor)
                return subscriptions[index].written
            }
            let subscription = OwnerSubscription(key, as: name, channel: channel, replay: replay, cursor: cursor)
            // A client may name a new device each time: then only what it has not confirmed keeps an ended subscription.
            if subscriptions.count >= OwnerReceipts.subscriptionsMax, let index = ended.first(where: { !isAwaited($0) }) {
                subscriptions[index] = subscription
            } else {
                subscriptions.append(subscription)
            }
            return cursor
        }

        /// Whether a pong may still confirm something of a subscription.
        private func isAwaited(_ index: Int) -> Bool {
            subscriptions[index].hasUnpinged || marks.contains { $0.subscription == index }
        }

        mutating func append(_ range: SequenceRange, _ subscription: Int, _ payload: PingPayload, _ now: Int64) {
            var (range, writtenAt) = (range, now)
            if marks.count >= OwnerReceipts.marksMax, let last = marks.lastIndex(where: { $0.subscription == subscription }),
                marks[last].range.upTo == range.after
            {
                let extended = marks.remove(at: last)
                (range.after, writtenAt) = (extended.range.after, extended.writtenAt)
            }
            marks.append(Mark(payload: payload, subscription: subscription, range: range, writtenAt: writtenAt))
        }
    }

    /// From so many marks on, the newest is extended, and a pong of a later ping confirms it. It is extended only by the
    /// notifications that follow it directly: those between were not written. Live notifications always follow directly,
    /// so a client that confirms nothing has at most as many marks more as its replays left notifications out.
    static let marksMax = 128
    /// A connection has more subscriptions than these only if they are open, or their notifications are not confirmed.
    static let subscriptionsMax = 16

    /// By the connection's slot.
    var connections: [Connection?] = []
    /// By slot: whether a ping must stand behind the next write.
    private var owed: [Bool] = []
    /// The number of slots for which that is so.
    private var owedCount = 0
    /// By the channel's slot.
    private var owners: [Int: Owners] = [:]

    package init() {}

    // MARK: Subscriptions

    /// Begins to replay a subscription.
    /// - Parameters:
    ///   - slot: the connection's.
    ///   - name: that by which the client subscribes.
    ///   - channel: the slot of the channel in the hub.
    ///   - replay: a number that no other replay of the connection has.
    ///   - cursor: the sequence number that the device has confirmed.
    /// - Returns: the sequence number behind which to replay: the cursor or, if it is greater, the last notification that
    ///   was written to this connection.
    package mutating func subscribe(
        _ slot: Int, to key: ReceiptKey, as name: String, channel: Int, replay: Int, cursor: Int64
    ) -> Int64 {
        if owners[channel]?.insert(slot) == nil { owners[channel] = .one(slot) }
        while connections.count <= slot { connections.append(nil) }
        if connections[slot] == nil { connections[slot] = Connection() }
        return connections[slot]?.open(key, as: name, channel: channel, replay: replay, cursor: cursor) ?? cursor
    }

    /// Ends the subscription of a connection to a channel, if there is one.
    package mutating func unsubscribe(_ slot: Int, from channel: Int) {
        guard let index = index(of: channel, slot) else { return }
        connections[slot]?.subscriptions[index].isOpen = false
        removeOwner(slot, of: channel)
    }

    /// Forgets a connection that has closed.
    /// - Returns: what was written to it and not confirmed.
    package mutating func close(_ slot: Int) -> [Receipt] {
        guard let connection = connection(slot) else { return [] }
        connections[slot] = nil
        for subscription in connection.subscriptions where subscription.isOpen {
            removeOwner(slot, of: subscription.channel)
        }
        settle(slot)
        return connection.marks.filter { !$0.isReported }.map { receipt($0, connection, confirmedAt: nil) }
    }

    private mutating func removeOwner(_ slot: Int, of channel: Int) {
        if owners[channel]?.remove(slot) == false { owners[channel] = nil }
    }

    /// Nil if the connection has no state here.
    func connection(_ slot: Int) -> Connection? { slot < connections.count ? connections[slot] : nil }

    private func index(of channel: Int, _ slot: Int) -> Int? {
        connection(slot)?.subscriptions.firstIndex { $0.channel == channel && $0.isOpen }
    }

    // MARK: Writing

    /// Handles a live notification.
    /// - Returns: the slots of connections that must not get it: they replay it, or have replayed it.
    package mutating func notify(_ channel: Int, _ sequence: Int64) -> Set<Int> {
        var excluded: Set<Int> = []
        owners[channel]?.each { slot in
            guard let index = index(of: channel, slot) else { return }
            let subscription = connections[slot]?.subscriptions[index]
            if subscription?.isReplaying == true {
                connections[slot]?.subscriptions[index].leftOut = sequence
                excluded.insert(slot)
            } else if let written = subscription?.written, sequence <= written {
                excluded.insert(slot)
            } else {
                connections[slot]?.subscriptions[index].add(sequence)
                owe(slot)
            }
        }
        return excluded
    }

    /// Whether a page of a replay is to be written. It is not if the subscription has ended since the page was requested:
    /// a later one replays by itself. It may even have another name, because the hub has reused the channel's slot.
    package func expectsPage(of replay: Int, _ slot: Int, _ channel: Int) -> Bool {
        guard let index = index(of: channel, slot), let subscription = connections[slot]?.subscriptions[index] else {
            return false
        }
        return subscription.replay == replay && subscription.isReplaying
    }

    /// Handles a page that was queued for a connection.
    /// - Parameters:
    ///   - gapEnd: the sequence number up to which a gap was announced; nil if none was.
    ///   - sequences: those of the notifications in the page.
    ///   - upTo: the sequence number up to which the page replays.
    ///   - isLast: whether the channel had no later notification when the page was read.
    /// - Returns: the sequence number behind which the next page begins; nil if the subscription is live now, or has
    ///   ended.
    package mutating func replayed(
        _ slot: Int, _ channel: Int, gapEnd: Int64? = nil, sequences: [Int64], upTo: Int64, isLast: Bool
    ) -> Int64? {
        guard let index = index(of: channel, slot), var subscription = connections[slot]?.subscriptions[index],
            subscription.isReplaying
        else { return nil }
        if let gapEnd { subscription.skip(to: gapEnd) }
        for sequence in sequences { subscription.add(sequence) }
        // Without a ping nothing moves the cursor; the next replay considers again what was left out.
        if gapEnd == nil, sequences.isEmpty {
            subscription.written = max(subscription.written, upTo)
        } else {
            subscription.skip(to: upTo)
            owe(slot)
        }
        subscription.isReplaying = !isLast || subscription.leftOut > subscription.written
        connections[slot]?.subscriptions[index] = subscription
        return subscription.isReplaying ? subscription.written : nil
    }

    /// Whether a ping must stand behind the next write to any connection. Most writes need to know no more.
    package var isAnyOwed: Bool { owedCount > 0 }

    /// Whether a ping must stand behind the next write to a connection.
    package func isOwed(_ slot: Int) -> Bool { slot < owed.count && owed[slot] }

    private mutating func owe(_ slot: Int) {
        while owed.count <= slot { owed.append(false) }
        if !owed[slot] { owedCount += 1 }
        owed[slot] = true
    }

    private mutating func settle(_ slot: Int) {
        guard isOwed(slot) else { return }
        owed[slot] = false
        owedCount -= 1
    }

    /// Makes the ping that stands behind a write, which contains everything that was queued for the connection.
    /// - Parameter now: milliseconds since 1970.
    package mutating func ping(_ slot: Int, now: Int64, using random: inout some RandomNumberGenerator) -> PingPayload {
        let payload = PingPayload(using: &random)
        settle(slot)
        guard var connection = connection(slot) else { return payload }
        connections[slot] = nil  // so that the arrays are not copied
        for index in connection.subscriptions.indices {
            for range in connection.subscriptions[index].takeUnpinged() {
                connection.append(range, index, payload, now)
            }
        }
        connections[slot] = connection
        return payload
    }
}
