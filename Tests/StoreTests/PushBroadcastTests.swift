import Access
import Testing

@testable import Fleet

/// Notifications for all drivers, whose push jobs are created in slices.
@Suite struct PushBroadcastTests {
    private let store = TemporaryStore()

    /// Registers a device for each of `count` drivers, one for a customer, and a second one for driver 0.
    private func fill(_ executor: CommandExecutor, _ count: Int) throws {
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<count { _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
            _ = try executor.execute(register(fcm("c"), by: customer("1")), now: noon)
            _ = try executor.execute(register(fcm("d"), by: Identity(role: .driver, id: "0")), now: noon)
        }
    }

    @Test func broadcastIsExpandedInSlices() throws {
        let executor = try store.pushing()
        try executor.runBackgroundTasks()
        try fill(executor, 1_200)
        let reply = try executor.commit(announceToAll)
        #expect(reply.lanes == [], "no lane has jobs yet")
        for expected in [499, 998, 1201] {
            #expect(try executor.runBackgroundSlice(at: noon) == [.fcm])
            #expect(try executor.count("push_jobs") == expected)
        }
        #expect(
            try executor.outbox.broadcasts.first() == nil && executor.runBackgroundSlice(at: noon) == []
                && executor.backgroundTasks == [])
        #expect(try executor.jobs().allSatisfy { $0.hasPrefix("driver:") })
        // Each driver's first device has the same turn; a second device has the next one.
        #expect(try executor.database.dump("SELECT turn, COUNT(*) FROM push_jobs GROUP BY turn") == ["0|1200", "1|1"])
    }

    @Test func expansionContinuesAfterAKill() throws {
        do {
            let executor = try store.pushing()
            try executor.runBackgroundTasks()
            try fill(executor, 1_200)
            _ = try executor.commit(announceToAll)
        }
        for _ in 0..<3 {
            let executor = try store.pushing()
            _ = try executor.runBackgroundSlice(at: noon)
            // The next slice is rolled back.
            #expect(throws: DatabaseError.self) {
                try executor.transaction { () throws(DatabaseError) in
                    _ = try executor.outbox.expandBroadcast(now: noon)
                    try executor.database.run("SELECT nothing")
                }
            }
        }
        let executor = try store.pushing()
        try executor.runBackgroundTasks()
        #expect(try executor.count("push_jobs") == 1_201)
        #expect(try executor.database.dump("SELECT COUNT(DISTINCT device_id) FROM push_jobs") == ["1201"])
    }

    /// A slice reads one page of devices, sorted by owner and device id. Driver x has two devices at the end of the
    /// first page. If the page ended between them, the second device would be left to the next page. But then its token
    /// is replaced, and the id of the new token sorts before the end of the first page, so neither page would contain
    /// the device.
    @Test func tokenReplacedDuringExpansionIsNotMissed() throws {
        let executor = try store.pushing()
        try executor.runBackgroundTasks()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<499 { _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
        }
        let tokens = (0..<3).map { fcm("of the last \($0)") }.sorted { DeviceTable.id(of: $0) < DeviceTable.id(of: $1) }
        _ = try executor.commit(register(tokens[1], by: driver("x"), deviceID: "one"))
        _ = try executor.commit(register(tokens[2], by: driver("x"), deviceID: "other"))
        _ = try executor.commit(announceToAll)
        _ = try executor.runBackgroundSlice(at: noon)
        _ = try executor.commit(register(tokens[0], by: driver("x"), deviceID: "other"))
        try executor.runBackgroundTasks()
        let devices = try executor.database.dump(
            "SELECT device_id FROM push_jobs WHERE recipient = 'driver:x' ORDER BY device_id")
        #expect(devices == [DeviceTable.id(of: tokens[0]), DeviceTable.id(of: tokens[1])])
        #expect(try executor.count("push_jobs") == 501)
    }

    /// An announcement that names very many drivers writes their notifications in one transaction, and their pushes in slices:
    /// each device gets one, whenever the process is killed.
    @Test func pushesToManyNamedDriversAreCreatedInSlices() throws {
        let count = 700
        var ids: [String] = []
        do {
            let executor = try store.pushing()
            try executor.runBackgroundTasks()
            try fill(executor, count)
            _ = try executor.commit(announce(to: "0"))
            let named = (0..<count).map(String.init) + ["without-device"]
            let announcement = Announcement(type: "HELLO", audience: .drivers(named), data: Array("{}".utf8))
            let reply = try executor.commit(command(Announce(announcement), key: "k"))
            ids = reply.notifications.map(\.id)
            #expect(ids.count == count + 1 && reply.lanes == [] && executor.backgroundTasks == [.broadcasts])
            #expect(try executor.count("push_jobs") == 2, "those of the announcement to one")
            _ = try executor.commit(announce(to: "1"))
            #expect(try executor.commit(command(Announce(announcement), key: "k")).isReplay)
        }
        // 250 people a slice.
        for expected in [3 + 251, 3 + 501, 3 + 701] {
            let executor = try store.pushing()
            #expect(throws: DatabaseError.self) {
                try executor.transaction { () throws(DatabaseError) in
                    _ = try executor.outbox.expandBroadcast(now: noon)
                    try executor.database.run("SELECT nothing")
                }
            }
            #expect(try executor.runBackgroundSlice(at: noon) == [.fcm])
            #expect(try executor.count("push_jobs") == expected)
        }
        let executor = try store.pushing()
        try executor.runBackgroundTasks()
        #expect(try executor.outbox.broadcasts.first() == nil && executor.count("push_audiences") == 0)
        let jobs = try executor.database.dump("SELECT notification_id FROM push_jobs ORDER BY notification_id")
        #expect(jobs.count == 3 + 701 && Set(jobs).isSuperset(of: ids.prefix(count)))
        let twice = try executor.database.dump(
            "SELECT 1 FROM push_jobs GROUP BY notification_id, device_id HAVING COUNT(*) > 1")
        #expect(twice.isEmpty)
    }

    /// What has expired meanwhile is not pushed.
    @Test func expiredPushesToManyAreNotCreated() throws {
        let executor = try store.pushing()
        try executor.runBackgroundTasks()
        try fill(executor, 30)
        let announcement = Announcement(
            type: "HELLO", audience: .drivers((0..<30).map(String.init)), data: Array("{}".utf8))
        _ = try executor.commit(command(Announce(announcement)))
        try executor.runBackgroundTasks(at: noon + 3_600_000)
        #expect(try executor.count("push_jobs") == 0 && executor.count("push_audiences") == 0)
    }

    @Test func skipsTheDriverWhoGetsAnotherNotification() throws {
        let executor = try store.executor {
            $0.lanes = [.fcm]
            let rule = { NotificationRules.Rule(lifetimeSeconds: 60, collapsesByJob: false, push: $0) }
            $0.rules = NotificationRules(
                rules: ["job-removed": rule(.personal), "job-available-again": rule(.broadcast), "job-assigned": rule([])])
        }
        try fill(executor, 5)
        _ = try executor.commit(assign("A", to: "3"))
        #expect(try executor.commit(order(.removeDriver, "A")).lanes == [.fcm])
        try executor.runBackgroundTasks()
        let jobs = try executor.database.dump(
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

    @Test func expiredBroadcastIsDropped() throws {
        let executor = try store.pushing()
        try fill(executor, 2)
        _ = try executor.commit(announceToAll)
        _ = try executor.commit(announceToAll, at: noon + 1)
        try executor.runBackgroundTasks(at: noon + 3_600_000)
        #expect(try executor.count("push_audiences") == 1 && executor.outbox.broadcasts.first() == nil)
        #expect(try executor.database.dump("SELECT COUNT(DISTINCT notification_id) FROM push_jobs") == ["1"])
    }
}
