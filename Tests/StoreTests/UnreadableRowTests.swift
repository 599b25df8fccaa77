import FleetRules
import Testing

@testable import Store

/// The file was changed by hand or by a newer program: unreadable rows affect nothing else.
@Suite struct UnreadableRowTests {
    private static let marks = ["provider = 'hms'", "environment = 'staging'"]

    private let room = TemporaryStore()

    /// Two drivers with a device each; the row of driver 1's is unreadable.
    private func ledger(_ mark: String, before prepare: (CommandExecutor) throws -> Void = { _ in }) throws -> CommandExecutor {
        let ledger = try room.pushing()
        for id in ["1", "2"] { _ = try ledger.settle(register(fcm(id), by: driver(id))) }
        try prepare(ledger)
        try ledger.database.run("UPDATE devices SET \(mark) WHERE owner = 'driver:1'")
        return ledger
    }

    @Test(arguments: marks) func failsOnlyTheJobOfTheUnreadableDevice(_ mark: String) throws {
        let ledger = try ledger(mark) { _ = try $0.settle(announce(to: "1", "2")) }
        #expect(try ledger.claim().map(\.recipient) == ["driver:2"])
        #expect(try ledger.jobs() == ["driver:1|failed|device_unreadable", "driver:2|sending|"])
        #expect(ledger.outbox.drainUnreadableRows() == ["the provider of a device of driver:1"])
    }

    @Test(arguments: marks) func actionsSkipUnreadableDevices(_ mark: String) throws {
        let ledger = try ledger(mark)
        _ = try ledger.settle(register(fcm("more"), by: driver("1"), deviceID: "phone"))
        #expect(try ledger.settle(assign("A", to: "1")).status == 200)
        _ = try ledger.settle(announceToAll)
        try ledger.doChores()
        #expect(try ledger.claim().map(\.device.token.text).sorted() == [fcm("2"), fcm("more"), fcm("more")].map(\.text))
        #expect(ledger.outbox.drainUnreadableRows() == ["the provider of a device of driver:1"], "reported once")
        #expect(try ledger.settle(unregister(fcm("1"), by: driver("1"))).status == 200)
        #expect(try ledger.outbox.devices.devices(of: "driver:1").map(\.name) == ["phone"])
    }

    @Test(arguments: marks) func registrationRepairsTheRow(_ mark: String) throws {
        let ledger = try ledger(mark)
        _ = try ledger.settle(register(fcm("1"), by: driver("1")))
        _ = try ledger.settle(announce(to: "1"))
        #expect(try ledger.claim().map(\.device.token) == [fcm("1")])
    }

    @Test(arguments: marks) func removesUnreadableStaleDevice(_ mark: String) throws {
        var jobs: [PushJob] = []
        let ledger = try ledger(mark) {
            _ = try $0.settle(announce(to: "1"))
            jobs = try $0.claim()
        }
        let removal = DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: noon + 1)
        try ledger.report([PushOutcome(jobs[0], .failed(reason: "UNREGISTERED"), wasTried: true, removal: removal)])
        #expect(try ledger.jobs() == ["driver:1|failed|UNREGISTERED"] && ledger.count("devices") == 1)
        try ledger.database.run("UPDATE devices SET \(mark)")
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(noon + 271 * day) { _ = try retention.runSlice(ledger, noon + 271 * day) }
        #expect(try ledger.count("devices") == 0)
    }

    @Test func endsJobsOfUnknownLanes() throws {
        let ledger = try ledger("platform = 'toaster'") { _ = try $0.settle(announce(to: "1", "2")) }
        let id = try ledger.database.dump("SELECT DISTINCT notification_id FROM push_jobs")[0]
        _ = try ledger.settle(announce(to: "2"))
        try ledger.database.run("UPDATE push_jobs SET lane = 'hms' WHERE recipient = 'driver:1' OR number = 3")
        #expect(try ledger.claim().map(\.recipient) == ["driver:2"])
        _ = try QueryExecutor(Database.open(readingFrom: room.path)).execute(.notificationHistory(notificationID: id)).get()
        _ = try ledger.settle(unregister(fcm("1"), by: driver("1")))
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(noon) { _ = try retention.runSlice(ledger, noon) }
        #expect(
            try ledger.jobs() == [
                "driver:1|cancelled|unregistered", "driver:2|sending|", "driver:2|failed|device_unreadable",
            ])
        #expect(ledger.outbox.drainUnreadableRows() == ["the lane of a push of driver:2"])
    }
}
