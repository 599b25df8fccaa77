import Testing

@testable import Fleet

/// An app registers an APNs token without saying for which environment: production is tried first, then the sandbox.
@Suite struct PushEnvironmentTests {
    private let store = TemporaryStore()
    private let text = "abcdef0123456789"

    /// A driver's device whose environment is unknown.
    private func executor() throws -> CommandExecutor {
        let executor = try store.pushing()
        _ = try executor.commit(register(unknown, by: driver("42"), in: .appDevice))
        return executor
    }

    private var unknown: DeviceToken { DeviceToken(provider: .apns, platform: .ios, environment: nil, text: text) }

    private func environments(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT environment FROM devices")
    }

    /// The lane and the state of each job.
    private func jobs(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT lane, state FROM push_jobs ORDER BY number")
    }

    @Test func productionIsTriedFirst() throws {
        let executor = try executor()
        #expect(try environments(executor) == ["-"])
        #expect(try store.response(to: .devices(driver("42"))).get().contains(#""environment":null"#))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        #expect(job.device.token == unknown)
        let lease = try executor.report([PushOutcome(job, .accepted(messageID: nil), wasTried: true)], .apns)
        #expect(lease.foundEnvironments == [.production])
        #expect(try environments(executor) == ["production"])
    }

    @Test func sandboxIsTriedAtOnceAndStored() throws {
        let executor = try executor()
        for _ in 1...3 { _ = try executor.commit(announce(to: "42")) }
        let claimed = try executor.claim(2, .apns)
        let moved = PushOutcome(claimed[0], .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)
        let reply = try executor.handle(PushReport(lane: .apns, outcomes: [moved], capacity: 0), at: noon + 1)
        #expect(reply.woken == [.apnsSandbox] && reply.lease.removed == [])
        let job = try #require(executor.claim(9, .apnsSandbox, at: noon + 1).first)
        #expect(job.number == claimed[0].number && job.attempts == 1 && job.device.token == unknown)
        #expect(try environments(executor) == ["-"], "not known before the sandbox has accepted a push")

        let accepted = PushOutcome(job, .accepted(messageID: nil), wasTried: true)
        let lease = try executor.report([accepted], capacity: 9, .apnsSandbox, at: noon + 2)
        #expect(lease.foundEnvironments == [.sandbox])
        #expect(try environments(executor) == ["sandbox"])
        // The other jobs follow the device, even the one that production is about to reject.
        #expect(lease.jobs.map(\.device.token.environment) == [.sandbox])
        #expect(try jobs(executor) == ["apns-sandbox|accepted", "apns-sandbox|sending", "apns-sandbox|sending"])
        let late = PushOutcome(claimed[1], .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)
        try executor.report([late], .apns, at: noon + 3)
        #expect(try executor.claim(9, .apnsSandbox, at: noon + 3).map(\.number) == [claimed[1].number])
        let last = try executor.report(
            [PushOutcome(claimed[1], .accepted(messageID: nil), wasTried: true)], .apnsSandbox, at: noon + 4)
        #expect(last.foundEnvironments == [], "counted once")
    }

    /// The sandbox's lane stops because the configuration seems to be wrong: an operator may correct production's address,
    /// too.
    @Test func productionIsTriedAgainAfterTheSandboxReleasesTheToken() throws {
        let executor = try executor()
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        try executor.report([PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)], .apns)
        let moved = try executor.claim(9, .apnsSandbox)[0]
        let removal = DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: noon + 1)
        try executor.report([PushOutcome(moved, .undecided, wasTried: true, removal: removal)], .apnsSandbox, at: noon + 1)
        let released = PushOutcome(moved, .released(reason: "BadDeviceToken"), wasTried: false)
        let reply = try executor.handle(PushReport(lane: .apnsSandbox, outcomes: [released], capacity: 0), at: noon + 2)
        #expect(reply.woken == [.apns])
        #expect(try executor.claim(9, .apns, at: noon + 2).map(\.number) == [job.number])
    }

    @Test func productionIsTriedAgainAfterARestart() throws {
        do {
            let executor = try executor()
            _ = try executor.commit(register(apns("00112233445566778899", .sandbox), by: driver("43")))
            _ = try executor.commit(announce(to: "42", "43"))
            let job = try executor.claim(9, .apns)[0]
            try executor.report([PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)], .apns)
            #expect(try jobs(executor) == ["apns-sandbox|waiting", "apns-sandbox|queued"])
        }
        let executor = try store.pushing()
        #expect(try executor.claim(9, .apns).map(\.recipient) == ["driver:42"])
        #expect(try executor.claim(9, .apnsSandbox).map(\.recipient) == ["driver:43"])
    }

    /// While the sandbox's answer waits to be confirmed, production accepts another push.
    @Test func sandboxDoesNotRemoveATokenThatProductionAccepts() throws {
        let executor = try executor()
        for _ in 1...2 { _ = try executor.commit(announce(to: "42")) }
        let claimed = try executor.claim(2, .apns)
        let moved = PushOutcome(claimed[0], .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)
        try executor.report([moved], .apns)
        let job = try executor.claim(1, .apnsSandbox)[0]
        let removal = DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: noon + 1)
        try executor.report([PushOutcome(job, .undecided, wasTried: true, removal: removal)], .apnsSandbox, at: noon + 1)
        try executor.report([PushOutcome(claimed[1], .accepted(messageID: nil), wasTried: true)], .apns, at: noon + 2)
        let failed = PushOutcome(job, .failed(reason: "BadDeviceToken"), wasTried: true, removal: removal)
        #expect(try executor.report([failed], .apnsSandbox, at: noon + 3).removed == [])
        #expect(try executor.database.dump("SELECT environment, quarantined_at FROM devices") == ["production|-"])
    }

    /// Apps register at every start, each time without the environment.
    @Test func registrationKeepsTheEnvironment() throws {
        let executor = try executor()
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        try executor.report([PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)], .apns)
        let moved = try executor.claim(9, .apnsSandbox)
        try executor.report(moved.map { PushOutcome($0, .accepted(messageID: nil), wasTried: true) }, .apnsSandbox)
        for owner in ["42", "43"] {
            _ = try executor.commit(register(unknown, by: driver(owner), in: .appDevice))
            #expect(try environments(executor) == ["sandbox"])
        }
        _ = try executor.commit(register(apns(text, .production), by: driver("43")))
        #expect(try environments(executor) == ["production"], "what the app says wins")
    }

    /// The app replaces its token while production rejects the old one.
    @Test func replacedTokenIsNotMoved() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(unknown, by: driver("42"), deviceID: "phone"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        _ = try executor.commit(register(fcm("new"), by: driver("42"), deviceID: "phone"))
        let outcome = PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)
        let reply = try executor.handle(PushReport(lane: .apns, outcomes: [outcome], capacity: 0))
        #expect(reply.woken == [.fcm])
        #expect(try jobs(executor) == ["fcm|queued"])
    }

    @Test func removedDeviceIsNotTriedAgain() throws {
        let executor = try executor()
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        _ = try executor.commit(unregister(unknown, by: driver("42")))
        try executor.report([PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)], .apns)
        #expect(try executor.jobs() == ["driver:42|cancelled|device_removed"])
    }

    /// Of very many open jobs, the newest move with the device. The token of the others is not valid in their lane: a
    /// rejection there would quarantine a device that works.
    @Test func jobsLeftInTheFormerLaneAreCancelledInTurn() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(apns(text, .sandbox), by: driver("42")))
        let count = PushJobTable.movedMax + 2
        try executor.transaction { () throws(DatabaseError) in
            for _ in 0..<count { _ = try executor.execute(announce(to: "42"), now: noon) }
        }
        _ = try executor.commit(register(apns(text, .production), by: driver("42")))
        #expect(try executor.claim(9, .apnsSandbox).isEmpty)
        #expect(
            try executor.database.dump("SELECT state, reason FROM push_jobs WHERE lane = 'apns-sandbox'")
                == Array(repeating: "cancelled|replaced", count: 2))
        #expect(executor.outbox.drainFinished()[.apnsSandbox]?.cancelled == 2)
        #expect(try executor.claim(9, .apns).count == 9)
    }

    /// The sandbox is being tried when the app says that the token is one of production.
    @Test func jobsInTheSandboxReturnToTheEnvironmentThatTheAppNames() throws {
        let executor = try executor()
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim(9, .apns)[0]
        try executor.report([PushOutcome(job, .moved(to: .apnsSandbox, reason: "BadDeviceToken"), wasTried: true)], .apns)
        _ = try executor.commit(register(apns(text, .production), by: driver("42")))
        #expect(try executor.claim(9, .apnsSandbox).isEmpty)
        #expect(try executor.claim(9, .apns).map(\.number) == [job.number])
    }
}
