import Access
import Testing

@testable import Fleet

@Suite struct PushOutboxTests {
    private let store = TemporaryStore()

    /// An executor with an FCM device for each owner.
    private func executor(_ owners: Identity..., lanes: Set<PushLane> = [.fcm]) throws -> CommandExecutor {
        let executor = try store.pushing(lanes)
        for owner in owners { _ = try executor.commit(register(fcm(owner.key), by: owner)) }
        return executor
    }

    // MARK: Queueing

    @Test func actionCreatesOneJobPerDevice() throws {
        let executor = try executor(driver("42"), driver("43"))
        _ = try executor.commit(register(fcm("second"), by: driver("42")))
        _ = try executor.commit(register(apns("abcdef0123456789"), by: driver("42")))  // its lane is not enabled
        let reply = try executor.commit(assign("A", to: "42"))
        #expect(reply.lanes == [.fcm] && reply.removed == [])
        #expect(try executor.jobs() == ["driver:42|queued|", "driver:42|queued|"])
        let jobs = try executor.claim(9, at: noon + 7)
        #expect(jobs.map(\.notification) == [reply.notifications[0], reply.notifications[0]])
        #expect(Set(jobs.map(\.device.token.text)) == [fcm("driver:42").text, fcm("second").text])
        #expect(jobs.map(\.entity) == [.job("A"), .job("A")] && jobs.map(\.attempts) == [0, 0])
        #expect(jobs.map(\.device.lastSeenAt) == [noon, noon] && jobs.map(\.recipient) == ["driver:42", "driver:42"])
        // No jobs: the driver has no devices, or the action causes no notification.
        #expect(try executor.commit(assign("B", to: "44")).lanes == [])
        #expect(try executor.commit(order(.update, "A")).lanes == [])
    }

    @Test func createsNothingWithoutEnabledLanes() throws {
        let executor = try executor(driver("42"), lanes: [])
        #expect(try executor.commit(assign("A", to: "42")).lanes == [])
        _ = try executor.commit(announceToAll)
        #expect(try executor.count("push_jobs") == 0 && executor.count("push_audiences") == 0)
    }

    @Test func pushesToTheCustomersOfABooking() throws {
        let executor = try executor(driver("42"))
        for id in ["7", "8"] { _ = try executor.commit(register(fcm(id), by: customer(id, bookings: ["A", "B"]))) }
        _ = try executor.commit(register(fcm("9"), by: customer("9", bookings: ["B"])))
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.removeDriver, "A"))
        #expect(
            try executor.jobs().sorted() == [
                "customer:7|queued|", "customer:8|queued|", "driver:42|queued|", "driver:42|queued|",
            ])
        // If the order has a customer id, only that customer gets the push.
        var changes = OrderChanges()
        changes.customerID = .set("9")
        _ = try executor.commit(assign("A", to: "44", changes: changes))
        _ = try executor.commit(order(.removeDriver, "A"))
        #expect(
            try executor.jobs().filter { $0.hasPrefix("customer:") } == [
                "customer:7|queued|", "customer:8|queued|", "customer:9|queued|",
            ])
    }

    @Test func rollbackLeavesNoJob() throws {
        let executor = try executor(driver("42"))
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(announce(to: "42"), now: noon)
                try executor.database.run("SELECT nothing")
            }
        }
        #expect(try executor.count("push_jobs") == 0)
        _ = try executor.commit(announce(to: "42"))
        #expect(try executor.claim().count == 1)
    }

    // MARK: Results

    /// Each row: the result, whether the lane tried to send, and the job's columns afterwards. The last column is `x`
    /// if the job has ended.
    @Test(arguments: [
        (PushOutcome.Result.accepted(messageID: "m"), true, "accepted|1|-|m|x"),
        (.failed(reason: "BadTopic"), true, "failed|1|BadTopic|-|x"),
        (.cancelled(reason: "quiet_hours"), false, "cancelled|0|quiet_hours|-|x"), (.expired, false, "expired|0|-|-|x"),
        (.expired, true, "expired|1|-|-|x"), (.retry(at: noon + 50, reason: "503"), true, "waiting|1|503|-|-"),
        (.retry(at: noon + 50, reason: "device_busy"), false, "waiting|0|device_busy|-|-"), (.returned, false, "queued|0|-|-|-"),
    ]) func recordsResult(result: PushOutcome.Result, wasTried: Bool, row: String) throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        #expect(try executor.jobs() == ["driver:42|sending|"])
        try executor.report([PushOutcome(job, result, wasTried: wasTried)], at: noon + 9)
        let columns =
            "state, attempts, reason, message_id, CASE settled_at WHEN \(noon + 9) THEN 'x' ELSE CAST(settled_at AS TEXT) END"
        let rows = { try executor.database.dump("SELECT \(columns) FROM push_jobs") }
        #expect(try rows() == [row])
        // A repeated report changes nothing.
        try executor.report([PushOutcome(job, .failed(reason: "again"), wasTried: true)], at: noon + 10)
        #expect(try rows() == [row])
    }

    @Test func retriesWhenDue() throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        var lease = try executor.report([PushOutcome(job, .retry(at: noon + 50, reason: "503"), wasTried: true)], capacity: 5)
        #expect(lease.jobs == [] && lease.nextDueAt == noon + 50 && !lease.hasMore)
        lease = try executor.report(capacity: 5, at: noon + 49)
        #expect(lease.jobs == [] && lease.nextDueAt == noon + 50)
        lease = try executor.report(capacity: 0, at: noon + 50)
        #expect(lease.jobs == [] && lease.nextDueAt == nil && lease.hasMore)
        lease = try executor.report(capacity: 5, at: noon + 50)
        #expect(lease.jobs.map(\.number) == [job.number] && lease.jobs[0].attempts == 1 && !lease.hasMore)
        lease = try executor.report([PushOutcome(lease.jobs[0], .returned, wasTried: false)], capacity: 5, at: noon + 51)
        #expect(lease.jobs.map(\.attempts) == [1], "a returned job does not count as an attempt")
    }

    @Test func invalidTokenIsRemovedWithItsJobs() throws {
        let executor = try executor(driver("42"))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        let job = try executor.claim(1)[0]
        let removal = { (moment: Int64) in DeviceRemoval(reason: "Unregistered", ifSeenBefore: moment) }
        // The provider's report is older than the device's last registration, so the device is not removed.
        var lease = try executor.report([
            PushOutcome(job, .failed(reason: "Unregistered"), wasTried: true, removal: removal(noon))
        ])
        #expect(lease.removed == [])
        #expect(try executor.jobs() == ["driver:42|failed|Unregistered", "driver:42|queued|", "driver:42|queued|"])
        let next = try executor.claim(1)[0]
        lease = try executor.report([
            PushOutcome(next, .failed(reason: "Unregistered"), wasTried: true, removal: removal(noon + 1))
        ])
        #expect(
            lease.removed
                == [
                    RemovedDevice(
                        id: DeviceTable.id(of: fcm("driver:42")), owner: "driver:42", provider: .fcm,
                        maskedToken: fcm("driver:42").masked, reason: "Unregistered")
                ])
        #expect(try executor.jobs()[1...] == ["driver:42|failed|Unregistered", "driver:42|cancelled|device_removed"])
        #expect(try executor.count("devices") == 0)
    }

    // MARK: Expiry

    @Test func expiresUnsentJobs() throws {
        let executor = try executor(driver("42"))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        let jobs = try executor.claim(2)
        try executor.report([PushOutcome(jobs[0], .retry(at: noon + 1, reason: "503"), wasTried: true)])
        let end = noon + 3_600_000
        #expect(try executor.report(at: end - 1).dropped == 0)
        // Jobs expire also with capacity 0. The job that is being sent does not expire.
        let lease = try executor.report(at: end)
        #expect(lease.dropped == 2 && !lease.hasMore)
        #expect(try executor.jobs() == ["driver:42|expired|503", "driver:42|sending|", "driver:42|expired|"])
        #expect(try executor.report([PushOutcome(jobs[1], .returned, wasTried: false)], capacity: 1, at: end).dropped == 1)
    }

    @Test func expiresInSlicesAndSendsNoExpiredJob() throws {
        let executor = try executor(driver("42"))
        try executor.transaction { () throws(DatabaseError) in
            for _ in 0..<600 { _ = try executor.execute(announce(to: "42"), now: noon) }
        }
        for (dropped, hasMore) in [(250, true), (250, true), (100, false)] {
            let lease = try executor.report(capacity: 50, at: noon + 3_600_000)
            #expect(lease.dropped == dropped && lease.jobs == [] && lease.hasMore == hasMore)
        }
    }

    @Test func jobsOfDisabledLanesExpireToo() throws {
        do {
            let executor = try executor(driver("42"))
            _ = try executor.commit(announce(to: "42"))
        }
        let executor = try store.pushing([.apns])
        let now = noon + 3_600_000
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        #expect(try executor.jobs() == ["driver:42|expired|"])
    }

    /// The lane got a new worker while the store could not write the results of the old one.
    @Test func firstReportOfAWorkerLeasesAgainJobsThatWereBeingSent() throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        #expect(try executor.claim() == [], "the old worker has it")
        var report = PushReport(lane: .fcm, capacity: 9, isFirst: true)
        report.worker = 2
        let lease = try executor.handle(report).lease
        #expect(lease.jobs.map(\.number) == [job.number] && lease.worker == 2)
        #expect(try executor.handle(PushReport(lane: .apns, capacity: 9, isFirst: true)).lease.jobs == [], "another lane")
    }

    @Test func restartLeasesAgainJobsThatWereBeingSent() throws {
        var before: [PushJob] = []
        do {
            let executor = try executor(driver("42"), driver("43"))
            _ = try executor.commit(announce(to: "42", "43"))
            _ = try executor.commit(announce(to: "42"))
            before = try executor.claim(2)
        }
        let executor = try store.pushing([.fcm])
        let again = try executor.claim(9)
        #expect(again.map(\.number) == before.map(\.number) + [3])
        #expect(again.map(\.attempts) == [1, 1, 0])
        _ = try executor.commit(announce(to: "42"))
        #expect(try executor.claim().map(\.number) == [4])
    }

    // MARK: History and retention

    @Test func historyContainsPushSteps() throws {
        let executor = try executor(driver("42"), driver("43"), driver("44"))
        let id = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        let jobs = try executor.claim()
        try executor.report(
            [
                PushOutcome(jobs[0], .accepted(messageID: "m-1"), wasTried: true),
                PushOutcome(
                    jobs[1], .failed(reason: "BadDeviceToken"), wasTried: true,
                    removal: DeviceRemoval(reason: "x", ifSeenBefore: noon + 1)),
                PushOutcome(jobs[2], .retry(at: noon + 99, reason: "503"), wasTried: true),
            ], at: noon + 5)
        _ = try executor.commit(telemetry(id, by: driver("42")), at: noon + 4)
        let history = try store.response(to: .notificationHistory(notificationID: id)).get()
        let steps = try #require(history.firstMatch(of: /"steps":(\[.*\])\}$/)?.1)
        func step(_ name: String, _ milliseconds: Int, _ rest: String) -> String {
            #"{"step":"\#(name)","at":"2026-11-21T12:00:00.00\#(milliseconds)Z"\#(rest)}"#
        }
        func push(_ owner: String, _ device: String, _ rest: String = "") -> String {
            #","by":"\#(owner)","detail":{"provider":"fcm","device":"\#(device)"\#(rest)}"#
        }
        let masked = ["driver:42", "driver:43", "driver:44"].map { fcm($0).masked }
        let gone = jobs[1].device.id
        let report =
            #""toldAt":"2026-11-21T11:59:59Z","detail":{"type":"new_job","entityId":"B-1","metadata":{"title":"New job"}}"#
        // The steps of the same millisecond are sorted by device id.
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
            step("received", 4, #","by":"driver:42",\#(report)"#),
            step("push_accepted", 5, push("driver:42", masked[0], #","attempts":1,"messageId":"m-1""#)),
            step("push_failed", 5, push("driver:43", gone, #","attempts":1,"reason":"BadDeviceToken""#)),
        ]
        #expect(steps == "[\(expected.joined(separator: ","))]")
    }

    @Test func retentionDeletesJobsWithTheirNotifications() throws {
        let executor = try executor(driver("42"))
        for moment in [noon, noon + 1] { _ = try executor.commit(announce(to: "42"), at: moment) }
        try executor.report(executor.claim().map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) })
        var retention = RetentionSchedule(days: 30)
        let now = noon + 30 * day + 1
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        #expect(try executor.count("push_jobs") == 0 && executor.jobs() == ["driver:42|accepted|"])
        #expect(try executor.count("notifications") == 1)
    }

    /// An open job is not deleted, even if it is older than the retention time. It must end first, so that its end is
    /// counted.
    @Test func retentionKeepsOpenJobs() throws {
        let executor = try executor(driver("42"))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        let jobs = try executor.claim(2)
        try executor.report([PushOutcome(jobs[0], .accepted(messageID: nil), wasTried: true)])
        func runRetention(_ now: Int64) throws {
            var retention = RetentionSchedule(days: 1)
            while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        }
        try runRetention(noon + 2 * day)
        #expect(try executor.jobs() == ["driver:42|sending|", "driver:42|queued|"])
        try executor.report([PushOutcome(jobs[1], .expired, wasTried: false)], capacity: 1, at: noon + 2 * day)
        #expect(try executor.jobs() == ["driver:42|expired|", "driver:42|expired|"])
        #expect(executor.outbox.drainFinished()[.fcm]?.expired == 1, "the lane reported the end of the other job")
        try runRetention(noon + 2 * day)
        #expect(try executor.jobs() == [])
    }

    @Test func jobWithoutNotificationIsCancelled() throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        try executor.database.run("DELETE FROM notifications")
        #expect(try executor.claim() == [])
        #expect(try executor.jobs() == ["driver:42|cancelled|notification_removed"])
    }
}
