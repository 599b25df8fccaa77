import Access
import FleetRules
import JSON

/// Erasure of a person's data (GDPR, article 17). ``erase(_:_:_:)`` is the entry point; it states the algorithm.
extension CommandExecutor {
    /// Erases a driver or customer:
    ///
    /// 1. In this transaction: deletes all rows found by the person's id (devices, preferences, bookings, unsent
    ///    pushes, stored responses), and clears their name in orders and routes, notes and positions in the audit log,
    ///    and details of notification steps.
    /// 2. In background slices (``eraseSome()``): searches the notification log and other people's stored responses,
    ///    and redacts the person's name and addresses (``Redaction``, ``NameRedaction``). ``ErasureTable`` stores the
    ///    progress.
    /// 3. When orders and routes that were open at the request have ended (``resumeErasures()``): repeats 1 and 2 for
    ///    them. Until then they keep the data that is needed to carry them out.
    /// 4. After each search: a checkpoint, which removes the old content from the write-ahead log.
    ///
    /// The actions remain in the audit log under the person's id. For admins and ops only step 1 and the checkpoint
    /// apply: notifications do not contain their names.
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

    /// Deletes stored responses, and clears a person's data in rows found by id. Sets the rows' numbers in `counts`.
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

    /// Notifications, and about as many stored responses, per slice.
    private static let sliceMax = 500

    /// Redacts a slice of the notification log and of the stored responses for the oldest erasure.
    /// - Returns: false if there is no erasure.
    func eraseSome() throws(DatabaseError) -> Bool {
        guard let erasure = try erasures.first() else { return false }
        let answersTo = try redactResponses(erasure)
        let cursor = try redactNotifications(erasure)
        if answersTo == nil, cursor == nil {
            try finish(erasure)
        } else {
            try erasures.advance(
                erasure.person, to: cursor ?? erasure.lastID, answersTo: answersTo ?? erasure.answersTo, names: erasure.names)
        }
        return true
    }

    /// - Returns: the last notification that was searched; nil if the search is complete.
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

    /// Redacts the person in responses to other people. The idempotency keys stay valid, so no request is executed
    /// twice.
    /// - Returns: the time of the last response that was searched; nil if the search is complete.
    private func redactResponses(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Int64? {
        let redaction = Redaction(of: erasure.person, named: [], bookings: [])
        let rows = try idempotency.rowsToRedact(after: erasure.answersTo, about: Self.sliceMax)
        for row in rows {
            if let body = redaction.redacted(response: row.body) { try idempotency.replaceBody(of: row, by: body) }
        }
        return rows.count >= Self.sliceMax ? rows.last?.storedAt : nil
    }

    private func finish(_ erasure: ErasureTable.Erasure) throws(DatabaseError) {
        if try hasOpen(erasure) { try erasures.markWaiting(erasure.person) } else { try erasures.remove(erasure.person) }
        backgroundTasks.insert(.checkpoint)
    }

    // MARK: Orders and routes open at the request

    private func hasOpen(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        let person = erasure.person
        if try orders.hasOpen(of: person, createdUntil: erasure.requestedAt) { return true }
        return person.role == .driver ? try routes.hasOpen(ofDriver: person.id, createdUntil: erasure.requestedAt) : false
    }

    /// Restarts the erasure of people whose orders and routes, open at the request, have ended. It includes data
    /// written since then: every action on an open order writes the person's name again.
    func resumeErasures() throws(DatabaseError) {
        for erasure in try erasures.waiting() {
            if try hasOpen(erasure), try !hasRemainder(erasure) { continue }
            let person = erasure.person
            let names = try names(of: person)
            var counts = ErasureCounts()  // the response went out when the erasure was requested
            try clearRows(of: person, &counts)
            try erasures.restart(person, names: names, lastID: try notifications.lastID() ?? "")
            backgroundTasks.insert(.erasures)
        }
    }

    private func hasRemainder(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return false }
        return try orders.hasRemainder(ofCustomer: erasure.person.id, createdUntil: erasure.requestedAt)
    }
}

extension AuditEntry {
    /// Records who requested the erasure of which person. The person's id alone does not identify them.
    fileprivate static func erasure(of person: Identity, _ command: Command, _ now: Int64) -> AuditEntry {
        var details = JSONWriter()
        details.object { $0.member("person", person.key) }
        return AuditEntry(
            at: now, actor: command.actor.key, action: "erase", subject: .fleet, correlationID: command.correlationID,
            details: details.bytes)
    }
}
