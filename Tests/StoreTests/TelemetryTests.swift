import Testing

@testable import Store

@Suite struct TelemetryTests {
    private let room = TemporaryStore()

    @Test func keepsTheFirstWordOfEachOnEachStep() throws {
        let ledger = try room.ledger()
        let id = try ledger.settle(assign("A", to: "42")).notifications[0].id
        let answer = try ledger.settle(telemetry(id, by: driver("42")))
        #expect(answer.text == #"{"success":true}"#)
        for _ in 0..<2 { _ = try ledger.settle(telemetry(id, by: driver("42")), at: noon + 5) }
        _ = try ledger.settle(telemetry(id, .accepted, by: driver("42")), at: noon + 6)
        // Another driver's word, and a word about nothing known, are kept as what they are.
        _ = try ledger.settle(telemetry(id, by: driver("43")), at: noon + 7)
        _ = try ledger.settle(telemetry("unknown", by: driver("42")), at: noon + 8)
        let told = #"2026-11-21T11:59:59Z|{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}"#
        #expect(
            try ledger.database.dump(
                "SELECT notification_id, step, subject, at, told_at, detail FROM notification_steps ORDER BY at"
            ).map { $0.replacing(id, with: "ID") } == [
                "ID|received|driver:42|\(noon)|\(told)", "ID|action_accept|driver:42|\(noon + 6)|\(told)",
                "ID|received|driver:43|\(noon + 7)|\(told)", "unknown|received|driver:42|\(noon + 8)|\(told)",
            ])
    }

    @Test func marksReadOnlyHisOwnAndOnlyOnce() throws {
        let ledger = try room.ledger()
        let ids = try ["A", "B", "C"].map { try ledger.settle(assign($0, to: "42")).notifications[0].id }
        let others = try ledger.settle(assign("D", to: "43")).notifications.map(\.id)
        let read = { (ids: [String]?, now: Int64) in
            try ledger.settle(command(.markRead(ids), by: driver("42")), at: now).text
        }
        #expect(
            try read([ids[0], "unknown", ids[0]] + others, noon + 1)
                == #"{"success":true,"data":{"read":1},"correlationId":"c-1"}"#)
        #expect(try read([ids[0]], noon + 2).contains(#""read":0"#))
        #expect(try read([], noon + 3).contains(#""read":0"#))
        #expect(try read(nil, noon + 4).contains(#""read":2"#))
        #expect(try read(nil, noon + 5).contains(#""read":0"#))
        #expect(
            try ledger.database.dump("SELECT channel, read_at FROM notifications WHERE read_at IS NOT NULL ORDER BY id")
                == ["driver-42|\(noon + 1)", "driver-42|\(noon + 4)", "driver-42|\(noon + 4)"])
    }

    /// A phone may speak of what nobody knows, but not fill the disk with it.
    @Test func keepsOnlySoMuchAboutWhatIsNotInTheLog() throws {
        let ledger = try room.ledger()
        let id = try ledger.settle(assign("A", to: "42")).notifications[0].id
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<1_005 {
                #expect(try ledger.execute(telemetry("N\(number)", by: driver("42")), now: noon).status == 200)
            }
        }
        #expect(try ledger.count("notification_steps") == 1_000 && ledger.orphansRefused == 5)
        _ = try ledger.settle(telemetry(id, by: driver("42")))
        _ = try ledger.settle(telemetry("N2000", by: driver("43")))
        #expect(try ledger.count("notification_steps") == 1_002 && ledger.orphansRefused == 5)
    }
}
