import Access
import FleetRules
import JSON

/// Forgetting a person, as data protection law gives everybody the right to (GDPR, article 17).
extension CommandExecutor {
    /// At once goes what is found by his id: phones, preferences, bookings, pushes not yet sent, stored answers; his name
    /// in orders and routes; notes and positions in the audit; what his phone said beside the bare steps. Then the log of
    /// notifications and others' stored answers are searched for him, a piece at a time (``eraseSome()``). What of his is
    /// open then keeps what it needs, and is searched for once more when it is over (``resumeErasures()``). What was done
    /// stays on record, by his id.
    func erase(_ person: Identity, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let key = person.key
        let devices = try outbox.devices.devices(of: key)
        for device in devices { try outbox.devices.remove(id: device.id) }
        try outbox.bookings.remove(of: key)
        let preferences = try outbox.preferences.remove(of: key)
        let pushes = try outbox.cancel(of: key, reason: "erased", now: now)
        let names = try names(of: person)
        let counts =
            [("devices", devices.count), ("preferences", preferences), ("pushes", pushes)] + (try deleteRows(of: person))
        if person.role == .driver || person.role == .customer {
            try erasures.add(person, names: names, lastID: try notifications.lastID() ?? "", now: now)
            backgroundTasks.insert(.erasures)
        } else {
            backgroundTasks.insert(.checkpoint)
        }
        try note(.erasure(of: person, command, now))
        var settlement = CommandResult.done(command.action, body: Self.answer(counts, command.correlationID))
        settlement.removed = devices.map { $0.removed("erased") }
        return settlement
    }

    private func names(of person: Identity) throws(DatabaseError) -> [String] {
        switch person.role {
        case .driver: try orders.names(of: person) + routes.names(ofDriver: person.id)
        case .customer: try orders.names(of: person)
        case .admin, .ops: []
        }
    }

    /// Forgets what rows say of him that are found by his id; answers how many of each kind.
    private func deleteRows(of person: Identity) throws(DatabaseError) -> [(StaticString, Int)] {
        let (role, id) = (person.role, person.id)
        let orders = role == .customer ? try orders.clearName(ofCustomer: id) : try clearOrders(ofDriver: person)
        return [
            ("answers", try idempotency.remove(of: person.key)), ("orders", orders),
            ("routes", role == .driver ? try routes.clearName(ofDriver: id) : 0),
            ("reports", try auditTable.clearDetails(of: person.key)), ("telemetry", try steps.clearDetails(of: person.key)),
        ]
    }

    private func clearOrders(ofDriver person: Identity) throws(DatabaseError) -> Int {
        person.role == .driver ? try orders.clearName(ofDriver: person.id) : 0
    }

    private static func answer(_ counts: [(StaticString, Int)], _ correlationID: String) -> [UInt8] {
        var answer = JSONWriter(capacity: 256)
        answer.raw(#"{"success":true,"message":"Person erased","data":{"#)
        answer.list(counts) { json, count in
            json.raw("\"")
            json.raw(count.0)
            json.raw("\":")
            json.integer(count.1)
        }
        answer.raw(#"},"correlationId":"#)
        answer.string(correlationID)
        answer.raw("}")
        return answer.bytes
    }

    // MARK: Searching

    /// Notifications that one piece looks at, and stored answers, about.
    private static let passagesMax = 500

    /// Searches some of the log and of the answers for one who is to be forgotten; false when there is nobody.
    func eraseSome() throws(DatabaseError) -> Bool {
        guard let erasure = try erasures.first() else { return false }
        let answersTo = try clearAnswers(erasure)
        let cursor = try clearNotifications(erasure)
        if answersTo == nil, cursor == nil {
            try finish(erasure)
        } else {
            try erasures.advance(
                erasure.person, to: cursor ?? erasure.lastID, answersTo: answersTo ?? erasure.answersTo, names: erasure.names)
        }
        return true
    }

    /// How far it came; nil when nothing is left.
    private func clearNotifications(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> String? {
        let person = erasure.person
        let bookings = person.role == .customer ? try orders.references(ofCustomer: person.id) : []
        let redaction = Redaction(of: person, named: erasure.names, bookings: bookings)
        let passages = try notifications.rowsToRedact(after: erasure.cursor, upTo: erasure.lastID, most: Self.passagesMax)
        for passage in passages {
            if let data = redaction.redacted(passage) { try notifications.replaceData(of: passage.id, by: data) }
        }
        return passages.count == Self.passagesMax ? passages.last?.id : nil
    }

    /// What others are answered once more does not tell of him: the key still holds, and the request is not done twice.
    private func clearAnswers(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Int64? {
        let redaction = Redaction(of: erasure.person, named: [], bookings: [])
        let answers = try idempotency.rowsToRedact(after: erasure.answersTo, about: Self.passagesMax)
        for answer in answers {
            if let body = redaction.redacted(answer: answer.body) { try idempotency.replaceBody(of: answer, by: body) }
        }
        return answers.count >= Self.passagesMax ? answers.last?.storedAt : nil
    }

    private func finish(_ erasure: ErasureTable.Erasure) throws(DatabaseError) {
        if try hasOpen(erasure) { try erasures.markWaiting(erasure.person) } else { try erasures.remove(erasure.person) }
        backgroundTasks.insert(.checkpoint)
    }

    // MARK: What was open

    private func hasOpen(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        let person = erasure.person
        if try orders.hasOpen(of: person, since: erasure.requestedAt) { return true }
        return person.role == .driver ? try routes.hasOpen(ofDriver: person.id, since: erasure.requestedAt) : false
    }

    /// Begins the search anew for those of whom something has ended that was open when they were to be forgotten. It takes what
    /// has come of them since then, too: while something is open, their names come with everything that is done for it.
    func resumeErasures() throws(DatabaseError) {
        for erasure in try erasures.waiting() {
            if try hasOpen(erasure), try !hasRemainder(erasure) { continue }
            let person = erasure.person
            let names = try names(of: person)
            _ = try deleteRows(of: person)
            try erasures.restart(person, names: names, lastID: try notifications.lastID() ?? "")
            backgroundTasks.insert(.erasures)
        }
    }

    private func hasRemainder(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return false }
        return try orders.hasRest(ofCustomer: erasure.person.id, since: erasure.requestedAt)
    }
}

extension AuditEntry {
    /// Who asked for it, and about whom: his id, which tells nobody who he was.
    fileprivate static func erasure(of person: Identity, _ command: Command, _ now: Int64) -> AuditEntry {
        var details = JSONWriter()
        details.raw(#"{"person":"#)
        details.string(person.key)
        details.raw("}")
        return AuditEntry(
            at: now, actor: command.actor.key, action: "erase", subject: .fleet, correlationID: command.correlationID,
            details: details.bytes)
    }
}
