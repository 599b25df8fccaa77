import Access
import Testing

@testable import Fleet

/// After the clock was set back, times in the future have no lasting effect.
@Suite struct ClockSetBackTests {
    private let store = TemporaryStore()

    private func executor(_ owners: Identity...) throws -> CommandExecutor {
        let executor = try store.pushing()
        for owner in owners { _ = try executor.commit(register(fcm(owner.key), by: owner)) }
        return executor
    }

    @Test func retryDoesNotWaitForTheOldTime() throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        try executor.report([PushOutcome(job, .retry(at: noon + 2_000, reason: "503"), wasTried: true)], at: noon + 1_000)
        let earlier = noon - 3_000_000
        #expect(try executor.report(capacity: 1, at: earlier).nextDueAt == earlier + 5_000)
        #expect(try executor.report(capacity: 1, at: earlier + 5_000).jobs.map(\.number) == [job.number])
    }

    /// Another lane reports first after the clock was set back.
    @Test func noLaneWaitsForTheOldTime() throws {
        let executor = try store.pushing()
        for token in [fcm("a"), apns("00112233445566778899")] { _ = try executor.commit(register(token, by: driver("42"))) }
        _ = try executor.commit(announce(to: "42"))
        let earlier = noon - 3_000_000
        for lane in [PushLane.fcm, .apns] {
            let job = try executor.claim(1, lane)[0]
            try executor.report(
                [PushOutcome(job, .retry(at: noon + 2_000, reason: "503"), wasTried: true)], lane, at: noon + 1_000)
        }
        for lane in [PushLane.fcm, .apns] {
            #expect(try executor.report(capacity: 1, lane, at: earlier).nextDueAt == earlier + 5_000)
        }
    }

    @Test func newestDeviceIsKeptEvenIfItsRegistrationTimeIsTheOldest() throws {
        let executor = try store.pushing()
        for index in 0..<DeviceRegistration.devicesMax {
            _ = try executor.commit(register(fcm("\(index)"), by: driver("42")), at: noon)
        }
        _ = try executor.commit(register(fcm("new"), by: driver("42")), at: noon - 3_000_000)
        #expect(try executor.count("devices") == Int64(DeviceRegistration.devicesMax))
        #expect(try executor.database.dump("SELECT masked FROM devices").contains(fcm("new").masked))
    }

    @Test func invalidTokenIsRemovedEvenIfItWasLastSeenInTheFuture() throws {
        let executor = try executor(driver("42"))
        _ = try executor.commit(announce(to: "42"))
        let job = try executor.claim()[0]
        let earlier = noon - 3_000_000
        let removal = DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: earlier)
        let outcome = PushOutcome(job, .failed(reason: "UNREGISTERED"), wasTried: true, removal: removal)
        #expect(try executor.report([outcome], at: earlier).removed.count == 1)
        #expect(try executor.count("devices") == 0)
    }
}

/// Each job that the store ends is counted once, under its lane.
@Suite struct FinishedPushTests {
    private let store = TemporaryStore()

    @Test func drainCountsEachEndedJobOncePerLane() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(register(apns("00112233445566778899"), by: driver("42")))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        #expect(executor.outbox.drainFinished().isEmpty)
        _ = try executor.commit(unregister(fcm("a"), by: driver("42")))
        var cancelled = FinishedPushes()
        cancelled.cancelled = 3
        #expect(executor.outbox.drainFinished() == [.fcm: cancelled])
        try executor.report(capacity: 5, .apns, at: noon + 3_600_000)
        var expired = FinishedPushes()
        expired.expired = 3
        #expect(executor.outbox.drainFinished() == [.apns: expired])
        #expect(executor.outbox.drainFinished().isEmpty)
    }

    /// No command cancels a job that is being sent. The job is cancelled when its lane returns it. `hasNewOwner`:
    /// whether another driver registers the device; otherwise its owner unregisters it.
    @Test(arguments: [true, false]) func returnedJobOfAFormerOwnerIsCancelled(hasNewOwner: Bool) throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        for _ in 0..<2 { _ = try executor.commit(announce(to: "42")) }
        let jobs = try executor.claim(2)
        _ = try executor.commit(hasNewOwner ? register(fcm("a"), by: driver("7")) : unregister(fcm("a"), by: driver("42")))
        try executor.report([
            PushOutcome(jobs[0], .returned, wasTried: false),
            PushOutcome(jobs[1], .retry(at: noon + 60_000, reason: "503"), wasTried: true),
        ])
        let reason = hasNewOwner ? "new_owner" : "device_removed"
        #expect(try executor.jobs() == Array(repeating: "driver:42|cancelled|\(reason)", count: 2))
        #expect(executor.outbox.drainFinished()[.fcm]?.cancelled == 2)
    }

    /// The store, not the lane, counts failures: a lane cannot know that a job that failed is sent again to a new
    /// token, or that its own report repeats an earlier one.
    @Test func countsOnlyFinalFailuresAndEachOnce() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("old"), by: driver("42"), deviceID: "phone"))
        _ = try executor.commit(register(fcm("a"), by: driver("7")))
        for id in ["42", "7"] { _ = try executor.commit(announce(to: id)) }
        let outcomes = try executor.claim().map {
            PushOutcome(
                $0, .failed(reason: "UNREGISTERED"), wasTried: true,
                removal: DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: noon + 1))
        }
        _ = try executor.commit(register(fcm("new"), by: driver("42"), deviceID: "phone"))
        try executor.report(outcomes)
        var finished = FinishedPushes()
        finished.retried = 1
        finished.failed = [FailedPush(outcomes[1].job, reason: "UNREGISTERED")]
        #expect(executor.outbox.drainFinished() == [.fcm: finished])
        try executor.report(outcomes)
        #expect(executor.outbox.drainFinished().isEmpty, "repeated report")
        let again = try executor.claim()
        #expect(again.map(\.device.token) == [fcm("new")] && again[0].attempts == 1)
    }

    @Test func undecryptableTokenCountsAsFailed() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        let notification = try executor.commit(announce(to: "42")).notifications[0]
        try executor.database.change("UPDATE devices SET sealed = ?", .blob([0]))
        #expect(try executor.claim() == [])
        let failed = FailedPush(
            notificationID: notification.id, event: "hello", recipient: "driver:42", device: DeviceTable.id(of: fcm("a")),
            attempts: 0, reason: "device_unreadable")
        #expect(executor.outbox.drainFinished()[.fcm]?.failed == [failed])
    }

    @Test func rolledBackTransactionCountsNoEndedJobs() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(unregister(fcm("a"), by: driver("42")), now: noon)
                try executor.database.run("SELECT nothing")
            }
        }
        #expect(executor.outbox.drainFinished().isEmpty)
    }
}

/// A device can change its lane while a job is being sent. If the job is returned, it is queued in the new lane, and
/// that lane is woken.
@Suite struct LaneChangeTests {
    private let store = TemporaryStore()

    @Test(arguments: [PushOutcome.Result.returned, .retry(at: noon + 50, reason: "503")])
    func returnedJobWakesItsNewLane(_ result: PushOutcome.Result) throws {
        let executor = try store.pushing()
        let token = "abcdef0123456789"
        _ = try executor.commit(register(apns(token), by: driver("1")))
        _ = try executor.commit(register(apns("99\(token)"), by: driver("2"), deviceID: "phone"))
        for id in ["1", "2"] { _ = try executor.commit(announce(to: id)) }
        let jobs = try executor.claim(9, .apns)
        _ = try executor.commit(register(apns(token, .sandbox), by: driver("1")))
        _ = try executor.commit(register(fcm("new"), by: driver("2"), deviceID: "phone"))
        let outcomes = jobs.map { PushOutcome($0, result, wasTried: false) }
        #expect(try executor.handle(PushReport(lane: .apns, outcomes: outcomes, capacity: 9)).woken == [.apnsSandbox, .fcm])
        #expect(try executor.claim(9, .apnsSandbox, at: noon + 50).map(\.device.token) == [apns(token, .sandbox)])
        #expect(try executor.claim(9, .fcm, at: noon + 50).map(\.device.token) == [fcm("new")])
    }

    @Test func jobReturnedToItsLaneWakesNoOther() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("1"), by: driver("1")))
        _ = try executor.commit(announce(to: "1"))
        let outcomes = try executor.claim().map { PushOutcome($0, .returned, wasTried: false) }
        #expect(try executor.handle(PushReport(lane: .fcm, outcomes: outcomes, capacity: 0)).woken == [])
    }
}
