import TestSupport
import Testing

@testable import Fleet

/// After random commands, rollbacks and restarts, the content of the file equals that of a simple model.
@Suite struct StorePropertyTests {
    @Test(arguments: 1...12) func fileEqualsModel(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let store = TemporaryStore()
        var model = Model()
        var executor = try store.executor()
        var now = noon
        for _ in 0..<60 {
            now += Int64.random(in: 0...3, using: &dice)
            let batch = (0..<Int.random(in: 1...8, using: &dice)).map { _ in Self.command(&dice) }
            if Int.random(in: 0..<5, using: &dice) == 0 {
                #expect(throws: DatabaseError.self) {
                    try executor.transaction { () throws(DatabaseError) in
                        for command in batch { _ = try executor.execute(command, now: now) }
                        try executor.database.run("SELECT nothing")
                    }
                }
            } else {
                let replies = try executor.transaction { () throws(DatabaseError) in
                    var replies: [CommandReply] = []
                    for command in batch { replies.append(try executor.execute(command, now: now)) }
                    return replies
                }
                for (command, reply) in zip(batch, replies) { try model.record(command, reply) }
            }
            if Int.random(in: 0..<10, using: &dice) == 0 {
                executor = try reopened(store, &executor)
                try model.check(executor)
            }
        }
        executor = try reopened(store, &executor)
        try model.check(executor)
    }

    /// Closes the store and opens it again. Another executor first replaces the old one in `executor`, because the old
    /// one must release the file.
    private func reopened(_ store: TemporaryStore, _ executor: inout CommandExecutor) throws -> CommandExecutor {
        executor = try TemporaryStore().executor()
        return try store.executor()
    }

    private static func command(_ dice: inout SplitMix) -> IssuedCommand {
        let code = "A\(Int.random(in: 0..<6, using: &dice))"
        let one = driver("\(Int.random(in: 0..<3, using: &dice))")
        let key = Int.random(in: 0..<3, using: &dice) == 0 ? "k\(Int.random(in: 0..<20, using: &dice))" : nil
        let digest = [UInt8.random(in: 0..<2, using: &dice)]
        switch Int.random(in: 0..<10, using: &dice) {
        case 0..<3: return assign(code, to: one.id, key: key, digest: digest)
        case 3: return StoreTests.command(OrderAction(code: code, .unassign), key: key, digest: digest)
        case 4: return StoreTests.command(OrderAction(code: code, .removeDriver), key: key, digest: digest)
        case 5: return StoreTests.command(AcceptJob(code), by: one, key: key, digest: digest)
        case 6:
            let step = JobStatus.reportable.randomElement(using: &dice) ?? .enRoute
            return StoreTests.command(ReportProgress(code, ProgressReport(step: step)), by: one, key: key, digest: digest)
        case 7: return telemetry("N\(Int.random(in: 0..<5, using: &dice))", by: one)
        case 8: return StoreTests.command(MarkRead(nil), by: one, key: key, digest: digest)
        default: return StoreTests.command(OrderAction(code: code, .cancel), key: key, digest: digest)
        }
    }
}

/// The expected content of the store.
private struct Model {
    private var orders: [String: Order] = [:]
    /// Ids of notifications by channel, in commit order.
    private var channels: [String: [String]] = [:]
    /// Stored responses by actor, idempotency key and digest.
    private var responses: [String: [UInt8]] = [:]
    /// The notification, step and reporter of each telemetry event.
    private var steps: Set<String> = []
    /// The number of commands that changed an order.
    private var changes = 0

    mutating func record(_ command: IssuedCommand, _ reply: CommandReply) throws {
        let key = command.idempotencyKey.map { "\(command.actor.key) \($0.text) \($0.digest)" }
        let stored = key.flatMap { responses[$0] }
        #expect(reply.isReplay == (stored != nil))
        if let stored { #expect(reply.body == stored) }
        guard reply.error == nil, !reply.isReplay else {
            #expect(reply.notifications.isEmpty && reply.order == nil)
            return
        }
        let stepCount = steps.count
        if let events = (command.command as? RecordTelemetry)?.events {
            for event in events { steps.insert("\(event.notificationID) \(event.kind) \(command.actor.key)") }
        }
        let isRead = command.command.isEqual(to: MarkRead(nil)) && !reply.text.contains(#""read":0"#)
        // The response to a command that changed nothing is not stored.
        if let key, reply.order != nil || steps.count > stepCount || isRead {
            responses[key] = Array(reply.text.replacing("accepted successfully", with: "already accepted").utf8)
        }
        if let order = reply.order {
            #expect(order.assignment.version == (orders[order.code]?.assignment.version ?? 0) + 1)
            orders[order.code] = order
            changes += 1
        }
        for notification in reply.notifications { channels[notification.channel, default: []].append(notification.id) }
    }

    func check(_ executor: CommandExecutor) throws {
        let table = OrderTable(database: executor.database)
        for (code, order) in orders { #expect(try table.order(code: code) == order) }
        #expect(try executor.count("orders") == orders.count)
        #expect(try executor.count("notifications") == channels.values.map(\.count).reduce(0, +))
        for (channel, ids) in channels {
            // The sequence numbers of a channel are 1, 2, 3, … in commit order.
            let rows = "SELECT id, sequence FROM notifications WHERE channel = '\(channel)' ORDER BY sequence"
            #expect(try executor.database.dump(rows) == ids.enumerated().map { "\($1)|\($0 + 1)" })
        }
        #expect(try executor.count("audit") == changes)
        #expect(try executor.count("idempotency") == responses.count)
        #expect(try executor.count("notification_steps") == steps.count)
        #expect(try executor.database.integrityCheck() == ["ok"])
    }
}
