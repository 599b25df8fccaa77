import Access
import FleetRules
import JSON

/// Erasure of a person's data (GDPR, article 17). The entry point is ``erase(_:_:_:)``, where the steps are described.
extension CommandExecutor {
    /// Erases a driver or customer:
    ///
    /// 1. In this transaction: deletes the person's devices, preferences and stored responses, and the list of the
    ///    person's bookings, and cancels unsent pushes. Clears the person's name in orders and routes, the person's
    ///    notes and positions in the audit log, and the details of the notification steps that the person's devices
    ///    reported. All of these rows are found by the person's id.
    /// 2. In background slices (``eraseSome()``): searches the notification log and other people's stored responses,
    ///    and redacts the person's name and addresses there (``Redaction``, ``NameRedaction``). ``ErasureTable`` stores
    ///    the progress.
    /// 3. When the orders and routes that were open at the time of the request have ended (``resumeErasures()``):
    ///    clears rows as in step 1 and repeats step 2. Until then, an open order keeps its addresses, because the
    ///    driver needs them.
    /// 4. After each search: runs a checkpoint, which removes the old content from the write-ahead log.
    ///
    /// The audit log keeps the person's actions under the person's id. For admins and ops only step 1 and the
    /// checkpoint apply: notifications do not contain their names.
    func erase(_ person: Identity, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let key = person.key
        let devices = try outbox.devices.devices(of: key)
        for device in devices { try outbox.devices.remove(id: device.id) }
        try outbox.bookings.remove(of: key)
        var counts = ErasureCounts()
        counts.devices = devices.count
        counts.preferences = try outbox.preferences.remove(of: key)
        counts.pushes = try outbox.cancel(of: key, reason: "erased", now: now)
        let names = try names(of: person)
        try clearRows(of: person, &counts)
        if person.role == .driver || person.role == .customer {
            try erasures.add(person, names: names, lastID: try notifications.lastID() ?? "", now: now)
            backgroundTasks.insert(.erasures)
        } else {
            backgroundTasks.insert(.checkpoint)
        }
        try audit(.erasure(of: person, command, now))
        var result = result(.erasure(counts), of: command)
        result.removed = devices.map { $0.removed("erased") }
        return result
    }

    private func names(of person: Identity) throws(DatabaseError) -> [String] {
        switch person.role {
        case .driver: try orders.names(of: person) + routes.names(ofDriver: person.id)
        case .customer: try orders.names(of: person)
        case .admin, .ops: []
        }
    }

    /// Deletes a person's stored responses, and clears the person's data in other rows that are found by id. Records in
    /// `counts` how many rows of each kind changed.
    private func clearRows(of person: Identity, _ counts: inout ErasureCounts) throws(DatabaseError) {
        counts.storedResponses = try idempotency.remove(of: person.key)
        switch person.role {
        case .driver:
            counts.orders = try orders.clearName(ofDriver: person.id)
            counts.routes = try routes.clearName(ofDriver: person.id)
        case .customer: counts.orders = try orders.clearName(ofCustomer: person.id)
        case .admin, .ops: break
        }
        counts.auditDetails = try auditTable.clearDetails(of: person.key)
        counts.stepDetails = try steps.clearDetails(of: person.key)
    }

    // MARK: Search

    /// The most notifications that a slice searches. A slice also searches about as many stored responses.
    private static let sliceMax = 500

    /// Searches a slice of the notification log and of the stored responses for the oldest erasure whose search is not
    /// done, and redacts the person's data there.
    /// - Returns: false if no erasure has anything left to search.
    func eraseSome() throws(DatabaseError) -> Bool {
        guard let erasure = try erasures.first() else { return false }
        let responseCursor = try redactResponses(erasure)
        let cursor = try redactNotifications(erasure)
        if responseCursor == nil, cursor == nil {
            try finish(erasure)
        } else {
            try erasures.advance(
                erasure.person, to: cursor ?? erasure.lastID, responseCursor: responseCursor ?? erasure.responseCursor,
                names: erasure.names)
        }
        return true
    }

    /// Redacts the person's data in the next slice of the notification log.
    /// - Returns: the id of the last notification that was searched; nil if the search is complete.
    private func redactNotifications(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> String? {
        let person = erasure.person
        let bookings = person.role == .customer ? try orders.references(ofCustomer: person.id) : []
        let redaction = Redaction(of: person, named: erasure.names, bookings: bookings)
        let rows = try notifications.rowsToRedact(after: erasure.cursor, upTo: erasure.lastID, most: Self.sliceMax)
        for row in rows {
            if let data = redaction.redacted(row) { try notifications.replaceData(of: row.id, by: data) }
        }
        return rows.count == Self.sliceMax ? rows.last?.id : nil
    }

    /// Redacts the person's data in the next slice of the stored responses to other people. The responses stay stored
    /// under their idempotency keys, so that a repeated request is still not executed twice.
    /// - Returns: when the last response that was searched was stored; nil if the search is complete.
    private func redactResponses(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Int64? {
        let redaction = Redaction(of: erasure.person, named: [], bookings: [])
        let rows = try idempotency.rowsToRedact(after: erasure.responseCursor, about: Self.sliceMax)
        for row in rows {
            if let body = redaction.redacted(response: row.body) { try idempotency.replaceBody(of: row, by: body) }
        }
        return rows.count >= Self.sliceMax ? rows.last?.storedAt : nil
    }

    private func finish(_ erasure: ErasureTable.Erasure) throws(DatabaseError) {
        if try hasOpen(erasure) { try erasures.markWaiting(erasure.person) } else { try erasures.remove(erasure.person) }
        backgroundTasks.insert(.checkpoint)
    }

    // MARK: Orders and routes that were open at the time of the request

    /// Whether an order or route of the person that existed at the time of the request is still open.
    private func hasOpen(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        let person = erasure.person
        if try orders.hasOpen(of: person, createdUntil: erasure.requestedAt) { return true }
        return person.role == .driver ? try routes.hasOpen(ofDriver: person.id, createdUntil: erasure.requestedAt) : false
    }

    /// Restarts the search of each waiting erasure whose person has no order or route left that was open at the time of
    /// the request. A customer's erasure is restarted earlier if one of these orders has ended and still contains the
    /// customer's name or an address.
    ///
    /// The restarted search covers the whole log, because each action on an open order may have written notifications
    /// with the person's name since the first search.
    func resumeErasures() throws(DatabaseError) {
        for erasure in try erasures.waiting() {
            if try hasOpen(erasure), try !hasEndedOrderToClear(erasure) { continue }
            let person = erasure.person
            let names = try names(of: person)
            var counts = ErasureCounts()  // not used: the response was sent when the erasure was requested
            try clearRows(of: person, &counts)
            try erasures.restart(person, names: names, lastID: try notifications.lastID() ?? "")
            backgroundTasks.insert(.erasures)
        }
    }

    /// Whether an order of a customer that existed at the time of the request has ended and still contains the
    /// customer's name or an address. False for drivers.
    private func hasEndedOrderToClear(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return false }
        return try orders.hasEndedOrderToClear(ofCustomer: erasure.person.id, createdUntil: erasure.requestedAt)
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
