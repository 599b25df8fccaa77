import FleetRules
import Testing

@testable import Store

/// A device shows one notification per order: a retried older one must not replace a newer one.
@Suite struct PushSupersedingTests {
    private let room = TemporaryStore()

    private func ledger() throws -> CommandExecutor {
        let ledger = try room.ledger {
            $0.rules = collapsingRules
            $0.lanes = [.fcm]
        }
        _ = try ledger.settle(register(fcm("42"), by: driver("42")))
        return ledger
    }

    private func states(_ ledger: CommandExecutor) throws -> [String] {
        try ledger.database.dump("SELECT state, COALESCE(reason, '-'), COALESCE(settled_at, '-') FROM push_jobs ORDER BY number")
    }

    @Test func newerJobSupersedesRetry() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        let old = try ledger.claim()[0]
        _ = try ledger.settle(order(.cancel, "A"), at: noon + 1)
        let supply = try ledger.report([PushOutcome(old, .retry(at: noon + 50, reason: "503"), wasTried: true)], at: noon + 2)
        #expect(supply.nextDueAt == nil)
        #expect(try states(ledger) == ["cancelled|superseded|\(noon + 2)", "queued|-|-"])
        #expect(ledger.outbox.drainFinished()[.fcm]?.cancelled == 1)
        #expect(try ledger.claim(at: noon + 60).map(\.notification.event) == ["job-cancelled"])
    }

    @Test func sentNewerJobSupersedesReturnedJob() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.cancel, "A"))
        let jobs = try ledger.claim()
        try ledger.report([
            PushOutcome(jobs[1], .accepted(messageID: nil), wasTried: true), PushOutcome(jobs[0], .returned, wasTried: false),
        ])
        #expect(try states(ledger) == ["cancelled|superseded|\(noon)", "accepted|-|\(noon)"])
    }

    /// It has its old place, before the newer job.
    @Test func returnedJobBeforeTheNewerOneIsSent() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        let job = try ledger.claim()[0]
        _ = try ledger.settle(order(.cancel, "A"))
        try ledger.report([PushOutcome(job, .returned, wasTried: false)])
        #expect(try ledger.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// Even if the newer push was not delivered: the older one is out of date.
    @Test(arguments: [
        PushOutcome.Result.accepted(messageID: nil), .failed(reason: "x"), .cancelled(reason: "preferences"), .expired,
        .retry(at: noon + 90, reason: "503"),
    ]) func newerJobSupersedesDueRetry(_ fate: PushOutcome.Result) throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        try ledger.report([PushOutcome(ledger.claim()[0], .retry(at: noon + 50, reason: "503"), wasTried: true)])
        _ = try ledger.settle(order(.cancel, "A"), at: noon + 1)
        let new = try ledger.claim(at: noon + 2)[0]
        try ledger.report([PushOutcome(new, fate, wasTried: true)], at: noon + 3)
        let supply = try ledger.report(room: 9, at: noon + 50)
        #expect(supply.jobs == [] && supply.dropped == 1)
        #expect(try states(ledger)[0] == "cancelled|superseded|\(noon + 50)")
        #expect(ledger.outbox.drainFinished()[.fcm]?.cancelled == 1)
    }

    /// The result of the older job is lost, that of the newer one is not.
    @Test func restartSendsOnlyTheNewest() throws {
        do {
            let ledger = try ledger()
            _ = try ledger.settle(assign("A", to: "42"))
            _ = try ledger.settle(order(.cancel, "A"))
            let jobs = try ledger.claim()
            try ledger.report([PushOutcome(jobs[1], .accepted(messageID: nil), wasTried: true)])
        }
        let ledger = try room.pushing([.fcm])
        #expect(try ledger.claim(at: noon + 1) == [])
        #expect(try states(ledger) == ["cancelled|superseded|\(noon + 1)", "accepted|-|\(noon)"])
    }

    /// The newer job was for the device's old token.
    @Test func replacedTokenDoesNotReviveSupersededJob() throws {
        let ledger = try ledger()
        _ = try ledger.settle(register(fcm("old"), by: driver("43"), deviceID: "phone"))
        _ = try ledger.settle(assign("A", to: "43"))
        try ledger.report([PushOutcome(ledger.claim()[0], .retry(at: noon + 50, reason: "503"), wasTried: true)])
        _ = try ledger.settle(order(.cancel, "A"))
        try ledger.report([PushOutcome(ledger.claim()[0], .accepted(messageID: nil), wasTried: true)])
        _ = try ledger.settle(register(fcm("new"), by: driver("43"), deviceID: "phone"))
        #expect(try ledger.claim(at: noon + 50) == [])
        #expect(try states(ledger)[0] == "cancelled|superseded|\(noon + 50)")
    }

    @Test func otherKeysAndRecipientsSupersedeNothing() throws {
        let ledger = try ledger()
        _ = try ledger.settle(register(fcm("43"), by: driver("43")))
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(announce(to: "42"))
        let jobs = try ledger.claim()
        _ = try ledger.settle(assign("B", to: "42"))
        _ = try ledger.settle(announce(to: "42"))
        _ = try ledger.settle(assign("A", to: "43"))  // to 42: job-removed, which does not collapse here
        try ledger.report(jobs.map { PushOutcome($0, .retry(at: noon + 50, reason: "503"), wasTried: true) })
        #expect(try ledger.claim(at: noon + 50).count == 6)
    }

    /// First attempts are sent in order: the device receives both and shows the later one.
    @Test func firstAttemptsAreSentInOrder() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.cancel, "A"))
        #expect(try ledger.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// The jobs of a broadcast are created in slices; meanwhile a driver got a newer notification.
    @Test func newerJobSupersedesBroadcast() throws {
        let ledger = try ledger()
        ledger.rules = collapsingRules
        _ = try ledger.settle(assign("A", to: "43"))
        _ = try ledger.settle(order(.unassign, "A"))
        _ = try ledger.settle(assign("A", to: "42"), at: noon + 1)
        try ledger.doChores(at: noon + 2)
        #expect(try ledger.claim(at: noon + 3).map(\.notification.event) == ["job-assigned"])
        #expect(try states(ledger)[1] == "cancelled|superseded|\(noon + 3)")
    }
}

/// Each notification of an order replaces the previous one, except `job-removed`.
private let collapsingRules: NotificationRules = {
    func rule(_ push: NotificationRules.Rule.Push = .personal, collapses: Bool = true) -> NotificationRules.Rule {
        NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: collapses, push: push)
    }
    return NotificationRules(rules: [
        "job-assigned": rule(), "job-cancelled": rule(), "job-removed": rule(collapses: false),
        "job-available-again": rule(.broadcast), "HELLO": rule(collapses: false),
    ])
}()
