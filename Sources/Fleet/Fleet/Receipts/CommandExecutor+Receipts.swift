import Access
import Primitives

/// Records which notifications reached which devices, and where the replay of a subscription begins.
extension CommandExecutor {
    /// Stores a receipt and, if it is confirmed, moves the device's cursor.
    /// - Returns: the notifications that none of the owner's devices had confirmed before.
    package func record(_ receipt: Receipt, now: Int64) throws(DatabaseError) -> [Confirmation] {
        let key = receipt.key
        declare(receipt.rows)
        if try isErased(receipt) { return [] }
        var confirmations: [Confirmation] = []
        let all = try deliveries.notifications(of: receipt)
        for delivered in all {
            let notification = delivered.logged.notification
            if !delivered.wasWritten { counter.counts.add(.written, of: notification.event) }
            guard let confirmedAt = receipt.confirmedAt, !delivered.wasConfirmed else { continue }
            counter.counts.add(.confirmed, of: notification.event)
            try outbox.countConfirmation(of: notification, by: key.owner)
            counter.add(NotificationUpdate(delivered.logged, .confirmed, at: confirmedAt))
            confirmations.append(
                Confirmation(
                    notificationID: notification.id, event: notification.event, channel: key.channel,
                    owner: key.owner, device: key.device, createdAt: notification.createdAt, confirmedAt: confirmedAt))
        }
        try deliveries.store(receipt, all)
        try notifications.markDelivered(receipt)
        guard receipt.confirmedAt != nil else { return confirmations }
        try cursors.advance(key, to: receipt.upTo, now: now)
        if !confirmations.isEmpty {
            let most = confirmations.count * Self.needlessPushesMax
            try outbox.cancelNeedless(of: key.owner, reason: "confirmed", now: now, most: most)
        }
        return confirmations
    }

    /// Whether the owner was erased after the notifications of a receipt were written. A pong may come later; the owner
    /// then has no devices here.
    private func isErased(_ receipt: Receipt) throws(DatabaseError) -> Bool {
        // A subscription stores its cursor before it gets anything, and an erasure deletes the cursors. That of a device that
        // is one of too many has gone, too.
        if receipt.key.isForEveryDriver {
            guard try cursors.cursor(of: receipt.key) == nil else { return false }
            return try cursors.furthest(of: receipt.key.owner, channel: receipt.key.channel).count < CursorTable.devicesMax
        }
        let erasedTo = try sequences.end(of: receipt.key.channel).erasedTo
        return receipt.upTo > 0 && receipt.upTo <= erasedTo
    }

    /// Records that an owner of a notification's channel has acknowledged it, by a step or a read mark.
    func acknowledge(
        _ notification: NotificationTable.Head, by owner: Identity, now: Int64
    ) throws(DatabaseError) {
        let isFirst = try notifications.markAcknowledged(notification.id, now: now)
        // On `drivers-channel`, another driver may have been the first.
        let isFirstOfOwner =
            try notification.channel.hasSameBytes(as: owner.channel)
            ? isFirst : steps.count(of: notification.id, by: owner.key) == 1
        guard isFirstOfOwner else { return }
        counter.counts.add(.acknowledged, of: notification.event)
        try outbox.cancelNeedless(of: owner.key, reason: "acknowledged", now: now, most: Self.needlessPushesMax)
    }

    /// The most pushes that are cancelled for each notification that has arrived: people have few devices.
    static let needlessPushesMax = 4

    // MARK: What is not confirmed in time

    /// The most notifications that a check looks at.
    private static let checkMax = 1_000
    /// Dispatchers do not learn of notifications that were created before, because the gateway was not running then.
    private static let checkedAge: Int64 = 3_600_000

    /// Tells dispatchers which notifications nobody has confirmed in the time for it. Call it about once a second, in a
    /// transaction.
    /// - Returns: whether more are to be checked now.
    func checkConfirmations(now: Int64) throws(DatabaseError) -> Bool {
        let position = try checks.position()
        let checked = try notifications.ids(after: position, createdUntil: now - confirmTime, most: Self.checkMax)
        guard let last = checked.last else { return false }
        let unconfirmed = try notifications.unconfirmedOfDrivers(
            after: position, upTo: last, createdAfter: now - Self.checkedAge)
        for logged in unconfirmed { counter.add(NotificationUpdate(logged, .unconfirmed, at: now)) }
        try checks.record(last)
        return checked.count == Self.checkMax
    }

    // MARK: Cursors

    /// The age at which the time of a cursor's last use is written again, in milliseconds.
    private static let cursorUseInterval: Int64 = 3_600_000

    /// Finds a device's cursor. A new device starts where its owner's furthest device is, and a new owner at the
    /// beginning of the backlog; on `drivers-channel` at the present.
    ///
    /// If the owner has as many devices as are remembered, the one used longest ago is forgotten. A new device may be
    /// such a one: it starts at the beginning of the backlog, because a repetition is better than a loss.
    package func subscribe(_ request: CursorRequest, now: Int64) throws(DatabaseError) -> CursorReply {
        let key = request.key
        declare(StoreWriter.Request.subscription(request).rows)
        let (last, erasedTo) = try sequences.end(of: key.channel)
        var cursor: Int64
        if let stored = try cursors.cursor(of: key) {
            cursor = stored.sequence
            if now - stored.usedAt >= Self.cursorUseInterval { try cursors.touch(key, now: now) }
        } else {
            let (count, furthest) = try cursors.furthest(of: key.owner, channel: key.channel)
            if count >= CursorTable.devicesMax {
                counter.counts.forgottenCursors += try cursors.removeLeastUsed(
                    of: key.owner, channel: key.channel, keeping: CursorTable.devicesMax - 1)
                cursor = try notifications.sequence(of: key.channel, before: ULID.least(at: now - clockLead - backlog)) ?? 0
            } else if let furthest {
                cursor = furthest
            } else if key.isForEveryDriver {
                cursor = last
            } else {
                let old = try notifications.last(of: key.channel, createdBefore: now - clockLead - backlog)
                cursor = old ?? 0
            }
            cursor = max(cursor, erasedTo)
            try cursors.advance(key, to: cursor, now: now)
        }
        return CursorReply(request: request, cursor: cursor, last: last)
    }
}
