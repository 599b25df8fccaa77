import FleetRules
import TestSupport
import Testing

@testable import Store

/// Many commands in any order, committed, rolled back and reonOpen: what the file then holds is what a naive model holds.
@Suite struct StorePropertyTests {
    @Test(arguments: 1...12) func theFileIsTheModel(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let room = TemporaryStore()
        var model = Model()
        var ledger = try room.ledger()
        var now = noon
        for _ in 0..<60 {
            now += Int64.random(in: 0...3, using: &dice)
            let batch = (0..<Int.random(in: 1...8, using: &dice)).map { _ in Self.command(&dice) }
            if Int.random(in: 0..<5, using: &dice) == 0 {
                #expect(throws: DatabaseError.self) {
                    try ledger.transaction { () throws(DatabaseError) in
                        for command in batch { _ = try ledger.execute(command, now: now) }
                        try ledger.database.run("SELECT nothing")
                    }
                }
            } else {
                let settlements = try ledger.transaction { () throws(DatabaseError) in
                    var settlements: [CommandReply] = []
                    for command in batch { settlements.append(try ledger.execute(command, now: now)) }
                    return settlements
                }
                for (command, settlement) in zip(batch, settlements) { try model.note(command, settlement) }
            }
            if Int.random(in: 0..<10, using: &dice) == 0 {
                ledger = try reopened(room, &ledger)
                try model.check(ledger)
            }
        }
        ledger = try reopened(room, &ledger)
        try model.check(ledger)
    }

    /// The one that holds the file has to go before the next can have it.
    private func reopened(_ room: TemporaryStore, _ ledger: inout CommandExecutor) throws -> CommandExecutor {
        ledger = try TemporaryStore().ledger()
        return try room.ledger()
    }

    private static func command(_ dice: inout SplitMix) -> Command {
        let code = "A\(Int.random(in: 0..<6, using: &dice))"
        let one = driver("\(Int.random(in: 0..<3, using: &dice))")
        let key = Int.random(in: 0..<3, using: &dice) == 0 ? "k\(Int.random(in: 0..<20, using: &dice))" : nil
        let digest = [UInt8.random(in: 0..<2, using: &dice)]
        switch Int.random(in: 0..<10, using: &dice) {
        case 0..<3: return assign(code, to: one.id, key: key, digest: digest)
        case 3: return StoreTests.command(.order(OrderAction(code: code, .unassign)), key: key, digest: digest)
        case 4: return StoreTests.command(.order(OrderAction(code: code, .removeDriver)), key: key, digest: digest)
        case 5: return StoreTests.command(.acceptJob(code), by: one, key: key, digest: digest)
        case 6:
            let step = JobStatus.reported.randomElement(using: &dice) ?? .enRoute
            return StoreTests.command(.progress(code, ProgressReport(step: step)), by: one, key: key, digest: digest)
        case 7: return telemetry("N\(Int.random(in: 0..<5, using: &dice))", by: one)
        case 8: return StoreTests.command(.markRead(nil), by: one, key: key, digest: digest)
        default: return StoreTests.command(.order(OrderAction(code: code, .cancel)), key: key, digest: digest)
        }
    }
}

/// What was promised, kept the simplest way.
private struct Model {
    private var orders: [String: Order] = [:]
    /// Ids by channel, in the order of the commits.
    private var channels: [String: [String]] = [:]
    private var answers: [String: [UInt8]] = [:]
    private var told: Set<String> = []
    private var deeds = 0

    mutating func note(_ command: Command, _ settlement: CommandReply) throws {
        let key = command.idempotencyKey.map { "\(command.actor.key) \($0.text) \($0.digest)" }
        let stored = key.flatMap { answers[$0] }
        #expect(settlement.isReplay == (stored != nil))
        if let stored { #expect(settlement.body == stored) }
        guard settlement.error == nil, !settlement.isReplay else {
            #expect(settlement.notifications.isEmpty && settlement.order == nil)
            return
        }
        if let key { answers[key] = settlement.body }
        if let order = settlement.order {
            #expect(order.assignment.version == (orders[order.code]?.assignment.version ?? 0) + 1)
            orders[order.code] = order
            deeds += 1
        }
        for notification in settlement.notifications { channels[notification.channel, default: []].append(notification.id) }
        if case .telemetry(let events) = command.action {
            for event in events { told.insert("\(event.notificationID) \(event.kind) \(command.actor.key)") }
        }
    }

    func check(_ ledger: CommandExecutor) throws {
        let table = OrderTable(database: ledger.database)
        for (code, order) in orders { #expect(try table.order(code: code) == order) }
        #expect(try ledger.count("orders") == orders.count)
        #expect(try ledger.count("notifications") == channels.values.map(\.count).reduce(0, +))
        for (channel, ids) in channels {
            // Dense, in order, and never given twice.
            let rows = "SELECT id, sequence FROM notifications WHERE channel = '\(channel)' ORDER BY sequence"
            #expect(try ledger.database.dump(rows) == ids.enumerated().map { "\($1)|\($0 + 1)" })
        }
        #expect(try ledger.count("audit") == deeds)
        #expect(try ledger.count("idempotency") == answers.count)
        #expect(try ledger.count("notification_steps") == told.count)
        #expect(try ledger.database.dump("PRAGMA integrity_check") == ["ok"])
    }
}
