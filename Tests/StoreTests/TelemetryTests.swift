import Testing

@testable import Store

@Suite struct TelemetryTests {
    private let store = TemporaryStore()

    @Test func storesTheFirstReportOfEachStepAndSubject() throws {
        let executor = try store.executor()
        let id = try executor.commit(assign("A", to: "42")).notifications[0].id
        let reply = try executor.commit(telemetry(id, by: driver("42")))
        #expect(reply.text == #"{"success":true}"#)
        for _ in 0..<2 { _ = try executor.commit(telemetry(id, by: driver("42")), at: noon + 5) }
        _ = try executor.commit(telemetry(id, .accepted, by: driver("42")), at: noon + 6)
        // Reports of another driver and reports about unknown notifications are stored too.
        _ = try executor.commit(telemetry(id, by: driver("43")), at: noon + 7)
        _ = try executor.commit(telemetry("unknown", by: driver("42")), at: noon + 8)
        let details = #"2026-11-21T11:59:59Z|{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}"#
        #expect(
            try executor.database.dump(
                "SELECT notification_id, step, subject, at, told_at, detail FROM notification_steps ORDER BY at"
            ).map { $0.replacing(id, with: "ID") } == [
                "ID|received|driver:42|\(noon)|\(details)", "ID|action_accept|driver:42|\(noon + 6)|\(details)",
                "ID|received|driver:43|\(noon + 7)|\(details)", "unknown|received|driver:42|\(noon + 8)|\(details)",
            ])
    }

    @Test func marksOnlyOwnNotificationsAndOnlyOnce() throws {
        let executor = try store.executor()
        let ids = try ["A", "B", "C"].map { try executor.commit(assign($0, to: "42")).notifications[0].id }
        let others = try executor.commit(assign("D", to: "43")).notifications.map(\.id)
        let read = { (ids: [String]?, now: Int64) in
            try executor.commit(command(.markRead(ids), by: driver("42")), at: now).text
        }
        #expect(
            try read([ids[0], "unknown", ids[0]] + others, noon + 1)
                == #"{"success":true,"data":{"read":1},"correlationId":"c-1"}"#)
        #expect(try read([ids[0]], noon + 2).contains(#""read":0"#))
        #expect(try read([], noon + 3).contains(#""read":0"#))
        #expect(try read(nil, noon + 4).contains(#""read":2"#))
        #expect(try read(nil, noon + 5).contains(#""read":0"#))
        #expect(
            try executor.database.dump("SELECT channel, read_at FROM notifications WHERE read_at IS NOT NULL ORDER BY id")
                == ["driver-42|\(noon + 1)", "driver-42|\(noon + 4)", "driver-42|\(noon + 4)"])
    }

    /// A device may report events of unknown notifications, but must not fill the disk with such reports.
    @Test func limitsReportsAboutUnknownNotifications() throws {
        let executor = try store.executor()
        let id = try executor.commit(assign("A", to: "42")).notifications[0].id
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<1_005 {
                #expect(try executor.execute(telemetry("N\(number)", by: driver("42")), now: noon).status == 200)
            }
        }
        #expect(try executor.count("notification_steps") == 1_000 && executor.strayStepsRefused == 5)
        _ = try executor.commit(telemetry(id, by: driver("42")))
        _ = try executor.commit(telemetry("N2000", by: driver("43")))
        #expect(try executor.count("notification_steps") == 1_002 && executor.strayStepsRefused == 5)
    }
}
