import FleetRules
import Testing

@testable import Store

/// Of one order the phone shows one notification: a retried older one must not take the place of a newer one.
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

    @Test func whatIsPutOffGivesWayToTheNewerOne() throws {
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

    @Test func whatIsGivenBackGivesWayToo() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.cancel, "A"))
        let jobs = try ledger.claim()
        try ledger.report([
            PushOutcome(jobs[1], .accepted(messageID: nil), wasTried: true), PushOutcome(jobs[0], .returned, wasTried: false),
        ])
        #expect(try states(ledger) == ["cancelled|superseded|\(noon)", "accepted|-|\(noon)"])
    }

    /// In its old place, before the newer one.
    @Test func whatIsGivenBackInTimeIsSent() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        let job = try ledger.claim()[0]
        _ = try ledger.settle(order(.cancel, "A"))
        try ledger.report([PushOutcome(job, .returned, wasTried: false)])
        #expect(try ledger.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// Even if that reached nobody: what it would say is out of date.
    @Test(arguments: [
        PushOutcome.Result.accepted(messageID: nil), .failed(reason: "x"), .cancelled(reason: "preferences"), .expired,
        .retry(at: noon + 90, reason: "503"),
    ]) func whatWaitedGivesWayWhenItIsDue(_ fate: PushOutcome.Result) throws {
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

    /// Its answer is lost, and the newer one's is not.
    @Test func killedItSendsTheNewestAlone() throws {
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

    /// The newer one was for the phone's old token.
    @Test func aNewTokenIsNotToldOldNews() throws {
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

    @Test func otherNewsAndOtherPeopleSupersedeNothing() throws {
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

    /// What is sent for the first time is sent in its order: two pushes, of which the later one stays.
    @Test func whatComesInItsOrderIsSent() throws {
        let ledger = try ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(order(.cancel, "A"))
        #expect(try ledger.claim().map(\.notification.event) == ["job-assigned", "job-cancelled"])
    }

    /// Its jobs are made some at a time, and meanwhile a driver has been told newer things.
    @Test func aBroadcastOvertakesNothing() throws {
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

/// What is said of an order replaces what was said of it before, but for `job-removed`.
private let collapsingRules: NotificationRules = {
    func rule(_ push: NotificationRules.Rule.Push = .personal, collapses: Bool = true) -> NotificationRules.Rule {
        NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: collapses, push: push)
    }
    return NotificationRules(rules: [
        "job-assigned": rule(), "job-cancelled": rule(), "job-removed": rule(collapses: false),
        "job-available-again": rule(.broadcast), "HELLO": rule(collapses: false),
    ])
}()
