import FleetRules
import PusherProtocol

/// The fleet's truth: looks up what a command needs, asks the rules, and writes all that follows.
///
/// It belongs to the writer's thread. What it keeps in memory, the sources of ids, only ever advances: a transaction
/// that is rolled back leaves a gap there and nothing else.
package final class Ledger {
    package let database: Database
    private let orders: OrderTable
    private let routes: RouteTable
    private let notifications: NotificationTable
    private let sequences: SequenceTable
    private let steps: StepTable
    private let audit: AuditTable
    private let repetitions: RepetitionTable
    private let rules: NotificationRules
    private var rulebook: Rulebook
    private var auditIDs: ULIDSource

    /// - Parameter ids: where the notifications' ids come from.
    package init(_ database: Database, ids: ULIDSource, rules: NotificationRules) throws(SQLiteError) {
        self.database = database
        self.rules = rules
        orders = try OrderTable(database)
        routes = try RouteTable(database)
        notifications = try NotificationTable(database)
        sequences = try SequenceTable(database)
        steps = try StepTable(database)
        audit = try AuditTable(database)
        repetitions = try RepetitionTable(database)
        // Ids go on increasing although the clock was set back while nobody was here: the log is read in their order.
        rulebook = Rulebook(ids: ids.continued(after: try notifications.lastID()))
        auditIDs = ids.continued(after: try audit.lastID())
    }

    /// All that `body` does, or nothing of it.
    package func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try database.transaction("BEGIN IMMEDIATE", body)
    }

    /// Every order that may still change, oldest first: what whoever keeps track of jobs starts from.
    package func openOrders(_ each: (Order) -> Void) throws(SQLiteError) { try orders.eachOpen(each) }

    /// Does what a command says, or finds out why not. A refusal writes nothing.
    ///
    /// In a ``transaction(_:)``, for it writes to many tables.
    package func perform(_ command: Command, now: Int64) throws(SQLiteError) -> Settlement {
        guard let repetition = command.repetition else { return try settle(command, now) }
        let subject = command.actor.key
        if let answer = try repetitions.answer(subject: subject, key: repetition.key, now: now) {
            guard answer.digest == repetition.digest else { return .refused(command.deed, Self.reused(repetition.key)) }
            return .repeated(command.deed, status: answer.status, body: answer.body)
        }
        let settlement = try settle(command, now)
        if settlement.refusal == nil {
            let answer = RepetitionTable.Answer(
                digest: repetition.digest, status: settlement.status, body: settlement.body)
            try repetitions.store(answer, subject: subject, key: repetition.key, now: now)
        }
        return settlement
    }

    private static func reused(_ key: String) -> Refusal {
        Refusal(.conflict, "Idempotency-Key \(key) was used for another request")
    }

    private func settle(_ command: Command, _ now: Int64) throws(SQLiteError) -> Settlement {
        let occasion = Occasion(
            actor: command.actor, now: now, correlationID: command.correlationID,
            expectedVersion: command.expectedVersion, rules: rules)
        switch command.deed {
        case .telemetry(let events): return try record(events, command, now)
        case .markRead(let ids): return try markRead(ids, command, now)
        case .order(let deed):
            let order = try orders.order(code: deed.code)
            return try settle(command, occasion) { book throws(Refusal) in try book.decide(deed, on: order, occasion) }
        case .route(let deed):
            let route = try routes.route(id: deed.id)
            return try settle(command, occasion) { book throws(Refusal) in try book.decide(deed, on: route, occasion) }
        case .acceptJob(let id):
            let order = try orders.order(job: id, driverID: command.actor.id)
            return try settle(command, occasion) { book throws(Refusal) in try book.acceptJob(id, on: order, occasion) }
        case .acceptRoute(let id):
            let route = try routes.route(id: id)
            return try settle(command, occasion) { book throws(Refusal) in try book.acceptRoute(id, on: route, occasion) }
        case .progress(let id, let report):
            let order = try orders.order(job: id, driverID: command.actor.id)
            return try settle(command, occasion) { book throws(Refusal) in
                try book.progress(report, id, on: order, occasion)
            }
        case .announce(let announcement):
            return try settle(command, occasion) { book throws(Refusal) in try book.announce(announcement, occasion) }
        }
    }

    private func settle(
        _ command: Command, _ occasion: Occasion, _ decide: (inout Rulebook) throws(Refusal) -> Decision
    ) throws(SQLiteError) -> Settlement {
        let decision: Decision
        do throws(Refusal) { decision = try decide(&rulebook) } catch { return .refused(command.deed, error) }
        try write(decision, command, occasion.now)
        return .done(
            command.deed, body: decision.answer, notifications: decision.notifications, order: decision.order)
    }

    private func write(_ decision: Decision, _ command: Command, _ now: Int64) throws(SQLiteError) {
        if let order = decision.order { try orders.store(order, now: now) }
        if let route = decision.route { try routes.store(route, now: now) }
        for notification in decision.notifications {
            let sequence = try sequences.next(channel: notification.channel, now: now)
            try notifications.append(
                LoggedNotification(
                    notification: notification, sequence: sequence, correlationID: command.correlationID,
                    actor: command.actor.key, action: decision.audit?.action ?? command.deed.name, readAt: nil))
        }
        if let entry = decision.audit { try audit.append(entry, id: auditIDs.next(at: now)) }
    }

    // MARK: What drivers say of their notifications

    private func record(_ events: [TelemetryEvent], _ command: Command, _ now: Int64) throws(SQLiteError) -> Settlement {
        for event in events {
            var detail = JSONWriter()
            detail.raw(#"{"type":"#)
            detail.string(event.type)
            detail.raw(#","entityId":"#)
            detail.string(event.entityID)
            if let metadata = event.metadata {
                detail.raw(#","metadata":"#)
                detail.raw(metadata)
            }
            detail.raw("}")
            // Whose notification it is decides what the step proves, not whether it is kept.
            _ = try steps.record(
                NotificationStep(
                    notificationID: event.notificationID, step: event.kind.rawValue, subject: command.actor.key, at: now,
                    toldAt: event.timestamp, detail: detail.bytes))
        }
        return .done(command.deed, body: Array(#"{"success":true}"#.utf8))
    }

    private func markRead(_ ids: [String]?, _ command: Command, _ now: Int64) throws(SQLiteError) -> Settlement {
        let count = try notifications.markRead(ids, channel: command.actor.channel, now: now)
        var answer = JSONWriter()
        answer.raw(#"{"success":true,"data":{"read":"#)
        answer.integer(count)
        answer.raw(#"},"correlationId":"#)
        answer.string(command.correlationID)
        answer.raw("}")
        return .done(command.deed, body: answer.bytes)
    }

    // MARK: Forgetting

    /// The kinds of rows that go when they are old, each by its own age.
    enum Forgettable: CaseIterable { case answers, notifications, steps, audit, orders, routes, channels }

    /// Forgets at most `most` rows of a kind (of notifications, with their steps); answers how many.
    /// - Parameter lifetime: how long everything but answers is kept, in milliseconds.
    func forget(_ kind: Forgettable, now: Int64, lifetime: Int64, most: Int) throws(SQLiteError) -> Int {
        let cutoff = now - lifetime
        switch kind {
        case .answers: return try repetitions.forget(now: now, most: most)
        case .notifications: return try notifications.forget(before: cutoff, most: most)
        case .steps: return try steps.forget(before: cutoff, most: most)
        case .audit: return try audit.forget(before: cutoff, most: most)
        case .orders: return try orders.forget(before: cutoff, most: most)
        case .routes: return try routes.forget(before: cutoff, most: most)
        // Long after the last row that bore one of its numbers.
        case .channels: return try sequences.forget(before: now - max(lifetime * 2, Self.year), most: most)
        }
    }

    private static let year: Int64 = 366 * 86_400_000
}

extension Identity {
    /// The channel that is his alone: `driver-42`.
    var channel: String { "\(role.rawValue)-\(id)" }
}
