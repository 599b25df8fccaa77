import Testing

@testable import Fleet

/// Rows that this program cannot read, because they were changed by hand or by a newer program, affect nothing else.
@Suite struct UnreadableRowTests {
    /// Assignments in SQL that make the row of a device unreadable.
    private static let edits = ["provider = 'hms'", "environment = 'staging'"]

    private let store = TemporaryStore()

    /// Registers a device for each of two drivers, then makes the row of driver 1's device unreadable.
    /// - Parameters:
    ///   - edit: the assignment in SQL.
    ///   - prepare: called before the row is changed.
    private func executor(_ edit: String, before prepare: (CommandExecutor) throws -> Void = { _ in }) throws -> CommandExecutor {
        let executor = try store.pushing()
        for id in ["1", "2"] { _ = try executor.commit(register(fcm(id), by: driver(id))) }
        try prepare(executor)
        try executor.database.run("UPDATE devices SET \(edit) WHERE owner = 'driver:1'")
        return executor
    }

    @Test(arguments: edits) func failsOnlyTheJobOfTheUnreadableDevice(_ edit: String) throws {
        let executor = try executor(edit) { _ = try $0.commit(announce(to: "1", "2")) }
        #expect(try executor.claim().map(\.recipient) == ["driver:2"])
        #expect(try executor.jobs() == ["driver:1|failed|device_unreadable", "driver:2|sending|"])
        #expect(executor.outbox.drainUnreadableRows() == ["the provider of a device of driver:1"])
    }

    @Test(arguments: edits) func actionsSkipUnreadableDevices(_ edit: String) throws {
        let executor = try executor(edit)
        _ = try executor.commit(register(fcm("more"), by: driver("1"), deviceID: "phone"))
        #expect(try executor.commit(assign("A", to: "1")).status == 200)
        _ = try executor.commit(announceToAll)
        try executor.runBackgroundTasks()
        #expect(try executor.claim().map(\.device.token.text).sorted() == [fcm("2"), fcm("more"), fcm("more")].map(\.text))
        #expect(executor.outbox.drainUnreadableRows() == ["the provider of a device of driver:1"], "reported once")
        #expect(try executor.commit(unregister(fcm("1"), by: driver("1"))).status == 200)
        #expect(try executor.outbox.devices.devices(of: "driver:1").map(\.name) == ["phone"])
    }

    @Test(arguments: edits) func registrationRepairsTheRow(_ edit: String) throws {
        let executor = try executor(edit)
        _ = try executor.commit(register(fcm("1"), by: driver("1")))
        _ = try executor.commit(announce(to: "1"))
        #expect(try executor.claim().map(\.device.token) == [fcm("1")])
    }

    @Test(arguments: edits) func removesUnreadableStaleDevice(_ edit: String) throws {
        var jobs: [PushJob] = []
        let executor = try executor(edit) {
            _ = try $0.commit(announce(to: "1"))
            jobs = try $0.claim()
        }
        let removal = DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: noon + 1)
        try executor.report([PushOutcome(jobs[0], .failed(reason: "UNREGISTERED"), wasTried: true, removal: removal)])
        #expect(try executor.jobs() == ["driver:1|failed|UNREGISTERED"] && executor.count("devices") == 1)
        try executor.database.run("UPDATE devices SET \(edit)")
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(noon + 271 * day) { _ = try retention.runSlice(executor, noon + 271 * day) }
        #expect(try executor.count("devices") == 0)
    }

    @Test func endsJobsOfUnknownLanes() throws {
        let executor = try executor("platform = 'toaster'") { _ = try $0.commit(announce(to: "1", "2")) }
        let id = try executor.database.dump("SELECT DISTINCT notification_id FROM push_jobs")[0]
        _ = try executor.commit(announce(to: "2"))
        try executor.database.run("UPDATE push_jobs SET lane = 'hms' WHERE recipient = 'driver:1' OR number = 3")
        #expect(try executor.claim().map(\.recipient) == ["driver:2"])
        _ = try QueryExecutor(Database.open(readingFrom: store.address)).execute(
            .notificationHistory(notificationID: id), now: noon
        )
        .get()
        _ = try executor.commit(unregister(fcm("1"), by: driver("1")))
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(noon) { _ = try retention.runSlice(executor, noon) }
        #expect(
            try executor.jobs() == [
                "driver:1|cancelled|unregistered", "driver:2|failed|device_unreadable", "driver:2|sending|",
            ])
        #expect(executor.outbox.drainUnreadableRows() == ["the lane of a push of driver:2"])
    }
}
