import FleetRules

/// Records which notifications reached which devices, and where the replay of a subscription begins.
extension CommandExecutor {
    /// Stores a receipt and, if it is confirmed, moves the device's cursor.
    /// - Returns: the notifications that none of the owner's devices had confirmed before.
    func record(_ receipt: Receipt, now: Int64) throws(DatabaseError) -> [Confirmation] {
        let key = receipt.key
        var confirmations: [Confirmation] = []
        for delivered in try deliveries.notifications(of: receipt) {
            if !delivered.wasWritten { counter.counts.add(.written, of: delivered.event) }
            guard let confirmedAt = receipt.confirmedAt, !delivered.wasConfirmed else { continue }
            counter.counts.add(.confirmed, of: delivered.event)
            confirmations.append(
                Confirmation(
                    notificationID: delivered.notificationID, event: delivered.event, channel: key.channel,
                    owner: key.owner, device: key.device, createdAt: delivered.createdAt, confirmedAt: confirmedAt))
        }
        try deliveries.store(receipt)
        if receipt.confirmedAt != nil { try cursors.advance(key, to: receipt.upTo, now: now) }
        return confirmations
    }

    /// The age at which the time of a cursor's last use is written again, in milliseconds.
    private static let cursorUseInterval: Int64 = 86_400_000

    /// Finds a device's cursor. A new device starts where its owner's furthest device is, and a new owner at the
    /// beginning of the backlog; on `drivers-channel` at the present.
    func subscribe(_ request: CursorRequest, now: Int64) throws(DatabaseError) -> CursorReply {
        let key = request.key
        let (last, erasedTo) = try sequences.end(of: key.channel)
        var cursor: Int64
        if let stored = try cursors.cursor(of: key) {
            cursor = stored.sequence
            if now - stored.usedAt >= Self.cursorUseInterval { try cursors.touch(key, now: now) }
        } else {
            if let furthest = try cursors.furthest(of: key.owner, channel: key.channel) {
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
