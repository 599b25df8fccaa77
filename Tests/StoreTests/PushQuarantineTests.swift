import Testing

@testable import Fleet

/// A device whose token the provider rejected gets no jobs until the lane knows whether the configuration is the cause.
@Suite struct PushQuarantineTests {
    private let store = TemporaryStore()
    private let removal = DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: noon + 1)

    /// A driver's device with two jobs, the first of which the provider has just rejected.
    private func quarantined() throws -> (CommandExecutor, job: PushJob) {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        for _ in 1...2 { _ = try executor.commit(announce(to: "42")) }
        let job = try executor.claim(1)[0]
        try executor.report([PushOutcome(job, .undecided, wasTried: true, removal: removal)], at: noon + 5)
        return (executor, job)
    }

    private func quarantines(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT quarantined_at FROM devices WHERE quarantined_at IS NOT NULL")
    }

    @Test func quarantinedDeviceGetsNoJobsAndKeepsThem() throws {
        let (executor, _) = try quarantined()
        #expect(try quarantines(executor) == ["\(noon + 5)"])
        _ = try executor.commit(announce(to: "42"))
        let lease = try executor.report(capacity: 9)
        #expect(lease.jobs == [] && lease.removed == [] && !lease.hasMore)
        #expect(try executor.jobs() == ["driver:42|sending|", "driver:42|queued|", "driver:42|queued|"])
        let list = try store.response(to: .devices(driver("42"))).get()
        #expect(list.contains(fcm("a").masked) && !list.contains("quarantine"))
    }

    @Test func confirmedRejectionRemovesTheDevice() throws {
        let (executor, job) = try quarantined()
        let failure = PushOutcome(job, .failed(reason: "BadDeviceToken"), wasTried: true, removal: removal)
        let lease = try executor.report([failure], at: noon + 9)
        #expect(lease.removed.map(\.reason) == ["BadDeviceToken"])
        #expect(try executor.jobs() == ["driver:42|failed|BadDeviceToken", "driver:42|cancelled|device_removed"])
    }

    @Test func releasedDeviceGetsItsJobs() throws {
        let (executor, job) = try quarantined()
        let lease = try executor.report(
            [PushOutcome(job, .released(reason: "BadDeviceToken"), wasTried: false)], capacity: 9, at: noon + 9)
        #expect(lease.jobs.map(\.attempts) == [0, 0] && lease.removed == [])
        #expect(try quarantines(executor) == [])
    }

    /// The app registers its token again: it is the provider's word against the app's, and the app's is newer.
    @Test func registrationEndsTheQuarantine() throws {
        let (executor, _) = try quarantined()
        _ = try executor.commit(register(fcm("a"), by: driver("42")), at: noon + 6)
        #expect(try quarantines(executor) == [])
        #expect(try executor.claim(at: noon + 7).count == 1)
    }

    @Test func laterRegistrationPreventsTheQuarantine() throws {
        let executor = try store.pushing([.fcm])
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        _ = try executor.commit(register(fcm("a"), by: driver("42")), at: noon + 3)
        try executor.report([PushOutcome(job, .undecided, wasTried: true, removal: removal)], at: noon + 5)
        #expect(try quarantines(executor) == [])
    }

    /// The quarantine outlives the process, but not its start: the operator may have corrected the configuration.
    @Test func startEndsTheQuarantine() throws {
        do { _ = try quarantined() }
        let rows = "SELECT quarantined_at FROM devices"
        #expect(try Database.open(readingFrom: store.address).dump(rows) == ["\(noon + 5)"])
        let executor = try store.pushing([.fcm])
        #expect(try executor.database.dump(rows) == ["-"])
        #expect(try executor.claim().count == 2)
    }
}
