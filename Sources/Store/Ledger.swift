import FleetRules

/// The fleet's truth: looks up what a command needs, asks the rules, and writes all that follows.
///
/// It belongs to the writer's thread. What it keeps in memory, the sources of ids and of turns, only ever advances: a
/// transaction that is rolled back leaves a gap there and nothing else.
///
/// One chapter per kind of deed that no rules decide: `Ledger+Notifications`, `+Devices`, `+Erasing`; what is done a piece
/// at a time stands in `Ledger+Chores` and `Ledger+Forgetting`, and what reaches phones in ``PushOutbox``.
package final class Ledger {
    package let database: Database
    let orders: OrderTable
    let routes: RouteTable
    let notifications: NotificationTable
    let sequences: SequenceTable
    let steps: StepTable
    let audit: AuditTable
    let repetitions: RepetitionTable
    let erasures: ErasureTable
    let outbox: PushOutbox
    /// By what is decided; to be changed between transactions.
    var rules: NotificationRules
    /// What there may be to do between batches.
    var chores = Set(Chore.allCases)
    /// How far devices have been sealed anew: which of the older keys, and the last device of those that it sealed.
    var resealed = (keyIndex: 0, after: "")
    /// Telemetry that was not kept, for there was too much of it about notifications that nobody knows.
    var straysRefused = 0
    private var rulebook: Rulebook
    private var auditIDs: ULIDSource

    package init(_ database: Database, _ settings: StoreWriter.Settings) throws(SQLiteError) {
        self.database = database
        rules = settings.rules
        orders = try OrderTable(database)
        routes = try RouteTable(database)
        notifications = try NotificationTable(database)
        sequences = try SequenceTable(database)
        steps = try StepTable(database)
        audit = try AuditTable(database)
        repetitions = try RepetitionTable(database)
        erasures = try ErasureTable(database)
        outbox = try PushOutbox(database, settings, notifications, sequences)
        // Ids go on increasing although the clock was set back while nobody was here: the log is read in their order.
        rulebook = Rulebook(ids: settings.ids.continued(after: try notifications.lastID()))
        auditIDs = settings.ids.continued(after: try audit.lastID())
    }

    /// All that `body` does, or nothing of it.
    package func transaction<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        do throws(SQLiteError) {
            return try database.transaction("BEGIN IMMEDIATE", body)
        } catch {
            _ = outbox.takeEndings()  // they have not come to pass
            throw error
        }
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
        case .device(let deed): return try settle(deed, command, now)
        case .prefer(let changes): return try prefer(changes, command, now)
        case .erase(let role, let id): return try erase(Identity(role: role, id: id), command, now)
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
        var settlement = Settlement.done(
            command.deed, body: decision.answer, notifications: decision.notifications, order: decision.order)
        settlement.lanes = try write(decision, command, occasion.now)
        return settlement
    }

    /// - Returns: the lanes that have more to do now.
    private func write(_ decision: Decision, _ command: Command, _ now: Int64) throws(SQLiteError) -> Set<PushLane> {
        if let order = decision.order { try orders.store(order, now: now) }
        if let route = decision.route { try routes.store(route, now: now) }
        for notification in decision.notifications {
            let sequence = try sequences.next(channel: notification.channel, now: now)
            try notifications.append(
                LoggedNotification(
                    notification: notification, sequence: sequence, correlationID: command.correlationID,
                    actor: command.actor.key, action: decision.audit?.action ?? command.deed.name, readAt: nil))
        }
        if let entry = decision.audit { try note(entry) }
        if decision.pushes.contains(where: \.isForEveryDriver) { chores.insert(.audiences) }
        return try outbox.queue(decision.pushes, of: decision.notifications, now: now)
    }

    func note(_ entry: AuditEntry) throws(SQLiteError) { try audit.append(entry, id: auditIDs.next(at: entry.at)) }
}

extension PushIntent {
    fileprivate var isForEveryDriver: Bool {
        if case .everyDriver = audience { true } else { false }
    }
}
