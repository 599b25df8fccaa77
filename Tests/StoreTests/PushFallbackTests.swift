import Access
import FleetRules
import Testing

@testable import Store

/// Pushes that are needless once a notification has arrived otherwise, and reminders.
@Suite struct PushFallbackTests {
    private let store = TemporaryStore()

    private func executor(_ push: NotificationRules.Rule.Push) throws -> CommandExecutor {
        let rule = NotificationRules.Rule(lifetimeSeconds: 3_600, collapsesByJob: false, push: push)
        let executor = try store.pushing()
        executor.rules = NotificationRules(rules: ["HELLO": rule])
        _ = try executor.commit(register(fcm("42"), by: driver("42")))
        return executor
    }

    /// State and reason of each job: `cancelled confirmed`.
    private func jobs(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT state || ' ' || COALESCE(reason, '-') FROM push_jobs ORDER BY number")
    }

    private static let wait = PushOutcome.Result.retry(at: noon + 5_000, reason: "awaiting_confirmation")

    @Test func aConfirmationCancelsWhatIsNotSent() throws {
        let executor = try executor([.personal, .fallback])
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        try executor.report([PushOutcome(job, Self.wait, wasTried: false)])
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.commit(announce(to: "42"))
        #expect(try jobs(executor) == ["waiting awaiting_confirmation", "queued -", "queued -"])
        try executor.commit(confirmed(phone(), upTo: 2))
        #expect(try jobs(executor) == ["cancelled confirmed", "cancelled confirmed", "queued -"])
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == 2)
    }

    @Test func anAcknowledgementCancelsWhatIsNotSent() throws {
        let executor = try executor([.personal, .fallback])
        let ids = try (0..<3).map { _ in try executor.commit(announce(to: "42")).notifications[0].id }
        _ = try executor.commit(telemetry(ids[0], by: driver("43")))
        #expect(try jobs(executor) == ["queued -", "queued -", "queued -"], "another driver's step")
        _ = try executor.commit(telemetry(ids[0], by: driver("42")))
        #expect(try jobs(executor) == ["cancelled acknowledged", "queued -", "queued -"])
        _ = try executor.commit(command(.markRead([ids[1]]), by: driver("42")))
        _ = try executor.commit(command(.markRead(nil), by: driver("42")))
        #expect(try jobs(executor) == Array(repeating: "cancelled acknowledged", count: 3))
        #expect(executor.arrivals().contains("hello acknowledged 3"), "each once")
    }

    /// The lane decides to wait, and the confirmation comes before its report.
    @Test func aJobThatWasLeasedMeanwhileIsCancelledWithItsReport() throws {
        let executor = try executor([.personal, .fallback])
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        try executor.commit(confirmed(phone(), upTo: 1))
        #expect(try jobs(executor) == ["sending -"])
        try executor.report([PushOutcome(job, Self.wait, wasTried: false)])
        #expect(try jobs(executor) == ["cancelled confirmed"])
    }

    /// The gateway is restarted while the push is sent and confirmed.
    @Test func aJobThatIsQueuedAgainIsCancelledOnceConfirmed() throws {
        do {
            let executor = try executor([.personal, .fallback])
            _ = try executor.commit(announce(to: "42"))
            #expect(try executor.claim().count == 1)
            try executor.commit(confirmed(phone(), upTo: 1))
        }
        let executor = try store.pushing()
        #expect(try jobs(executor) == ["queued -"])
        #expect(try executor.claim() == [] && jobs(executor) == ["cancelled confirmed"])
    }

    @Test func aMirroredPushIsNeverCancelled() throws {
        let executor = try executor(.personal)
        let id = try executor.commit(announce(to: "42")).notifications[0].id
        try executor.commit(confirmed(phone(), upTo: 1))
        _ = try executor.commit(telemetry(id, by: driver("42")))
        #expect(try jobs(executor) == ["queued -"])
    }

    // MARK: Reminders

    @Test func aReminderIsPushedToThoseWhoHaveNotConfirmed() throws {
        let executor = try executor(.personal)
        for id in ["43", "44", "45"] { _ = try executor.commit(register(fcm(id), by: driver(id))) }
        let id = try executor.commit(announceToAll).notifications[0].id
        try executor.runBackgroundTasks()
        try executor.report(
            executor.claim().enumerated().map {
                PushOutcome($1, $0 == 0 ? .failed(reason: "r") : .accepted(messageID: "m\($0)"), wasTried: true)
            })
        _ = try executor.subscribe(phone(of: "43", on: "drivers-channel"))
        try executor.commit(confirmed(phone(of: "43", on: "drivers-channel"), upTo: 1))
        _ = try executor.commit(telemetry(id, by: driver("44")))
        #expect(try remind(id, executor).body?.contains(#""data":{"reminded":2}"#) == true)
        try executor.runBackgroundTasks()
        #expect(try executor.claim().map(\.recipient) == ["driver:42", "driver:45"])
        #expect(try jobs(executor).sorted() == ["accepted -", "accepted -", "sending -", "sending -"])
    }

    @Test func onlyPresentBroadcastsHaveReminders() throws {
        let executor = try executor(.personal)
        let own = try executor.commit(announce(to: "42")).notifications[0].id
        let expired = try executor.commit(announceToAll, at: noon - hour).notifications[0].id
        for (id, kind) in [("X", RuleError.Kind.unknown), (own, .conflict), (expired, .conflict)] {
            #expect(try remind(id, executor).error?.kind == kind)
        }
        #expect(try executor.database.dump("SELECT * FROM push_audiences WHERE reminder = 1") == [])
    }

    private func remind(_ id: String, _ executor: CommandExecutor) throws -> (body: String?, error: RuleError?) {
        let command = command(.remind(notificationID: id))
        let reply = try executor.transaction { () throws(DatabaseError) in try executor.execute(command, now: noon) }
        switch reply {
        case .committed(let result): return (String(decoding: result.body, as: UTF8.self), nil)
        case .rejected(let error): return (nil, error)
        default: return (nil, nil)
        }
    }
}
