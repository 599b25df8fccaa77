import Access
import JSON
import Primitives

/// Erasure of a person's data (GDPR, article 17). The entry point is ``erase(_:_:_:)``, where the steps are described.
extension CommandExecutor {
    /// Erases a driver or customer:
    ///
    /// 1. In this transaction: deletes the person's devices, preferences and stored responses, the list of the person's
    ///    bookings and what is recorded about deliveries, and cancels unsent pushes. What is on the person's channel is
    ///    not replayed any more; what is sent there later is, because an open order may still need it. Deletes a driver's
    ///    card, account and positions, and the account and the sign-ins of a customer who signs in by code, whose tokens
    ///    are refused from then on. Clears the person's name in orders and routes, the person's notes and positions in
    ///    the audit log, and the details of the notification steps that the person's devices reported. All of these rows
    ///    are found by the person's id; of each kind, this transaction handles ``clearedMax`` at most. In batches that are
    ///    over, a customer's orders lose what names the customer, the exact place and what was ordered.
    /// 2. In background slices (``eraseSome()``): handles the others of these rows; deletes what a customer could list
    ///    about bookings; then searches all notifications, and other people's stored responses,
    ///    audit entries and notification steps, and redacts the person's names and addresses there (``Redaction``),
    ///    for a driver also the phone number and the license plate of the card. ``ErasureTable`` stores the progress.
    /// 3. When the orders and routes that were open at the time of the request have ended (``resumeErasures()``):
    ///    clears rows as in step 1 and repeats step 2. Until then, an open order keeps its addresses and
    ///    coordinates, because the driver needs them.
    /// 4. After each search: runs a checkpoint, which removes the old content from the write-ahead log.
    ///
    /// The audit log keeps the person's actions under the person's id. For admins and ops there is no search: notifications
    /// do not contain their names.
    func erase(_ named: Identity, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let account = named.role == .driver ? try accounts.account(ofDriver: named.id) : nil
        let person = account.map { Identity(role: .driver, id: $0.personID) } ?? named
        let key = person.key
        let devices = try outbox.devices.devices(of: key)
        for device in devices { try outbox.devices.remove(id: device.id) }
        try outbox.bookings.remove(of: key)
        var counts = ErasureCounts()
        counts.devices = devices.count
        counts.preferences = try outbox.preferences.remove(of: key)
        counts.pushes = try outbox.cancel(of: key, reason: "erased", now: now)
        for channel in [person.channel, FleetChannel.drivers.name] { try cursors.remove(of: key, channel: channel) }
        try sequences.eraseAll(channel: person.channel)
        let customer = try endAccount(of: person, now)
        let known = account?.identifyingTexts ?? customer?.0.identifyingTexts ?? []
        let texts = try texts(of: person) + known
        if let account {
            try outbox.availability.remove(account: account.id)
            try accounts.remove(id: account.id)
        }
        try erasures.add(person, account: account?.id, texts: texts, lastID: try notifications.lastID() ?? "", now: now)
        _ = try clearRows(of: person, account: account?.id, &counts)
        _ = try removeDeliveriesForEveryDriver(to: person, after: 0)
        _ = try removeDeliveries(to: person, after: 0)
        backgroundTasks.insert(.erasures)
        try audit(.erasure(of: person, command, now))
        var result = result(.erasure(counts), of: command)
        result.erased = person
        result.account = account.map { AccountChange(ended: $0) }
        result.codes.ended = customer?.1
        result.removed = devices.map { $0.removed("erased") }
        return result
    }

    /// The person's names in orders and routes, for a driver also the texts of the card that identify the person, and
    /// for a customer the addresses of the orders that have ended, unless an open order has the same address. Call it
    /// before they are cleared.
    private func texts(of person: Identity) throws(DatabaseError) -> [String] {
        switch person.role {
        case .driver:
            try orders.names(of: person) + routes.names(ofDriver: person.id)
                + (drivers.card(ofDriver: person.id)?.identifyingTexts ?? [])
        case .customer:
            try orders.names(of: person) + orders.addresses(ofCustomer: person.id).ended.sorted()
                + batches.orders.texts(ofCustomer: person.id)
        case .admin, .ops: []
        }
    }

    /// The most rows of each kind that one transaction clears.
    static let clearedMax = 250

    /// Deletes a person's stored responses and the deliveries on the person's channel, and clears the person's data in
    /// other rows that are found by id, ``clearedMax`` of each kind at most. Records in `counts` how many rows of each
    /// kind changed.
    /// - Returns: whether more may be left.
    func clearRows(
        of person: Identity, account: ObjectID?, _ counts: inout ErasureCounts
    ) throws(DatabaseError) -> Bool {
        let most = Self.clearedMax
        var largest = 0
        /// Notes the rows of a kind.
        func cleared(_ count: Int) -> Int {
            largest = max(largest, count)
            return count
        }
        counts.storedResponses = cleared(try idempotency.deleteOldest(of: person.key, most: most))
        switch person.role {
        case .driver:
            counts.orders =
                cleared(try orders.clearName(ofDriver: person.id, most: most))
                + cleared(try batches.clearName(ofDriver: person.id, most: most))
            counts.routes = cleared(try routes.clearName(ofDriver: person.id, most: most))
            if let account { _ = cleared(try batches.orders.clearReports(ofAccount: account, most: most)) }
            try drivers.remove(ofDriver: person.id)
            _ = cleared(try removePositions(ofDriver: person.id, most: most))
        case .customer:
            counts.orders =
                cleared(try orders.clearName(ofCustomer: person.id, most: most))
                + cleared(try batches.orders.clear(customer: person.id, most: most))
            _ = cleared(try orders.clearPlaces(ofCustomer: person.id, most: most))
        case .admin, .ops: break
        }
        counts.auditDetails = cleared(try auditTable.clearDetails(of: person.key, most: most))
        counts.stepDetails = cleared(try steps.clearDetails(of: person.key, most: most))
        return largest == most
    }

    /// Deletes the deliveries to a driver of the next notifications for all drivers.
    /// - Returns: whether more are left.
    func removeDeliveriesForEveryDriver(to person: Identity, after cursor: Int64) throws(DatabaseError) -> Bool {
        guard person.role == .driver, cursor < .max else { return false }
        let channel = FleetChannel.drivers.name
        let end = try notifications.sequence(of: channel, Self.clearedMax, after: cursor) ?? .max
        let most = Self.clearedMax
        let count = try deliveries.remove(channel: channel, of: person.key, after: cursor, upTo: end, most: most)
        if count == most { return true }
        try erasures.advanceBroadcasts(to: end, of: person)
        return end < .max
    }

    /// Deletes the deliveries of the next notifications of a person's own channel, up to those at the time of the request.
    /// - Returns: whether more are left.
    func removeDeliveries(to person: Identity, after cursor: Int64) throws(DatabaseError) -> Bool {
        let erasedTo = try sequences.end(of: person.channel).erasedTo
        guard cursor < erasedTo else { return false }
        let next = try notifications.sequence(of: person.channel, Self.clearedMax, after: cursor) ?? erasedTo
        let (end, most) = (min(next, erasedTo), Self.clearedMax)
        let count = try deliveries.remove(channel: person.channel, of: person.key, after: cursor, upTo: end, most: most)
        if count == most { return true }
        try erasures.advanceDeliveries(to: end, of: person)
        return end < erasedTo
    }

    // MARK: End of the search

    /// Removes an erasure whose search is done, or lets it wait until the person's orders and routes have ended.
    func finish(_ erasure: ErasureTable.Erasure) throws(DatabaseError) {
        if try hasOpen(erasure) { try erasures.markWaiting(erasure.person) } else { try erasures.remove(erasure.person) }
        backgroundTasks.insert(.checkpoint)
    }

    // MARK: Orders and routes that were open at the time of the request

    /// Whether an order, a route or a batch of the person that existed at the time of the request is still open.
    private func hasOpen(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        let person = erasure.person
        if try orders.hasOpen(of: person, createdUntil: erasure.requestedAt) { return true }
        return person.role == .driver
            ? try routes.hasOpen(ofDriver: person.id, createdUntil: erasure.requestedAt)
            : try batches.orders.hasOpen(ofCustomer: person.id, createdUntil: erasure.requestedAt)
    }

    /// The most waiting erasures that one transaction looks at.
    private static let resumedMax = 50

    /// Restarts the search of the next waiting erasures whose person has no order or route left that was open at the time of
    /// the request. A customer's erasure is restarted earlier if one of these orders has ended and still contains the
    /// customer's name, an address or coordinates.
    ///
    /// The restarted search covers the whole log, because each action on an open order may have written notifications
    /// with the person's name since the first search.
    func resumeErasures() throws(DatabaseError) {
        let waiting = try erasures.waiting(after: resumedErasure, most: Self.resumedMax)
        resumedErasure = waiting.count == Self.resumedMax ? waiting.last?.person.key ?? "" : ""
        for erasure in waiting {
            if try hasOpen(erasure), try !hasEndedOrderToClear(erasure) { continue }
            let person = erasure.person
            let texts = try texts(of: person)
            // The task clears the rows, before it searches.
            try erasures.restart(person, texts: texts, lastID: try notifications.lastID() ?? "")
            backgroundTasks.insert(.erasures)
        }
    }

    /// Whether an order of a customer that existed at the time of the request has ended and still contains the
    /// customer's name, an address or coordinates, or a batch that is over the customer's. False for drivers.
    private func hasEndedOrderToClear(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return false }
        let (id, moment) = (erasure.person.id, erasure.requestedAt)
        if try orders.hasEndedOrderToClear(ofCustomer: id, createdUntil: moment) { return true }
        return try batches.orders.hasEndedToClear(ofCustomer: id, createdUntil: moment)
    }
}

extension AuditEntry {
    /// Records which user requested the erasure of which person. The entry contains only the person's id, which does
    /// not identify the person without other data.
    fileprivate static func erasure(of person: Identity, _ command: Command, _ now: Int64) -> AuditEntry {
        var details = JSONWriter()
        details.object { $0.member("person", person.key) }
        return AuditEntry(
            at: now, actor: command.actor.key, action: "erase", subject: .fleet, correlationID: command.correlationID,
            details: details.bytes)
    }
}
