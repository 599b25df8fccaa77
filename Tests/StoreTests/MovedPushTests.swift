import Access
import Testing

@testable import Fleet

/// Pushes that have left the queue are known as before.
@Suite struct MovedPushTests {
    private let store = TemporaryStore()

    private func executor() throws -> CommandExecutor {
        let executor = try store.executor {
            $0.rules = collapsingRules
            $0.lanes = [.fcm, .apns]
        }
        _ = try executor.commit(register(fcm("42"), by: driver("42")))
        return executor
    }

    private func end(_ job: PushJob, _ result: PushOutcome.Result, _ executor: CommandExecutor, at now: Int64 = noon + 9) throws {
        try executor.report([PushOutcome(job, result, wasTried: true)], at: now)
    }

    private func summaries(_ id: String, _ executor: CommandExecutor) throws -> [String] {
        try executor.outbox.jobs.summaries(ofNotification: id, most: 9).map { "\($0)" }
    }

    @Test(arguments: [
        PushOutcome.Result.accepted(messageID: "0:1500415314455276%31bd1c9631bd1c96"), .accepted(messageID: nil),
        .failed(reason: "BadTopic"), .expired, .cancelled(reason: "muted"),
    ]) func theHistoryIsTheSame(result: PushOutcome.Result) throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let job = try executor.claim()[0]
        try end(job, result, executor)
        let id = job.notification.id
        let before = try (summaries(id, executor), executor.outbox.jobs.firstAccepted(of: id, for: "driver:42")?.at)
        #expect(try executor.move() == 1 && executor.count("push_jobs") == 0 && executor.move() == 0)
        #expect(try summaries(id, executor) == before.0 && before.0.count == 1)
        let acceptance = try executor.outbox.jobs.firstAccepted(of: id, for: "driver:42")
        #expect(acceptance?.at == before.1 && acceptance.map { $0.lane == .fcm } ?? true)
        #expect(try executor.outbox.jobs.firstAccepted(of: id, for: "driver:43") == nil)
        _ = try executor.commit(unregister(fcm("42"), by: driver("42")))
        #expect(try executor.outbox.jobs.summaries(ofNotification: id, most: 9).map(\.device) == [job.device.id])
    }

    private func names(_ executor: CommandExecutor) throws -> String {
        try executor.database.dump("SELECT COUNT(*) FROM push_names")[0]
    }

    /// Phones report under the message's id and the collapse id.
    @Test func theIdsThatPhonesKnowAreFound() throws {
        let executor = try executor()
        var ids: [String] = []
        for (number, code) in ["A", "A", "B"].enumerated() {
            _ = try executor.commit(number == 1 ? order(.cancel, code) : assign(code, to: "42"), at: noon + Int64(number))
            let job = try executor.claim(at: noon + Int64(number))[0]
            try end(job, .accepted(messageID: "m-\(number)"), executor)
            ids.append(job.notification.id)
        }
        let jobs = executor.outbox.jobs
        for _ in 0..<2 {
            #expect(try (0..<3).map { try jobs.notificationID(ofMessage: "m-\($0)") } == ids)
            #expect(try jobs.notificationID(ofMessage: "m-3") == nil)
            #expect(try jobs.newestNotificationID(withCollapseID: "order:A", pushedTo: "driver:42") == ids[1])
            #expect(try jobs.newestNotificationID(withCollapseID: "order:B", pushedTo: "driver:42") == ids[2])
            #expect(try jobs.newestNotificationID(withCollapseID: "order:B", pushedTo: "driver:43") == nil)
            try executor.move()
        }
        #expect(try executor.count("push_jobs") == 0)
    }

    /// A failed push is on no phone, but an older one about the same order is out of date.
    @Test(arguments: [true, false]) func aNewerPushSupersedes(isAccepted: Bool) throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"), at: noon + 1)
        // The devices' queue has one push of an order at a time.
        try executor.database.run("UPDATE push_jobs SET state = 'waiting', due_at = \(noon + 99) WHERE number = \(old.number)")
        let new = try executor.claim(at: noon + 1)[0]
        try end(new, isAccepted ? .accepted(messageID: "m") : .failed(reason: "BadTopic"), executor)
        #expect(try executor.move() == 1)
        let newest = try executor.outbox.jobs.newestNotificationID(withCollapseID: "order:A", pushedTo: "driver:42")
        #expect(newest == (isAccepted ? new.notification.id : nil))
        #expect(try executor.claim(at: noon + 100) == [])
        let ended = isAccepted ? "driver:42|accepted|" : "driver:42|failed|BadTopic"
        #expect(try executor.jobs() == [ended, "driver:42|cancelled|superseded"])
    }

    @Test func aDeviceGetsABroadcastOnce() throws {
        let executor = try executor()
        _ = try executor.commit(announceToAll)
        try executor.runBackgroundTasks()
        let job = try executor.claim()[0]
        try end(job, .accepted(messageID: nil), executor)
        try executor.move()
        // Its owner is handled again, as after another registration.
        try executor.outbox.broadcasts.advance(job.notification.id, to: "driver:")
        try executor.database.run("UPDATE push_audiences SET expanding = 1")
        executor.backgroundTasks.insert(.broadcasts)
        try executor.runBackgroundTasks()
        #expect(try executor.claim() == [] && executor.count("push_jobs") == 0)
    }

    @Test func retentionMovesAndDeletesThem() throws {
        let executor = try executor()
        for (number, code) in ["A", "B"].enumerated() {
            _ = try executor.commit(assign(code, to: "42"), at: noon + Int64(number))
        }
        for job in try executor.claim(at: noon + 1) { try end(job, .accepted(messageID: "m-\(job.number)"), executor) }
        func run(at now: Int64) throws {
            var retention = RetentionSchedule(days: 30)
            while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        }
        try run(at: noon + day)
        #expect(try executor.count("push_jobs") == 0 && executor.count("push_outcomes") == 2 && names(executor) == "4")
        try run(at: noon + 30 * day + 1)
        #expect(try executor.count("push_outcomes") == 1 && names(executor) == "2")
        try run(at: noon + 31 * day)
        #expect(try executor.count("push_outcomes") == 0 && names(executor) == "0")
    }

    // MARK: OwnerReceipts

    private func deliveries(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT device, written_at, confirmed_at FROM \(deliveryRows) ORDER BY sequence, device")
    }

    /// The first device is in the notification's row, until there is a second one.
    @Test func eachDeviceHasItsOwnTimes() throws {
        let executor = try executor()
        for _ in 1...2 { _ = try executor.commit(announce(to: "42")) }
        for device in ["a", "b"] { _ = try executor.subscribe(phone(device)) }
        try executor.commit(written(phone("a"), upTo: 1, at: noon + 1))
        #expect(try executor.count("deliveries") == 0 && deliveries(executor) == ["a|\(noon + 1)|-"])
        try executor.commit(confirmed(phone("b"), upTo: 2, at: noon + 2))
        #expect(
            try deliveries(executor) == ["a|\(noon + 1)|-", "b|\(noon)|\(noon + 2)", "b|\(noon)|\(noon + 2)"])
        #expect(try executor.count("deliveries") == 2, "the second notification has gone to one device only")
        try executor.commit(confirmed(phone("a"), upTo: 2, at: noon + 3))
        #expect(
            try deliveries(executor) == [
                "a|\(noon + 1)|\(noon + 3)", "b|\(noon)|\(noon + 2)", "a|\(noon)|\(noon + 3)", "b|\(noon)|\(noon + 2)",
            ])
        #expect(try executor.count("deliveries") == 4)
    }

    @Test func deliveriesOfBroadcastsEndWithThem() throws {
        let executor = try store.pushing()
        let all = "drivers-channel"
        for number in 0..<2 { _ = try executor.commit(announceToAll, at: noon + Int64(number) * hour) }
        for person in ["42", "43"] {
            _ = try executor.subscribe(phone(of: person, on: all))
            try executor.commit(confirmed(phone(of: person, on: all), upTo: 2))
        }
        var removed: [RemovedDevice] = []
        func remove(at now: Int64, limit: Int = 500) throws -> Int {
            try executor.transaction { () throws(DatabaseError) in
                try executor.deleteExpired(.broadcastDeliveries, now: now, lifetime: 30 * day, limit: limit, &removed)
            }
        }
        #expect(try remove(at: noon + hour - 1) == 0 && executor.count("deliveries") == 4)
        #expect(try [1, 1, 0].map { _ in try remove(at: noon + hour, limit: 1) } == [1, 1, 0])
        #expect(try executor.database.dump("SELECT DISTINCT sequence FROM \(deliveryRows)") == ["2"])
        #expect(try remove(at: noon + 2 * hour) == 2 && executor.count("deliveries") == 0)
    }
}
