import Access
import Testing

@testable import Fleet

/// Reminders: a notification for all drivers is pushed once more.
@Suite struct PushReminderTests {
    private let store = TemporaryStore()

    /// An executor on whose announcements drivers with these ids get pushes.
    private func executor(_ drivers: String...) throws -> CommandExecutor {
        let executor = try store.pushing()
        executor.rules = NotificationRules(rules: ["HELLO": Self.rule(.personal)])
        for id in drivers { _ = try executor.commit(register(fcm(id), by: driver(id))) }
        return executor
    }

    private static func rule(_ push: NotificationRules.Rule.Push) -> NotificationRules.Rule {
        NotificationRules.Rule(lifetimeSeconds: 3_600, collapsesByJob: true, push: push)
    }

    private func remind(
        _ id: String, _ executor: CommandExecutor, at now: Int64 = noon
    ) throws -> (count: String?, error: RuleError?) {
        let reply = try executor.commit(command(Remind(notificationID: id)), at: now)
        let count = reply.text.split(separator: #""reminded":"#).last.map { String($0.prefix { $0.isNumber }) }
        return (reply.result == nil ? nil : count, reply.error)
    }

    /// Reports all queued jobs as accepted. The message ids are `m` and the jobs' numbers.
    @discardableResult private func send(_ executor: CommandExecutor, at now: Int64 = noon) throws -> [PushJob] {
        try executor.runBackgroundTasks(at: now)
        let jobs = try executor.claim(at: now)
        try executor.report(
            jobs.map { PushOutcome($0, .accepted(messageID: "m\($0.number)"), wasTried: true) }, at: now)
        return jobs
    }

    @Test func aReminderIsPushedToThoseWhoHaveNotConfirmed() throws {
        let executor = try executor("42", "43", "44", "45")
        let id = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        try executor.report(
            executor.claim().enumerated().map {
                PushOutcome($1, $0 == 0 ? .failed(reason: "r") : .accepted(messageID: "m\($0)"), wasTried: true)
            })
        _ = try executor.subscribe(phone(of: "43", on: "drivers-channel"))
        try executor.commit(confirmed(phone(of: "43", on: "drivers-channel"), upTo: 1))
        _ = try executor.commit(telemetry(id, by: driver("44")))
        #expect(try remind(id, executor).count == "2")
        try executor.runBackgroundTasks()
        #expect(try executor.claim().map(\.recipient) == ["driver:42", "driver:45"])
    }

    /// A driver counts once, with a device in an enabled lane that was seen not long ago.
    @Test func countsThoseWhoCanBeReached() throws {
        let executor = try store.pushing([.apns])
        let tokens = (1...6).map { apns(String(repeating: "\($0)", count: 64), $0 == 6 ? .sandbox : .production) }
        let unknown = DeviceToken(
            provider: .apns, platform: .ios, environment: nil, text: String(repeating: "a", count: 64))
        for (token, id) in zip(tokens + [unknown, fcm("f")], ["1", "1", "2", "3", "4", "5", "6", "7"]) {
            let seenAt = id == "4" ? noon - 400 * day : noon
            _ = try executor.commit(register(token, by: driver(id)), at: seenAt)
        }
        _ = try executor.commit(register(apns(String(repeating: "b", count: 64)), by: customer("8")))
        let id = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        _ = try executor.subscribe(phone(of: "2", on: "drivers-channel"))
        try executor.commit(confirmed(phone(of: "2", on: "drivers-channel"), upTo: 1))
        try executor.commit(written(phone(of: "3", on: "drivers-channel"), upTo: 1))
        #expect(try remind(id, executor).count == "3", "drivers 1, 3 and 6")
    }

    /// Nobody has missed what is still being pushed for the first time.
    @Test func nothingIsAddedWhileJobsAreBeingCreated() throws {
        let executor = try executor("42")
        let id = try executor.commit(announceToAll).notifications[0].id
        #expect(try remind(id, executor).count == "0")
        try send(executor)
        #expect(try remind(id, executor).count == "1")
        #expect(try remind(id, executor).count == "0")
        #expect(try send(executor).count == 1)
        #expect(try remind(id, executor).count == "1")
        #expect(try executor.database.dump("SELECT reminder FROM push_audiences") == ["2"])
    }

    @Test func onlyPresentBroadcastsHaveReminders() throws {
        let executor = try executor("42")
        let own = try executor.commit(announce(to: "42")).notifications[0].id
        let expired = try executor.commit(announceToAll, at: noon - hour).notifications[0].id
        for (id, kind) in [("X", RuleError.Kind.unknown), (own, .conflict), (expired, .conflict)] {
            #expect(try remind(id, executor).error?.kind == kind)
        }
        #expect(try executor.database.dump("SELECT * FROM push_audiences WHERE reminder > 0") == [])
    }

    @Test func eachReminderHasJobsOfItsOwn() throws {
        let executor = try executor("42")
        let id = try executor.commit(announceToAll).notifications[0].id
        let first = try send(executor)
        for time in [noon + 10, noon + 20] {
            #expect(try remind(id, executor, at: time).count == "1")
            let reminded = try send(executor, at: time)
            #expect(reminded.map(\.notification.collapseKey) == first.map(\.notification.collapseKey))
        }
        #expect(executor.arrivals().contains("hello pushed 1"), "once per recipient")
        for message in ["m1", "m2", "m3"] { #expect(try executor.outbox.jobs.notificationID(ofMessage: message) == id) }
        let history = try QueryExecutor(Database.open(readingFrom: store.address))
            .execute(.notificationHistory(notificationID: id), now: noon + 30).get()
        guard case .notificationHistory(_, let steps) = history else { return }
        #expect(
            steps.map { "\($0.step) \($0.at - noon)" } == [
                "created 0", "push_queued 0", "push_accepted 0", "push_queued 10", "push_accepted 10", "push_queued 20",
                "push_accepted 20",
            ])
    }

    /// A reminder is not sent beside a push that has not ended.
    @Test func anOpenPushIsItsOwnReminder() throws {
        let executor = try executor("42", "43")
        let id = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        let jobs = try executor.claim()
        let results: [PushOutcome.Result] = [.retry(at: noon + 60_000, reason: "r"), .accepted(messageID: "m")]
        try executor.report(zip(jobs, results).map { PushOutcome($0, $1, wasTried: true) })
        _ = try remind(id, executor)
        try executor.runBackgroundTasks()
        #expect(try executor.claim().map(\.recipient) == [jobs[1].recipient])
    }

    @Test func aReminderOpensWhatTheFirstPushOpens() throws {
        let executor = try executor("1", "2", "3")
        executor.rules = NotificationRules(
            rules: [
                "job-removed": Self.rule(.personal), "job-available-again": Self.rule(.broadcast), "job-assigned": Self.rule([]),
            ])
        _ = try executor.commit(assign("A", to: "3"))
        let id = try #require(
            try executor.commit(order(.removeDriver, "A")).notifications.first { $0.isForEveryDriver }?.id)
        try send(executor)
        #expect(try remind(id, executor).count == "2")
        let reminded = try send(executor)
        #expect(reminded.map(\.recipient) == ["driver:1", "driver:2"], "driver 3 had another notification")
        #expect(reminded.allSatisfy { $0.entity == .job("A") })
    }

    @Test func theAuditLogNamesWhoReminded() throws {
        let executor = try executor("42")
        executor.rules = NotificationRules(
            rules: ["HELLO": Self.rule(.personal), "job-available-again": Self.rule(.broadcast)])
        let hello = try executor.commit(announceToAll).notifications[0].id
        _ = try executor.commit(assign("A", to: "3"))
        let free = try #require(
            try executor.commit(order(.removeDriver, "A")).notifications.first { $0.isForEveryDriver }?.id)
        try executor.runBackgroundTasks()
        for id in [hello, free] { #expect(try remind(id, executor, at: noon + 5).count == "1") }
        #expect(
            try executor.database.dump(
                "SELECT at - \(noon), actor, action, order_code, correlation_id, details FROM audit WHERE action = 'remind'")
                == [
                    #"5|admin:1|remind|-|c-1|{"notificationId":"\#(hello)","reminded":1}"#,
                    #"5|admin:1|remind|A|c-1|{"notificationId":"\#(free)","reminded":1}"#,
                ])
        #expect(try executor.auditTable.last(ofOrder: "A")?.action == "remove_driver", "a reminder is no change")
        #expect(
            try remind("X", executor).error != nil
                && executor.commit(command(Remind(notificationID: hello), key: "k")).status == 200)
        #expect(try executor.commit(command(Remind(notificationID: hello), key: "k")).isReplay)
        #expect(try executor.database.dump("SELECT COUNT(*) FROM audit WHERE action = 'remind'") == ["3"])
    }

    @Test func aBroadcastIsKeptForItsRemindersAsLongAsItsNotification() throws {
        let executor = try executor("42")
        _ = try executor.commit(announceToAll)
        try send(executor)
        var removed: [RemovedDevice] = []
        for (time, count) in [(noon + 29 * day, 1), (noon + 31 * day, 0)] {
            try executor.transaction { () throws(DatabaseError) in
                for kind in [CommandExecutor.RetentionKind.pushes, .notifications] {
                    _ = try executor.deleteExpired(kind, now: time, lifetime: 30 * day, limit: 10, &removed)
                }
            }
            #expect(try executor.count("push_audiences") == count && executor.count("push_jobs") == count)
        }
    }
}
