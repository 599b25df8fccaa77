import Crypto
import Testing

@testable import Fleet

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
            try executor.commit(command(MarkRead(ids), by: driver("42")), at: now).text
        }
        #expect(
            try read([ids[0], "unknown", ids[0]] + others, noon + 1)
                == #"{"success":true,"data":{"read":1},"correlationId":"c-1"}"#)
        #expect(try read([ids[0]], noon + 2).contains(#""read":0"#))
        #expect(try read([], noon + 3).contains(#""read":0"#))
        #expect(try read(nil, noon + 4).contains(#""read":2"#))
        #expect(try read(nil, noon + 5).contains(#""read":0"#))
        try executor.runBackgroundTasks()
        #expect(
            try executor.database.dump("SELECT channel, read_at FROM notifications WHERE read_at IS NOT NULL ORDER BY id")
                == ["driver-42|\(noon + 1)", "driver-42|\(noon + 4)", "driver-42|\(noon + 4)"])
    }

    /// Marking all as read takes the same time for each mailbox.
    @Test(.fileOnly) func markingAllAsReadDoesNotWalkTheMailbox() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        try executor.database.run(
            """
            WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < 20000) \
            INSERT INTO notifications (number, id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
            expires_at, collapse_key) SELECT 100 + n, 'N' || n, 'driver-42', n, 'e', '{}', 'c', 'a', 'a', \(noon), \(noon), 'N' FROM numbers
            """)
        try executor.database.run(
            "UPDATE channel_sequences SET last = 20000, unread = 20000, unmarked = 20000 WHERE channel = 'driver-42'")
        let readAll = command(MarkRead(nil), by: driver("42"))
        try executor.runBackgroundTasks()
        for (unread, limit) in [(20_000, 2_000), (1, 2_000)] {
            let work = try executor.instructions {
                let reply = try executor.commit(readAll)
                #expect(reply.text.contains(#""read":\#(unread)}"#))
            }
            #expect(work < limit, "\(work) instructions of SQLite's virtual machine")
            #expect(try executor.sequences.unread(channel: "driver-42") == 0)
            _ = try executor.commit(assign("B\(unread)", to: "42"))
        }
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
        #expect(try executor.count("notification_steps") == 1_000 && executor.counter.drain().droppedSteps == 5)
        _ = try executor.commit(telemetry(id, by: driver("42")))
        _ = try executor.commit(telemetry("N2000", by: driver("43")))
        #expect(try executor.count("notification_steps") == 1_002 && executor.counter.drain().droppedSteps == 0)
    }

    // MARK: Ids that phones know

    /// A driver with an FCM and an APNs device, to whose `New job` notification of order A both pushes were accepted.
    private func pushed(_ executor: CommandExecutor, code: String = "A") throws -> String {
        _ = try executor.commit(register(fcm("f"), by: driver("42")))
        _ = try executor.commit(register(apns("abcdef0123456789"), by: driver("42")))
        let id = try executor.commit(assign(code, to: "42")).notifications[0].id
        for (lane, message) in [(PushLane.fcm, "0:1%a"), (.apns, "a1b2c3d4-0000-1111-2222-333344445555")] {
            let jobs = try executor.claim(9, lane)
            try executor.report(jobs.map { PushOutcome($0, .accepted(messageID: message), wasTried: true) }, lane)
        }
        return id
    }

    private func steps(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT notification_id, step, subject, stray FROM notification_steps ORDER BY 1, 2, 3")
    }

    @Test(arguments: ["0:1%a", "a1b2c3d4-0000-1111-2222-333344445555", "A1B2C3D4-0000-1111-2222-333344445555", "order:A"])
    func findsTheNotificationByEachIDThatAPhoneKnows(_ reported: String) throws {
        let executor = try collapsing()
        let id = try pushed(executor)
        for _ in 0..<2 { _ = try executor.commit(telemetry(reported, by: driver("42"))) }
        _ = try executor.commit(telemetry(id, by: driver("42")))
        #expect(try steps(executor) == ["\(id)|received|driver:42|0"])
        let detail = try executor.database.dump("SELECT detail FROM notification_steps")
        #expect(detail[0].hasSuffix(#""metadata":{"title":"New job"},"reportedAs":"\#(reported)"}"#))
        #expect(executor.counter.drain().repeatedSteps == 2)
    }

    @Test func aCollapseIDMeansTheNewestNotificationThatWasPushedToThisPerson() throws {
        let executor = try collapsing()
        let long = String(repeating: "x", count: 60)
        for (code, reported) in [("A", "order:A"), (long, StableID.collapseID(of: "order:\(long)"))] {
            _ = try pushed(executor, code: code)
            let newest = try executor.commit(order(.cancel, code)).notifications[0].id
            _ = try executor.claim()  // being sent: the phone may report before the provider has responded
            let unsent = "unsent-\(code.utf8.count)"
            let other = try executor.commit(assign(unsent, to: "42")).notifications[0].id
            _ = try executor.commit(telemetry(reported, by: driver("42")))
            #expect(try steps(executor).contains("\(newest)|received|driver:42|0"))
            _ = try executor.commit(telemetry(reported, by: driver("43")))
            #expect(try steps(executor).contains("\(reported)|received|driver:43|1"), "nothing was pushed to driver 43")
            _ = try executor.commit(telemetry("order:\(unsent)", by: driver("42")))
            #expect(try !steps(executor).contains("\(other)|received|driver:42|0"), "queued, so no phone can show it")
        }
        #expect(StableID.collapseID(of: "order:\(long)").hasPrefix("sha256:"))
    }

    @Test func historyShowsStepsUnderAnUnknownID() throws {
        let executor = try store.executor()
        _ = try executor.commit(telemetry("0:9%z", by: driver("42")))
        let history = try store.response(to: .notificationHistory(notificationID: "0:9%z")).get()
        #expect(history.hasPrefix(#"{"notification":null,"steps":[{"step":"received","#))
        #expect(throws: RuleError.self) { try store.response(to: .notificationHistory(notificationID: "0:9%y")).get() }
    }

    /// An executor whose rules let the notifications of an order collapse.
    private func collapsing() throws -> CommandExecutor {
        try store.executor {
            let rule = NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: true)
            $0.rules = NotificationRules(rules: ["job-assigned": rule, "job-cancelled": rule])
            $0.lanes = [.fcm, .apns]
        }
    }

    // MARK: Counts

    private func counts(_ executor: CommandExecutor) -> [String] {
        executor.counter.drain().arrivals.map { "\($0.event) \($0.state) \($1)" }.sorted()
    }

    @Test func countsEachStateOncePerRecipient() throws {
        let executor = try store.pushing()
        for owner in ["42", "43"] { _ = try executor.commit(register(fcm(owner), by: driver(owner))) }
        _ = try executor.commit(register(fcm("second"), by: driver("42")))
        let own = try executor.commit(announce(to: "42")).notifications[0].id
        let all = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        #expect(counts(executor) == ["hello created 2"])
        let jobs = try executor.claim()
        try executor.report([PushOutcome(jobs[0], .retry(at: noon, reason: "r"), wasTried: true)])
        #expect(counts(executor) == [])
        try executor.report(jobs.dropFirst().map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
        try executor.report(executor.claim().map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
        #expect(counts(executor) == ["hello pushed 3"], "one for driver 42, and one each for the announcement to all")
        for person in ["42", "43", "44"] {
            for id in [own, all] {
                for kind in [TelemetryEvent.Kind.received, .viewed, .accepted, .dismissed, .received] {
                    _ = try executor.commit(telemetry(id, kind, by: driver(person)))
                }
            }
        }
        _ = try executor.commit(telemetry("unknown", by: driver("42")))
        _ = try executor.commit(telemetry(all, by: customer("7")))
        #expect(
            counts(executor) == [
                "hello accepted 4", "hello acknowledged 4", "hello dismissed 4", "hello received 4", "hello viewed 4",
            ])
        for _ in 0..<2 { _ = try executor.commit(command(MarkRead(nil), by: driver("42"))) }
        _ = try executor.commit(command(MarkRead([own, all]), by: driver("42")))
        try executor.runBackgroundTasks()
        #expect(counts(executor) == ["hello read 1"])
    }

    @Test func countsStoredAndRepeatedSteps() throws {
        let executor = try store.executor()
        for id in ["a", "a", "b"] { _ = try executor.commit(telemetry(id, by: driver("42"))) }
        _ = try executor.commit(telemetry("a", .accepted, by: driver("42")))
        let counts = executor.counter.drain()
        #expect(counts.steps.map { "\($0.kind) \($0.type) \($1)" }.sorted() == ["accepted new_job 1", "received new_job 2"])
        #expect(counts.repeatedSteps == 1)
    }

    /// A view that is reported after the accept says nothing about how long the driver has thought.
    @Test func offersKnowWhetherTheirDriverHasAccepted() throws {
        let executor = try store.executor { $0.rules = NotificationRules(.builtIn, mode: .mirror, eventBytesMax: 10_240) }
        func report(_ id: String) throws -> [Bool] {
            _ = executor.counter.drain()
            _ = try executor.commit(telemetry(id, .viewed, by: driver("42")))
            return executor.counter.drain().occurrences.offers.compactMap {
                if case .reported(let offer, _) = $0 { offer.isAccepted } else { nil }
            }
        }
        let seen = try executor.commit(assign("A", to: "42")).notifications[0].id
        #expect(try report(seen) == [false])
        let accepted = try executor.commit(assign("B", to: "42")).notifications[0].id
        _ = try executor.commit(command(AcceptJob("B"), by: driver("42")))
        #expect(try report(accepted) == [true])
        let lost = try executor.commit(assign("C", to: "42")).notifications[0].id
        _ = try executor.commit(assign("C", to: "43"))
        _ = try executor.commit(command(AcceptJob("C"), by: driver("43")))
        #expect(try report(lost) == [false], "another driver has accepted it")
    }

    @Test func aTransactionThatIsRolledBackCountsNothing() throws {
        let executor = try store.executor()
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(assign("A", to: "42"), now: noon)
                try executor.database.run("SELECT nothing")
            }
        }
        #expect(executor.counter.drain().isEmpty)
    }

    /// The number of stored reports is remembered instead of counted for each event. What changes it otherwise must not
    /// be missed: a repeated event, a rollback, retention.
    @Test func remembersTheNumberOfReportsAboutUnknownNotifications() throws {
        let executor = try store.executor()
        func report(_ ids: Range<Int>) throws -> Int {
            for number in ids { _ = try executor.execute(telemetry("N\(number)", by: driver("42")), now: noon) }
            return try executor.steps.strayCount(of: "driver:42")
        }
        #expect(try report(0..<600) == 600)
        #expect(try report(0..<600) == 600, "repeated")
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                for number in 600..<1_000 {
                    _ = try executor.execute(telemetry("N\(number)", by: driver("42")), now: noon)
                }
                throw .unreadable("a row", doing: "failing")
            }
        }
        #expect(try report(2_000..<2_401) == 1_000 && executor.counter.counts.droppedSteps == 1)
        var removed: [RemovedDevice] = []
        let deleted = try executor.deleteExpired(.steps, now: noon + 31 * day, lifetime: 30 * day, limit: 500, &removed)
        #expect(deleted == 500)
        #expect(try report(3_000..<3_100) == 600 && executor.counter.counts.droppedSteps == 1)
    }
}
