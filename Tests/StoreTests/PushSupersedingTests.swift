import TestSupport
import Testing

@testable import Fleet

/// For each order, a device shows the notification that it received last. So an older notification must not reach it
/// after a newer one.
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
            "SELECT state, COALESCE(reason, '-'), COALESCE(CAST(settled_at AS TEXT), '-') FROM push_jobs ORDER BY number")
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

    @Test func newerJobSupersedesReturnedJob() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let job = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"), at: noon + 1)
        let lease = try executor.report([PushOutcome(job, .returned, wasTried: false)], capacity: 9, at: noon + 2)
        #expect(lease.jobs.map(\.notification.event) == ["job-cancelled"])
        #expect(try states(executor) == ["cancelled|superseded|\(noon + 2)", "sending|-|-"])
    }

    /// Cancelled at once, not when its turn comes: a device that was offline would otherwise get both.
    @Test func newerJobSupersedesUnsentJobs() throws {
        let executor = try executor()
        for code in ["A", "B"] { _ = try executor.commit(assign(code, to: "42")) }
        try executor.report([PushOutcome(executor.claim(1)[0], .retry(at: noon + 50, reason: "503"), wasTried: true)])
        for code in ["A", "B"] { _ = try executor.commit(order(.cancel, code), at: noon + 1) }
        #expect(
            try states(executor) == [
                "cancelled|superseded|\(noon + 1)", "cancelled|superseded|\(noon + 1)", "queued|-|-", "queued|-|-",
            ])
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == 2)
        #expect(try executor.claim(at: noon + 60).map(\.notification.event) == ["job-cancelled", "job-cancelled"])
    }

    // MARK: One at a time

    /// The order in which a device receives two pushes in flight is unknown.
    @Test(arguments: [PushOutcome.Result.accepted(messageID: nil), .failed(reason: "x"), .cancelled(reason: "off"), .expired])
    func newerJobWaitsForTheResultOfTheOlderOne(_ result: PushOutcome.Result) throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"))
        _ = try executor.commit(assign("B", to: "42"))
        var lease = try executor.report(capacity: 9)
        #expect(lease.jobs.map(\.entity) == [.job("B")], "another order does not wait")
        #expect(!lease.hasMore, "asking again would lease nothing")
        lease = try executor.report([PushOutcome(old, result, wasTried: true)], capacity: 9)
        #expect(lease.jobs.map(\.notification.event) == ["job-cancelled"])
    }

    /// The report with the result asks for no jobs, because the lane is full.
    @Test func laneWithoutCapacityLearnsOfTheWaitingJob() throws {
        let executor = try executor()
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"))
        #expect(try executor.report([PushOutcome(old, .accepted(messageID: nil), wasTried: true)]).hasMore)
        #expect(try executor.claim().count == 1)
    }

    /// The owner's other device does not wait.
    @Test func eachDeviceHasOneAtATime() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("second"), by: driver("42")))
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim(1)[0]
        _ = try executor.commit(order(.cancel, "A"))
        let new = try executor.claim()
        #expect(new.map(\.notification.event) == ["job-cancelled"] && new[0].device.id != old.device.id)
    }

    /// The token is registered for the other APNs environment during the attempt, so the result comes from another lane
    /// than the one that sends the newer job.
    @Test func otherLaneIsWokenByTheResult() throws {
        let executor = try store.executor {
            $0.rules = collapsingRules
            $0.lanes = [.apns, .apnsSandbox]
        }
        let token = "abcdef0123456789"
        _ = try executor.commit(register(apns(token), by: driver("42")))
        _ = try executor.commit(assign("A", to: "42"))
        let old = try executor.claim(9, .apns)[0]
        _ = try executor.commit(register(apns(token, .sandbox), by: driver("42")))
        _ = try executor.commit(order(.cancel, "A"))
        #expect(try executor.claim(9, .apnsSandbox) == [])
        let outcome = PushOutcome(old, .accepted(messageID: nil), wasTried: true)
        #expect(try executor.handle(PushReport(lane: .apns, outcomes: [outcome], capacity: 0)).woken == [.apnsSandbox])
        #expect(try executor.claim(9, .apnsSandbox).map(\.notification.event) == ["job-cancelled"])
    }

    /// Orders change while their pushes are sent, fail, and are lost with the process. No device has two pushes of one
    /// order on their way, and none accepts an older one after a newer one.
    @Test(arguments: 1...20) func devicesGetTheNewsOfAnOrderInOrder(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        var executor = try executor()
        _ = try executor.commit(register(fcm("second"), by: driver("42")))
        var now = noon
        var sending: [PushJob] = []
        var newest: [String: String] = [:]
        for _ in 0..<200 {
            now += Int64.random(in: 0...20, using: &dice)
            let code = ["A", "B"].randomElement(using: &dice) ?? "A"
            switch Int.random(in: 0..<10, using: &dice) {
            case 0..<2: _ = try executor.commit(assign(code, to: "42"), at: now)
            case 2..<4: _ = try executor.commit(order(.unassign, code), at: now)
            case 4:
                // The process is killed: the results of the jobs on their way are lost.
                executor = try TemporaryStore().executor()
                executor = try store.executor {
                    $0.rules = collapsingRules
                    $0.lanes = [.fcm]
                }
                sending = []
            default:
                sending.shuffle(using: &dice)
                let done = sending.prefix(Int.random(in: 0...sending.count, using: &dice))
                let outcomes = done.map { job in
                    switch Int.random(in: 0..<3, using: &dice) {
                    case 0: return PushOutcome(job, .retry(at: now + 5, reason: "503"), wasTried: true)
                    case 1: return PushOutcome(job, .returned, wasTried: false)
                    default:
                        let key = "\(job.device.id) \(job.notification.collapseKey)"
                        #expect(newest[key].map { $0 <= job.notification.id } ?? true, "an older push after a newer one")
                        newest[key] = job.notification.id
                        return PushOutcome(job, .accepted(messageID: nil), wasTried: true)
                    }
                }
                sending.removeFirst(done.count)
                sending += try executor.report(outcomes, capacity: .random(in: 0...3, using: &dice), at: now).jobs
            }
            let pairs = """
                SELECT 1 FROM push_jobs WHERE state = 'sending' AND collapse_key IS NOT NULL \
                GROUP BY device_id, collapse_key HAVING COUNT(*) > 1
                """
            try #require(try executor.database.dump(pairs) == [])
        }
        #expect(newest.count == 4)
    }

    // MARK: Restarts and replaced tokens

    /// The process is killed while the older job is on its way: it was perhaps not sent, but it is out of date.
    @Test func restartSendsOnlyTheNewest() throws {
        do {
            let executor = try executor()
            _ = try executor.commit(assign("A", to: "42"))
            _ = try executor.claim()
            _ = try executor.commit(order(.cancel, "A"))
        }
        let executor = try store.pushing([.fcm])
        #expect(try executor.claim(at: noon + 1).map(\.notification.event) == ["job-cancelled"])
        #expect(try states(executor) == ["cancelled|superseded|\(noon + 1)", "sending|-|-"])
    }

    /// The newer job is sent to the new token, the older one was sent to the old token.
    @Test func replacedTokenDoesNotReviveSupersededJob() throws {
        let executor = try executor()
        _ = try executor.commit(register(fcm("old"), by: driver("43"), deviceID: "phone"))
        _ = try executor.commit(assign("A", to: "43"))
        let old = try executor.claim()[0]
        _ = try executor.commit(order(.cancel, "A"))
        _ = try executor.commit(register(fcm("new"), by: driver("43"), deviceID: "phone"))
        let lease = try executor.report(
            [PushOutcome(old, .retry(at: noon + 50, reason: "503"), wasTried: true)], capacity: 9, at: noon + 2)
        #expect(lease.jobs.map(\.notification.event) == ["job-cancelled"])
        #expect(try states(executor)[0] == "cancelled|superseded|\(noon + 2)")
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
let collapsingRules: NotificationRules = {
    func rule(_ push: NotificationRules.Rule.Push = .personal, collapses: Bool = true) -> NotificationRules.Rule {
        NotificationRules.Rule(lifetimeSeconds: 3600, collapsesByJob: collapses, push: push)
    }
    return NotificationRules(rules: [
        "job-assigned": rule(), "job-cancelled": rule(), "order-removed": rule(), "job-removed": rule(collapses: false),
        "job-available-again": rule(.broadcast), "HELLO": rule(collapses: false),
    ])
}()
