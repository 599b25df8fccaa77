import FleetRules
import Testing

@testable import Store

/// For each order, a device shows the notification that it received last. So the retry of an older notification must
/// not be sent after a newer one.
@Suite struct PushSupersedingTests {
    private let store = TemporaryStore()

    private func executor() throws -> CommandExecutor {
        let executor = try store.executor {
            $0.rules = collapsingRules
            $0.lanes = [.fcm]
        }
        _ = try executor.commit(register(fcm("42"), by: driver("42")))
        return executor
    }

    /// The state, the reason and the end time of each job; `-` for a missing reason or end time.
    private func states(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump(
            "SELECT state, COALESCE(reason, '-'), COALESCE(settled_at, '-') FROM push_jobs ORDER BY number")
    }

    @Test func newerJobSupersedesRetry() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"), at: noon + 1)
        let lease = try executor.report([PushOutcome(old, .retry(at: noon + 50, reason: "503"), wasTried: true)], at: noon + 2)
        #expect(lease.nextDueAt == nil)
        #expect(try states(executor) == ["cancelled|superseded|\(noon + 2)", "queued|-|-"])
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == 1)
        #expect(try executor.claim(at: noon + 60).map(\.notification.event) == ["job-cancelled"])
    }

    @Test func sentNewerJobSupersedesReturnedJob() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.cancel, "A"))
        let jobs = try executor.claim()
        try executor.report([
            PushOutcome(jobs[1], .accepted(messageID: nil), wasTried: true), PushOutcome(jobs[0], .returned, wasTried: false),
        ])
        #expect(try states(executor) == ["cancelled|superseded|\(noon)", "accepted|-|\(noon)"])
    }

    /// A returned job gets its old place in the queue again, before the newer job.
    @Test func returnedJobIsSentBeforeTheNewerOne() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let job = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"))
        try executor.report([PushOutcome(job, .returned, wasTried: false)])
        #expect(try executor.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// The older push is out of date even if the newer one was not delivered.
    @Test(arguments: [
        PushOutcome.Result.accepted(messageID: nil), .failed(reason: "x"), .cancelled(reason: "preferences"), .expired,
        .retry(at: noon + 90, reason: "503"),
    ]) func newerJobSupersedesDueRetry(_ result: PushOutcome.Result) throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        try executor.report([PushOutcome(executor.claim()[0], .retry(at: noon + 50, reason: "503"), wasTried: true)])
        _ = try executor.commit(order(.cancel, "A"), at: noon + 1)
        let new = try executor.claim(at: noon + 2)[0]
        try executor.report([PushOutcome(new, result, wasTried: true)], at: noon + 3)
        let lease = try executor.report(capacity: 9, at: noon + 50)
        #expect(lease.jobs == [] && lease.dropped == 1)
        #expect(try states(executor)[0] == "cancelled|superseded|\(noon + 50)")
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == 1)
    }

    /// The process is killed after the lane has reported the newer job, but not the older one.
    @Test func restartSendsOnlyTheNewest() throws {
        do {
            let executor = try executor()
            _ = try executor.commit(assign("A", to: "42"))
            _ = try executor.commit(order(.cancel, "A"))
            let jobs = try executor.claim()
            try executor.report([PushOutcome(jobs[1], .accepted(messageID: nil), wasTried: true)])
        }
        let executor = try store.pushing([.fcm])
        #expect(try executor.claim(at: noon + 1) == [])
        #expect(try states(executor) == ["cancelled|superseded|\(noon + 1)", "accepted|-|\(noon)"])
    }

    /// The newer job was sent to the device's old token. It still supersedes the older job after the token is replaced.
    @Test func replacedTokenDoesNotReviveSupersededJob() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("old"), by: driver("43"), deviceID: "phone"))
        _ = try executor.commit(assign("A", to: "43"))
        try executor.report([PushOutcome(executor.claim()[0], .retry(at: noon + 50, reason: "503"), wasTried: true)])
        _ = try executor.commit(order(.cancel, "A"))
        try executor.report([PushOutcome(executor.claim()[0], .accepted(messageID: nil), wasTried: true)])
        _ = try executor.commit(register(fcm("new"), by: driver("43"), deviceID: "phone"))
        #expect(try executor.claim(at: noon + 50) == [])
        #expect(try states(executor)[0] == "cancelled|superseded|\(noon + 50)")
    }

    @Test func jobsWithAnotherCollapseKeyOrRecipientSupersedeNothing() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("43"), by: driver("43")))
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(announce(to: "42"))
        let jobs = try executor.claim()
        _ = try executor.commit(assign("B", to: "42"))
        _ = try executor.commit(announce(to: "42"))
        _ = try executor.commit(assign("A", to: "43"))  // 42 gets job-removed, which collapses with nothing
        try executor.report(jobs.map { PushOutcome($0, .retry(at: noon + 50, reason: "503"), wasTried: true) })
        #expect(try executor.claim(at: noon + 50).count == 6)
    }

    /// First attempts are sent in order, so the device receives both notifications and shows the later one.
    @Test func firstAttemptsAreSentInOrder() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(order(.cancel, "A"))
        #expect(try executor.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// The jobs of a broadcast are created in slices. Before that, the driver gets a newer notification of the order.
    @Test func newerJobSupersedesBroadcast() throws {
        let executor = try executor()
        executor.rules = collapsingRules
        _ = try executor.commit(assign("A", to: "43"))
        _ = try executor.commit(order(.unassign, "A"))
        _ = try executor.commit(assign("A", to: "42"), at: noon + 1)
        try executor.runBackgroundTasks(at: noon + 2)
        #expect(try executor.claim(at: noon + 3).map(\.notification.event) == ["job-assigned"])
        #expect(try states(executor)[1] == "cancelled|superseded|\(noon + 3)")
    }
}

/// Rules by which each notification of an order supersedes the previous one, except `job-removed` and `HELLO`.
private let collapsingRules: NotificationRules = {
    func rule(_ push: NotificationRules.Rule.Push = .personal, collapses: Bool = true) -> NotificationRules.Rule {
        NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: collapses, push: push)
    }
    return NotificationRules(rules: [
        "job-assigned": rule(), "job-cancelled": rule(), "job-removed": rule(collapses: false),
        "job-available-again": rule(.broadcast), "HELLO": rule(collapses: false),
    ])
}()
