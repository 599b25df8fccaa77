import Access
import FleetRules
import Testing

@testable import Store

@Suite struct PushOutboxTests {
    private let room = TemporaryStore()

    /// A ledger with a phone for each of them.
    private func ledger(_ owners: Identity..., lanes: Set<PushLane> = [.fcm]) throws -> CommandExecutor {
        let ledger = try room.pushing(lanes)
        for owner in owners { _ = try ledger.settle(register(fcm(owner.key), by: owner)) }
        return ledger
    }

    // MARK: Queueing

    @Test func oneJobPerPhoneWithTheAction() throws {
        let ledger = try ledger(driver("42"), driver("43"))
        _ = try ledger.settle(register(fcm("second"), by: driver("42")))
        _ = try ledger.settle(register(apns("abcdef0123456789"), by: driver("42")))  // of a lane that is not served
        let settlement = try ledger.settle(assign("A", to: "42"))
        #expect(settlement.lanes == [.fcm] && settlement.removed == [])
        #expect(try ledger.jobs() == ["driver:42|queued|", "driver:42|queued|"])
        let jobs = try ledger.claim(9, at: noon + 7)
        #expect(jobs.map(\.notification) == [settlement.notifications[0], settlement.notifications[0]])
        #expect(Set(jobs.map(\.device.token.text)) == [fcm("driver:42").text, fcm("second").text])
        #expect(jobs.map(\.entity) == [.job("A"), .job("A")] && jobs.map(\.attempts) == [0, 0])
        #expect(jobs.map(\.device.lastSeenAt) == [noon, noon] && jobs.map(\.recipient) == ["driver:42", "driver:42"])
        // To somebody without a phone, and what moves nobody.
        #expect(try ledger.settle(assign("B", to: "44")).lanes == [])
        #expect(try ledger.settle(order(.update, "A")).lanes == [])
    }

    @Test func withoutLanesThereIsNothingToDo() throws {
        let ledger = try ledger(driver("42"), lanes: [])
        #expect(try ledger.settle(assign("A", to: "42")).lanes == [])
        _ = try ledger.settle(announceToAll)
        #expect(try ledger.count("push_jobs") == 0 && ledger.count("push_audiences") == 0)
    }

    @Test func reachesTheCustomersOfABooking() throws {
        let ledger = try ledger(driver("42"))
        for id in ["7", "8"] { _ = try ledger.settle(register(fcm(id), by: customer(id, bookings: ["A", "B"]))) }
        _ = try ledger.settle(register(fcm("9"), by: customer("9", bookings: ["B"])))
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.removeDriver, "A"))
        #expect(
            try ledger.jobs().sorted() == ["customer:7|queued|", "customer:8|queued|", "driver:42|queued|", "driver:42|queued|"])
        // Where the order names its customer, he alone.
        var changes = OrderChanges()
        changes.customerID = .set("9")
        _ = try ledger.settle(assign("A", to: "44", changes: changes))
        _ = try ledger.settle(order(.removeDriver, "A"))
        #expect(
            try ledger.jobs().filter { $0.hasPrefix("customer:") } == [
                "customer:7|queued|", "customer:8|queued|", "customer:9|queued|",
            ])
    }

    @Test func aRollbackLeavesNoJob() throws {
        let ledger = try ledger(driver("42"))
        #expect(throws: DatabaseError.self) {
            try ledger.transaction { () throws(DatabaseError) in
                _ = try ledger.execute(announce(to: "42"), now: noon)
                try ledger.database.run("SELECT nothing")
            }
        }
        #expect(try ledger.count("push_jobs") == 0)
        _ = try ledger.settle(announce(to: "42"))
        #expect(try ledger.claim().count == 1)
    }

    // MARK: What lanes say

    @Test(arguments: [
        (PushOutcome.Result.accepted(messageID: "m"), true, "accepted|1|-|m|x"),
        (.failed(reason: "BadTopic"), true, "failed|1|BadTopic|-|x"),
        (.cancelled(reason: "quiet_hours"), false, "cancelled|0|quiet_hours|-|x"), (.expired, false, "expired|0|-|-|x"),
        (.expired, true, "expired|1|-|-|x"), (.retry(at: noon + 50, reason: "503"), true, "waiting|1|503|-|-"),
        (.retry(at: noon + 50, reason: "device_busy"), false, "waiting|0|device_busy|-|-"), (.returned, false, "queued|0|-|-|-"),
    ]) func settles(fate: PushOutcome.Result, wasTried: Bool, row: String) throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        let job = try ledger.claim()[0]
        #expect(try ledger.jobs() == ["driver:42|sending|"])
        try ledger.report([PushOutcome(job, fate, wasTried: wasTried)], at: noon + 9)
        let columns = "state, attempts, reason, message_id, CASE settled_at WHEN \(noon + 9) THEN 'x' ELSE settled_at END"
        let rows = { try ledger.database.dump("SELECT \(columns) FROM push_jobs") }
        #expect(try rows() == [row])
        // Said twice, or by mistake of one that no lane has: it stays as it is.
        try ledger.report([PushOutcome(job, .failed(reason: "again"), wasTried: true)], at: noon + 10)
        #expect(try rows() == [row])
    }

    @Test func triesAgainWhenItIsDue() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        let job = try ledger.claim()[0]
        var supply = try ledger.report([PushOutcome(job, .retry(at: noon + 50, reason: "503"), wasTried: true)], room: 5)
        #expect(supply.jobs == [] && supply.nextDueAt == noon + 50 && !supply.hasMore && supply.depth == 0)
        supply = try ledger.report(room: 5, at: noon + 49)
        #expect(supply.jobs == [] && supply.nextDueAt == noon + 50)
        supply = try ledger.report(room: 0, at: noon + 50)
        #expect(supply.jobs == [] && supply.nextDueAt == nil && supply.hasMore)
        supply = try ledger.report(room: 5, at: noon + 50)
        #expect(supply.jobs.map(\.number) == [job.number] && supply.jobs[0].attempts == 1 && !supply.hasMore)
        supply = try ledger.report([PushOutcome(supply.jobs[0], .returned, wasTried: false)], room: 5, at: noon + 51)
        #expect(supply.jobs.map(\.attempts) == [1], "what was not tried does not count")
    }

    @Test func aDeadTokenGoesWithWhatIsQueuedForIt() throws {
        let ledger = try ledger(driver("42"))
        for _ in 0..<3 { _ = try ledger.settle(announce(to: "42")) }
        let job = try ledger.claim(1)[0]
        let removal = { (moment: Int64) in DeviceRemoval(reason: "Unregistered", ifSeenBefore: moment) }
        // Registered since: it stays.
        var supply = try ledger.report([PushOutcome(job, .failed(reason: "Unregistered"), wasTried: true, removal: removal(noon))]
        )
        #expect(supply.removed == [])
        #expect(try ledger.jobs() == ["driver:42|failed|Unregistered", "driver:42|queued|", "driver:42|queued|"])
        let next = try ledger.claim(1)[0]
        supply = try ledger.report([
            PushOutcome(next, .failed(reason: "Unregistered"), wasTried: true, removal: removal(noon + 1))
        ])
        #expect(
            supply.removed
                == [
                    RemovedDevice(
                        id: DeviceTable.id(of: fcm("driver:42")), owner: "driver:42", provider: .fcm,
                        maskedToken: fcm("driver:42").masked, reason: "Unregistered")
                ])
        #expect(try ledger.jobs()[1...] == ["driver:42|failed|Unregistered", "driver:42|cancelled|device_removed"])
        #expect(try ledger.count("devices") == 0)
    }

    // MARK: Time

    @Test func expiresWhatIsTooLate() throws {
        let ledger = try ledger(driver("42"))
        for _ in 0..<3 { _ = try ledger.settle(announce(to: "42")) }
        let jobs = try ledger.claim(2)
        try ledger.report([PushOutcome(jobs[0], .retry(at: noon + 1, reason: "503"), wasTried: true)])
        let end = noon + 3_600_000
        #expect(try ledger.report(at: end - 1).dropped == 0)
        // Without room for any, too; but what is in the lane's hands is the lane's.
        let supply = try ledger.report(at: end)
        #expect(supply.dropped == 2 && !supply.hasMore)
        #expect(try ledger.jobs() == ["driver:42|expired|503", "driver:42|sending|", "driver:42|expired|"])
        #expect(try ledger.report(at: end + 2_000).depth == 0)
        #expect(try ledger.report([PushOutcome(jobs[1], .returned, wasTried: false)], room: 1, at: end).dropped == 1)
    }

    @Test func expiresABoundedNumberAtATimeAndSendsNoneOfThem() throws {
        let ledger = try ledger(driver("42"))
        try ledger.transaction { () throws(DatabaseError) in
            for _ in 0..<600 { _ = try ledger.execute(announce(to: "42"), now: noon) }
        }
        var supply = try ledger.report(room: 50, at: noon + 3_600_000)
        #expect(supply.dropped == 550 && supply.jobs == [] && supply.hasMore)
        supply = try ledger.report(room: 50, at: noon + 3_600_000)
        #expect(supply.dropped == 50 && !supply.hasMore)
    }

    @Test func whatNobodyServesExpiresToo() throws {
        do {
            let ledger = try ledger(driver("42"))
            _ = try ledger.settle(announce(to: "42"))
        }
        let ledger = try room.pushing([.apns])
        let now = noon + 3_600_000
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(ledger, now) }
        #expect(try ledger.jobs() == ["driver:42|expired|"])
    }

    @Test func countsEveryTwoSeconds() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"), at: noon)
        _ = try ledger.settle(announce(to: "42"), at: noon + 5)
        _ = try ledger.settle(announce(to: "42"), at: noon + 6)
        let job = try ledger.claim(1, at: noon + 10)[0]
        var supply = try ledger.report(
            [PushOutcome(job, .retry(at: noon + 60_000, reason: "503"), wasTried: true)], at: noon + 2_010)
        #expect(supply.depth == 2 && supply.oldestAt == noon + 5, "as it was counted, with one in the lane's hands")
        supply = try ledger.report(at: noon + 2_011)
        #expect(supply.depth == 3 && supply.oldestAt == noon)
        supply = try ledger.report(at: noon)
        #expect(supply.depth == 3, "the clock was set back")
    }

    @Test func killedItSendsTheSameAgain() throws {
        var before: [PushJob] = []
        do {
            let ledger = try ledger(driver("42"), driver("43"))
            _ = try ledger.settle(announce(to: "42", "43"))
            _ = try ledger.settle(announce(to: "42"))
            before = try ledger.claim(2)
        }
        let ledger = try room.pushing([.fcm])
        let again = try ledger.claim(9)
        #expect(again.map(\.number) == before.map(\.number) + [3])
        #expect(again.map(\.attempts) == [1, 1, 0])
        _ = try ledger.settle(announce(to: "42"))
        #expect(try ledger.claim().map(\.number) == [4])
    }

    // MARK: Looking back

    @Test func showsTheLifeOfAPush() throws {
        let ledger = try ledger(driver("42"), driver("43"), driver("44"))
        let id = try ledger.settle(announceToAll).notifications[0].id
        try ledger.doChores()
        let jobs = try ledger.claim()
        try ledger.report(
            [
                PushOutcome(jobs[0], .accepted(messageID: "m-1"), wasTried: true),
                PushOutcome(
                    jobs[1], .failed(reason: "BadDeviceToken"), wasTried: true,
                    removal: DeviceRemoval(reason: "x", ifSeenBefore: noon + 1)),
                PushOutcome(jobs[2], .retry(at: noon + 99, reason: "503"), wasTried: true),
            ], at: noon + 5)
        _ = try ledger.settle(telemetry(id, by: driver("42")), at: noon + 4)
        let life = String(
            decoding: try QueryExecutor(Database.open(readingFrom: room.path)).execute(.notificationHistory(notificationID: id))
                .get(), as: UTF8.self)
        let steps = try #require(life.firstMatch(of: /"steps":(\[.*\])\}$/)?.1)
        func step(_ name: String, _ milliseconds: Int, _ rest: String) -> String {
            #"{"step":"\#(name)","at":"2026-11-21T12:00:00.00\#(milliseconds)Z"\#(rest)}"#
        }
        func push(_ owner: String, _ device: String, _ rest: String = "") -> String {
            #","subject":"\#(owner)","detail":{"provider":"fcm","device":"\#(device)"\#(rest)}"#
        }
        let masked = ["driver:42", "driver:43", "driver:44"].map { fcm($0).masked }
        let gone = jobs[1].device.id
        let told = #""toldAt":"2026-11-21T11:59:59Z","detail":{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}"#
        // In the order of the phones' ids.
        let queued = [
            (id: jobs[0].device.id, text: step("push_queued", 0, push("driver:42", masked[0]))),
            (id: gone, text: step("push_queued", 0, push("driver:43", gone))),
            (
                id: jobs[2].device.id,
                text: step("push_queued", 0, push("driver:44", masked[2], #","attempts":1,"reason":"503""#))
            ),
        ].sorted { $0.id < $1.id }
        let expected: [String] = [
            step("created", 0, ""),
            queued[0].text, queued[1].text, queued[2].text,
            step("received", 4, #","subject":"driver:42",\#(told)"#),
            step("push_accepted", 5, push("driver:42", masked[0], #","attempts":1,"messageId":"m-1""#)),
            step("push_failed", 5, push("driver:43", gone, #","attempts":1,"reason":"BadDeviceToken""#)),
        ]
        #expect(steps == "[\(expected.joined(separator: ","))]")
    }

    @Test func goWithTheirNotifications() throws {
        let ledger = try ledger(driver("42"))
        for moment in [noon, noon + 1] { _ = try ledger.settle(announce(to: "42"), at: moment) }
        try ledger.report(ledger.claim().map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
        var retention = RetentionSchedule(days: 30)
        let now = noon + 30 * day + 1
        while retention.isDue(now) { _ = try retention.runSlice(ledger, now) }
        #expect(try ledger.database.dump("SELECT number FROM push_jobs") == ["2"])
        #expect(try ledger.count("notifications") == 1)
    }

    /// Kept for a shorter time than it may take to deliver: it comes to an end that is counted, and only then it goes.
    @Test func noneGoesBeforeItHasEnded() throws {
        let ledger = try ledger(driver("42"))
        for _ in 0..<3 { _ = try ledger.settle(announce(to: "42")) }
        let jobs = try ledger.claim(2)
        try ledger.report([PushOutcome(jobs[0], .accepted(messageID: nil), wasTried: true)])
        func forget(_ now: Int64) throws {
            var retention = RetentionSchedule(days: 1)
            while retention.isDue(now) { _ = try retention.runSlice(ledger, now) }
        }
        try forget(noon + 2 * day)
        #expect(try ledger.jobs() == ["driver:42|sending|", "driver:42|queued|"])
        try ledger.report([PushOutcome(jobs[1], .expired, wasTried: false)], room: 1, at: noon + 2 * day)
        #expect(try ledger.jobs() == ["driver:42|expired|", "driver:42|expired|"])
        #expect(ledger.outbox.drainFinished()[.fcm]?.expired == 1, "the other one the lane has told of")
        try forget(noon + 2 * day)
        #expect(try ledger.jobs() == [])
    }

    @Test func whoseNotificationIsGoneIsNotSent() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        try ledger.database.run("DELETE FROM notifications")
        #expect(try ledger.claim() == [])
        #expect(try ledger.jobs() == ["driver:42|cancelled|notification_removed"])
    }
}
