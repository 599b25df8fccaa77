import FleetRules
import PusherProtocol

/// Forgetting a person, as data protection law gives everybody the right to (GDPR, article 17).
extension Ledger {
    /// At once goes what is found by his name: phones, preferences, bookings, pushes not yet sent, stored answers; his name
    /// in orders and routes; notes and positions in the audit; what his phone said beside the bare steps. Then the log of
    /// notifications is searched for his name, a piece at a time (``eraseSome()``). What was done stays on record, by his id.
    func erase(_ person: Identity, _ command: Command, _ now: Int64) throws(SQLiteError) -> Settlement {
        let key = person.key
        let devices = try outbox.devices.devices(of: key)
        for device in devices { try outbox.devices.remove(id: device.id) }
        try outbox.bookings.remove(of: key)
        let isCustomer = person.role == .customer
        let counts: [(StaticString, Int)] = [
            ("devices", devices.count),
            ("preferences", try outbox.preferences.remove(of: key)),
            ("pushes", try outbox.cancel(of: key, reason: "erased", now: now)),
            ("answers", try repetitions.remove(of: key)),
            ("orders", try isCustomer ? orders.clearName(ofCustomer: person.id) : clearOrders(ofDriver: person)),
            ("routes", try person.role == .driver ? routes.clearName(ofDriver: person.id) : 0),
            ("reports", try audit.clearDetails(of: key)),
            ("telemetry", try steps.clearDetails(of: key)),
        ]
        if let last = try notifications.lastID(), person.role == .driver || isCustomer {
            try erasures.add(person, lastID: last, now: now)
            chores.insert(.erasures)
        }
        try note(.erasure(of: person, command, now))
        var settlement = Settlement.done(command.deed, body: Self.answer(counts, command.correlationID))
        settlement.removed = devices.map { $0.removed("erased") }
        return settlement
    }

    private func clearOrders(ofDriver person: Identity) throws(SQLiteError) -> Int {
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

    /// Notifications that one piece looks at.
    private static let passagesMax = 500

    /// Searches some of the log for one who is to be forgotten; false when there is nobody.
    func eraseSome() throws(SQLiteError) -> Bool {
        guard let erasure = try erasures.first() else { return false }
        let person = erasure.person
        let bookings = person.role == .customer ? try orders.references(ofCustomer: person.id) : []
        let redaction = Redaction(of: person, bookings: bookings)
        let passages = try notifications.passages(after: erasure.cursor, upTo: erasure.lastID, most: Self.passagesMax)
        for passage in passages {
            if let data = redaction.redacted(passage) { try notifications.replaceData(of: passage.id, by: data) }
        }
        if let last = passages.last, passages.count == Self.passagesMax {
            try erasures.advance(person, to: last.id)
        } else {
            try erasures.remove(person)
        }
        return true
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
