import Access
import FleetRules
import Primitives

/// The fleet's truth: looks up what a command needs, asks the rules, and writes all that follows.
///
/// It belongs to the writer's thread. What it keeps in memory, the sources of ids and of turns, only ever advances: a
/// transaction that is rolled back leaves a gap there and nothing else.
///
/// One chapter per kind of deed that no rules decide: `Ledger+Notifications`, `+Devices`, `+Erasing`; what is done a piece
/// at a time stands in `Ledger+Chores` and `Ledger+Forgetting`, and what reaches phones in ``PushOutbox``.
package final class CommandExecutor {
    package let database: Database
    let orders: OrderTable
    let routes: RouteTable
    let notifications: NotificationTable
    let sequences: ChannelSequenceTable
    let steps: NotificationStepTable
    let auditTable: AuditTable
    let idempotency: IdempotencyTable
    let erasures: ErasureTable
    let outbox: PushOutbox
    /// By what is decided; to be changed between transactions.
    var rules: NotificationRules
    /// What there may be to do between batches.
    var backgroundTasks = Set(BackgroundTask.allCases)
    /// How far devices have been sealed anew: which of the older keys, and the last device of those that it sealed.
    var resealed = (keyIndex: 0, after: "")
    /// Telemetry that was not kept, for there was too much of it about notifications that nobody knows.
    var orphansRefused = 0
    private var rulebook: DispatchPlanner
    private var auditIDs: ULIDSource

    package init(_ database: Database, _ settings: StoreWriter.Options) throws(DatabaseError) {
        self.database = database
        rules = settings.rules
        orders = OrderTable(database: database)
        routes = RouteTable(database: database)
        notifications = NotificationTable(database: database)
        sequences = ChannelSequenceTable(database: database)
        steps = NotificationStepTable(database: database)
        auditTable = AuditTable(database: database)
        idempotency = IdempotencyTable(database: database)
        erasures = ErasureTable(database: database)
        outbox = try PushOutbox(database, settings, notifications, sequences)
        // Ids go on increasing although the clock was set back while nobody was here: the log is read in their order.
        rulebook = DispatchPlanner(ids: settings.ids.continued(after: try notifications.lastID()))
        auditIDs = settings.ids.continued(after: try auditTable.lastID())
    }

    /// All that `body` does, or nothing of it.
    package func transaction<Result>(_ body: () throws(DatabaseError) -> Result) throws(DatabaseError) -> Result {
        do throws(DatabaseError) {
            return try database.transaction(.writing, body)
        } catch {
            _ = outbox.drainFinished()  // they have not come to pass
            throw error
        }
    }

    /// Every order that may still change, oldest first: what whoever keeps track of jobs starts from.
    package func openOrders(_ each: (Order) -> Void) throws(DatabaseError) { try orders.eachOpen(each) }

    /// Does what a command says, or finds out why not. A refusal writes nothing.
    ///
    /// In a ``transaction(_:)``, for it writes to many tables.
    package func perform(_ command: Command, now: Int64) throws(DatabaseError) -> CommandResult {
        guard let repetition = command.idempotencyKey else { return try settle(command, now) }
        let subject = command.actor.key
        if let answer = try idempotency.response(subject: subject, key: repetition.text, now: now) {
            guard answer.digest == repetition.digest else { return .rejected(command.action, Self.replayed(repetition.text)) }
            return .replayed(command.action, status: answer.status, body: answer.body)
        }
        let settlement = try settle(command, now)
        if settlement.error == nil {
            let answer = IdempotencyTable.StoredResponse(
                digest: repetition.digest, status: settlement.status, body: settlement.body)
            try idempotency.store(answer, subject: subject, key: repetition.text, now: now)
        }
        return settlement
    }

    private static func replayed(_ key: String) -> RuleError {
        RuleError(.conflict, "Idempotency-Key \(key) was used for another request")
    }

    private func settle(_ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let occasion = CommandContext(
            actor: command.actor, now: now, correlationID: command.correlationID,
            expectedVersion: command.expectedVersion, rules: rules)
        switch command.action {
        case .telemetry(let events): return try record(events, command, now)
        case .markRead(let ids): return try markRead(ids, command, now)
        case .device(let deed): return try settle(deed, command, now)
        case .updatePreferences(let changes): return try updatePreferences(changes, command, now)
        case .erase(let role, let id): return try erase(Identity(role: role, id: id), command, now)
        case .order(let deed):
            let order = try orders.order(code: deed.code)
            return try settle(command, occasion) { book throws(RuleError) in try book.plan(deed, on: order, occasion) }
        case .route(let deed):
            let route = try routes.route(id: deed.id)
            return try settle(command, occasion) { book throws(RuleError) in try book.plan(deed, on: route, occasion) }
        case .acceptJob(let id):
            let order = try orders.order(job: id, driverID: command.actor.id)
            return try settle(command, occasion) { book throws(RuleError) in try book.acceptJob(id, on: order, occasion) }
        case .acceptRoute(let id):
            let route = try routes.route(id: id)
            return try settle(command, occasion) { book throws(RuleError) in try book.acceptRoute(id, on: route, occasion) }
        case .progress(let id, let report):
            let order = try orders.order(job: id, driverID: command.actor.id)
            return try settle(command, occasion) { book throws(RuleError) in
                try book.progress(report, id, on: order, occasion)
            }
        case .announce(let announcement):
            return try settle(command, occasion) { book throws(RuleError) in try book.announce(announcement, occasion) }
        }
    }

    private func settle(
        _ command: Command, _ occasion: CommandContext, _ decide: (inout DispatchPlanner) throws(RuleError) -> DispatchPlan
    ) throws(DatabaseError) -> CommandResult {
        let decision: DispatchPlan
        do throws(RuleError) { decision = try decide(&rulebook) } catch { return .rejected(command.action, error) }
        var settlement = CommandResult.done(
            command.action, body: decision.response, notifications: decision.notifications, order: decision.order)
        settlement.lanes = try write(decision, command, occasion.now)
        return settlement
    }

    /// - Returns: the lanes that have more to do now.
    private func write(_ decision: DispatchPlan, _ command: Command, _ now: Int64) throws(DatabaseError) -> Set<PushLane> {
        if let order = decision.order { try orders.store(order, now: now) }
        if let route = decision.route { try routes.store(route, now: now) }
        for notification in decision.notifications {
            let sequence = try sequences.next(channel: notification.channel, now: now)
            try notifications.append(
                LoggedNotification(
                    notification: notification, sequence: sequence, correlationID: command.correlationID,
                    actor: command.actor.key, action: decision.audit?.action ?? command.action.name, readAt: nil))
        }
        if let entry = decision.audit { try note(entry) }
        if decision.pushes.contains(where: \.isForEveryDriver) { backgroundTasks.insert(.broadcasts) }
        return try outbox.enqueue(decision.pushes, of: decision.notifications, now: now)
    }

    func note(_ entry: AuditEntry) throws(DatabaseError) { try auditTable.append(entry, id: auditIDs.next(at: entry.at)) }
}

extension PushIntent {
    fileprivate var isForEveryDriver: Bool {
        if case .everyDriver = audience { true } else { false }
    }
}
