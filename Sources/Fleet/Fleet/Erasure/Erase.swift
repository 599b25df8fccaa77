import Access
import JSON

/// Erases a driver or customer:
///
/// 1. In this transaction: deletes the person's devices, preferences and stored responses, the list of the person's
///    bookings and what is recorded about deliveries, and cancels unsent pushes. What is on the person's channel is
///    not replayed any more; what is sent there later is, because an open order may still need it. Deletes a driver's
///    card, account and positions, and the account and the sign-ins of a customer who signs in by code, whose tokens
///    are refused from then on. Clears the person's name in orders and routes, the person's notes and positions in
///    the audit log, and the details of the notification steps that the person's devices reported. All of these rows
///    are found by the person's id; of each kind, this transaction handles ``CommandExecutor/clearedMax`` at most. In batches that are
///    over, a customer's orders lose what names the customer, the exact place and what was ordered.
/// 2. In background slices (``CommandExecutor/eraseSome()``): handles the others of these rows; deletes what a customer could list
///    about bookings; then searches all notifications, and other people's stored responses,
///    audit entries and notification steps, and redacts the person's names and addresses there (``Redaction``),
///    for a driver also the phone number and the license plate of the card. ``ErasureTable`` stores the progress.
/// 3. When the orders and routes that were open at the time of the request have ended (``CommandExecutor/resumeErasures()``):
///    clears rows as in step 1 and repeats step 2. Until then, an open order keeps its addresses and
///    coordinates, because the driver needs them.
/// 4. After each search: runs a checkpoint, which removes the old content from the write-ahead log.
///
/// The audit log keeps the person's actions under the person's id. For admins and ops there is no search: notifications
/// do not contain their names.
package struct Erase: Command {
    package let person: Identity

    package init(_ role: Role, id: String) { person = Identity(role: role, id: id) }

    static let rowsMax =
        DeviceRegistration.devicesMax * 2 + RowBound.bookings + PushJobTable.movedMax + 10 * CommandExecutor.clearedMax + 50

    package var name: String { "erase" }
    package var priority: RequestPriority { .bulk }
    package var subject: String { person.key }
    package var rows: Int { Self.rowsMax }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let (stores, now, named) = (transaction.stores, transaction.now, self.person)
        let account = named.role == .driver ? try stores.accounts.account(ofDriver: named.id) : nil
        let person = account.map { Identity(role: .driver, id: $0.personID) } ?? named
        let key = person.key
        let devices = try stores.outbox.devices.devices(of: key)
        for device in devices { try stores.outbox.devices.remove(id: device.id) }
        try stores.outbox.bookings.remove(of: key)
        var counts = ErasureCounts()
        counts.devices = devices.count
        counts.preferences = try stores.outbox.preferences.remove(of: key)
        counts.pushes = try stores.outbox.cancel(of: key, reason: "erased", now: now)
        for channel in [person.channel, FleetChannel.drivers.name] { try stores.cursors.remove(of: key, channel: channel) }
        try stores.sequences.eraseAll(channel: person.channel)
        let customer = try stores.endAccount(of: person, now)
        let known = account?.identifyingTexts ?? customer?.0.identifyingTexts ?? []
        let texts = try stores.texts(of: person) + known
        if let account {
            try stores.outbox.availability.remove(account: account.id)
            try stores.accounts.remove(id: account.id)
        }
        try stores.erasures.add(
            person, account: account?.id, texts: texts, lastID: try stores.notifications.lastID() ?? "", now: now)
        _ = try stores.clearRows(of: person, account: account?.id, &counts)
        _ = try stores.removeDeliveriesForEveryDriver(to: person, after: 0)
        _ = try stores.removeDeliveries(to: person, after: 0)
        stores.backgroundTasks.insert(.erasures)
        try stores.audit(.erasure(of: person, transaction))
        var result = transaction.result(.erasure(counts))
        if let account { result.effects.append(.accountChanged(AccountChange(ended: account))) }
        if let ended = customer?.1 { result.effects.append(.tokensEnded(ended)) }
        result.effects.append(.personErased(person))
        result.effects += devices.map { .deviceRemoved($0.removed("erased")) }
        return .committed(result)
    }
}

extension AuditEntry {
    /// Records which user requested the erasure of which person. The entry contains only the person's id, which does
    /// not identify the person without other data.
    fileprivate static func erasure(of person: Identity, _ transaction: Transaction) -> AuditEntry {
        var details = JSONWriter()
        details.object { $0.member("person", person.key) }
        return AuditEntry(
            at: transaction.now, actor: transaction.actor.key, action: "erase", subject: .fleet,
            correlationID: transaction.issued.correlationID,
            details: details.bytes)
    }
}
