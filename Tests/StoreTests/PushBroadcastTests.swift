import Access
import FleetRules
import Testing

@testable import Store

/// What is for every driver's phones.
@Suite struct PushBroadcastTests {
    private let room = TemporaryStore()

    private func fill(_ ledger: CommandExecutor, _ count: Int) throws {
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<count { _ = try ledger.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
            _ = try ledger.execute(register(fcm("c"), by: customer("1")), now: noon)
            _ = try ledger.execute(register(fcm("d"), by: Identity(role: .driver, id: "0")), now: noon)
        }
    }

    @Test func isExpandedAPieceAtATime() throws {
        let ledger = try room.pushing()
        try ledger.doChores()
        try fill(ledger, 1_200)
        let settlement = try ledger.settle(announceToAll)
        #expect(settlement.lanes == [], "there is nothing to do for them yet")
        for expected in [499, 998, 1201] {
            #expect(try ledger.doChore(now: noon) == [.fcm])
            #expect(try ledger.count("push_jobs") == expected)
        }
        #expect(try ledger.count("push_audiences") == 0 && ledger.doChore(now: noon) == [] && ledger.backgroundTasks == [])
        #expect(try ledger.jobs().allSatisfy { $0.hasPrefix("driver:") })
        // One turn for everybody, and another for a second phone.
        #expect(try ledger.database.dump("SELECT turn, COUNT(*) FROM push_jobs GROUP BY turn") == ["0|1200", "1|1"])
    }

    @Test func survivesAKillAnywhere() throws {
        do {
            let ledger = try room.pushing()
            try ledger.doChores()
            try fill(ledger, 1_200)
            _ = try ledger.settle(announceToAll)
        }
        for _ in 0..<3 {
            let ledger = try room.pushing()
            _ = try ledger.doChore(now: noon)
            // As far as it came in a transaction that never ended.
            #expect(throws: DatabaseError.self) {
                try ledger.transaction { () throws(DatabaseError) in
                    _ = try ledger.outbox.expandBroadcast(now: noon)
                    try ledger.database.run("SELECT nothing")
                }
            }
        }
        let ledger = try room.pushing()
        try ledger.doChores()
        #expect(try ledger.count("push_jobs") == 1_201)
        #expect(try ledger.database.dump("SELECT COUNT(DISTINCT device_id) FROM push_jobs") == ["1201"])
    }

    /// The page would end between his phones: the old token is behind its end, and the new one before it.
    @Test func aTokenReplacedMeanwhileIsNotMissed() throws {
        let ledger = try room.pushing()
        try ledger.doChores()
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<499 { _ = try ledger.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
        }
        let tokens = (0..<3).map { fcm("of the last \($0)") }.sorted { DeviceTable.id(of: $0) < DeviceTable.id(of: $1) }
        _ = try ledger.settle(register(tokens[1], by: driver("x"), deviceID: "one"))
        _ = try ledger.settle(register(tokens[2], by: driver("x"), deviceID: "other"))
        _ = try ledger.settle(announceToAll)
        _ = try ledger.doChore(now: noon)
        _ = try ledger.settle(register(tokens[0], by: driver("x"), deviceID: "other"))
        try ledger.doChores()
        let told = try ledger.database.dump("SELECT device_id FROM push_jobs WHERE recipient = 'driver:x' ORDER BY device_id")
        #expect(told == [DeviceTable.id(of: tokens[0]), DeviceTable.id(of: tokens[1])])
        #expect(try ledger.count("push_jobs") == 501)
    }

    @Test func leavesOutWhomTheActionHasReached() throws {
        let ledger = try room.ledger {
            $0.lanes = [.fcm]
            let rule = { NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: false, push: $0) }
            $0.rules = NotificationRules(
                rules: ["job-removed": rule(.personal), "job-available-again": rule(.broadcast), "job-assigned": rule(.never)])
        }
        try fill(ledger, 5)
        _ = try ledger.settle(assign("A", to: "3"))
        #expect(try ledger.settle(order(.removeDriver, "A")).lanes == [.fcm])
        try ledger.doChores()
        let jobs = try ledger.database.dump(
            """
            SELECT recipient, event FROM push_jobs JOIN notifications ON notifications.id = notification_id \
            ORDER BY recipient, event
            """)
        #expect(
            jobs == [
                "driver:0|job-available-again", "driver:0|job-available-again", "driver:1|job-available-again",
                "driver:2|job-available-again", "driver:3|job-removed", "driver:4|job-available-again",
            ])
    }

    @Test func whatHasExpiredMeanwhileIsDropped() throws {
        let ledger = try room.pushing()
        try fill(ledger, 2)
        _ = try ledger.settle(announceToAll)
        _ = try ledger.settle(announceToAll, at: noon + 1)
        try ledger.doChores(at: noon + 3_600_000)
        #expect(try ledger.count("push_audiences") == 0)
        #expect(try ledger.database.dump("SELECT COUNT(DISTINCT notification_id) FROM push_jobs") == ["1"])
    }
}
