import Access
import Testing

@testable import Fleet

/// Pushes that are needless once a notification has arrived otherwise.
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
        _ = try executor.commit(command(MarkRead([ids[1]]), by: driver("42")))
        _ = try executor.commit(command(MarkRead(nil), by: driver("42")))
        try executor.runBackgroundTasks()
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
}
