import Access
import FleetRules
import Testing

@testable import Store

/// Clocks of machines are set, sometimes back: nothing may wait for the time that was.
@Suite struct ClockSetBackTests {
    private let storeroom = TemporaryStore()

    private func ledger(_ owners: Identity...) throws -> CommandExecutor {
        let ledger = try storeroom.pushing()
        for owner in owners { _ = try ledger.settle(register(fcm(owner.key), by: owner)) }
        return ledger
    }

    @Test func aRetryDoesNotWaitForTheTimeThatWas() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        let job = try ledger.claim()[0]
        try ledger.report([PushOutcome(job, .retry(at: noon + 2_000, reason: "503"), wasTried: true)], at: noon + 1_000)
        let earlier = noon - 3_000_000
        #expect(try ledger.report(room: 1, at: earlier).nextDueAt == earlier + 5_000)
        #expect(try ledger.report(room: 1, at: earlier + 5_000).jobs.map(\.number) == [job.number])
    }

    @Test func theNewestOfTooManyStaysThoughItLooksTheOldest() throws {
        let ledger = try storeroom.pushing()
        for index in 0..<CommandExecutor.devicesMax {
            _ = try ledger.settle(register(fcm("\(index)"), by: driver("42")), at: noon)
        }
        _ = try ledger.settle(register(fcm("new"), by: driver("42")), at: noon - 3_000_000)
        #expect(try ledger.count("devices") == Int64(CommandExecutor.devicesMax))
        #expect(try ledger.database.dump("SELECT masked FROM devices").contains(fcm("new").masked))
    }

    @Test func aDeadTokenGoesThoughItWasSeenInTimesToCome() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        let job = try ledger.claim()[0]
        let earlier = noon - 3_000_000
        let removal = DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: earlier)
        let outcome = PushOutcome(job, .failed(reason: "UNREGISTERED"), wasTried: true, removal: removal)
        #expect(try ledger.report([outcome], at: earlier).removed.count == 1)
        #expect(try ledger.count("devices") == 0)
    }
}

/// What ends in the store is counted as what ends in a lane's hands.
@Suite struct PushEndingTests {
    private let storeroom = TemporaryStore()

    @Test func endingsAreToldOnceAndByLane() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        _ = try ledger.settle(register(apns("00112233445566778899"), by: driver("42")))
        for _ in 0..<3 { _ = try ledger.settle(announce(to: "42")) }
        #expect(ledger.outbox.drainFinished().isEmpty)
        _ = try ledger.settle(unregister(fcm("a"), by: driver("42")))
        var cancelled = FinishedPushes()
        cancelled.cancelled = 3
        #expect(ledger.outbox.drainFinished() == [.fcm: cancelled])
        try ledger.report(room: 5, .apns, at: noon + 3_600_000)
        var expired = FinishedPushes()
        expired.expired = 3
        #expect(ledger.outbox.drainFinished() == [.apns: expired])
        #expect(ledger.outbox.drainFinished().isEmpty)
    }

    /// What a lane has in hand no deed can cancel, but when it comes back there is nobody to send it to.
    @Test(arguments: [true, false]) func whatComesBackToAnotherOwnerOrNobodyIsCancelled(_ isMoved: Bool) throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        for _ in 0..<2 { _ = try ledger.settle(announce(to: "42")) }
        let jobs = try ledger.claim(2)
        _ = try ledger.settle(isMoved ? register(fcm("a"), by: driver("7")) : unregister(fcm("a"), by: driver("42")))
        try ledger.report([
            PushOutcome(jobs[0], .returned, wasTried: false),
            PushOutcome(jobs[1], .retry(at: noon + 60_000, reason: "503"), wasTried: true),
        ])
        let reason = isMoved ? "new_owner" : "device_removed"
        #expect(try ledger.jobs() == Array(repeating: "driver:42|cancelled|\(reason)", count: 2))
        #expect(ledger.outbox.drainFinished()[.fcm]?.cancelled == 2)
    }

    /// A lane cannot know that its failure is not the end, nor that somebody has heard of it already.
    @Test func failuresAreToldOnceAndWhenTheyAreFinal() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("old"), by: driver("42"), deviceID: "phone"))
        _ = try ledger.settle(register(fcm("a"), by: driver("7")))
        for id in ["42", "7"] { _ = try ledger.settle(announce(to: id)) }
        let outcomes = try ledger.claim().map {
            PushOutcome(
                $0, .failed(reason: "UNREGISTERED"), wasTried: true,
                removal: DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: noon + 1))
        }
        _ = try ledger.settle(register(fcm("new"), by: driver("42"), deviceID: "phone"))
        try ledger.report(outcomes)
        var endings = FinishedPushes()
        endings.retried = 1
        endings.failed = [FailedPush(outcomes[1].job, reason: "UNREGISTERED")]
        #expect(ledger.outbox.drainFinished() == [.fcm: endings])
        try ledger.report(outcomes)
        #expect(ledger.outbox.drainFinished().isEmpty, "said twice")
        let again = try ledger.claim()
        #expect(again.map(\.device.token) == [fcm("new")] && again[0].attempts == 1)
    }

    @Test func whatCannotBeReadHasFailedToo() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        let notification = try ledger.settle(announce(to: "42")).notifications[0]
        try ledger.database.run("UPDATE devices SET sealed = X'00'")
        #expect(try ledger.claim() == [])
        let failed = FailedPush(
            notificationID: notification.id, event: "hello", recipient: "driver:42", device: DeviceTable.id(of: fcm("a")),
            attempts: 0, reason: "device_unreadable")
        #expect(ledger.outbox.drainFinished()[.fcm]?.failed == [failed])
    }

    @Test func whatIsRolledBackHasNotEnded() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        _ = try ledger.settle(announce(to: "42"))
        #expect(throws: DatabaseError.self) {
            try ledger.transaction { () throws(DatabaseError) in
                _ = try ledger.execute(unregister(fcm("a"), by: driver("42")), now: noon)
                try ledger.database.run("SELECT nothing")
            }
        }
        #expect(ledger.outbox.drainFinished().isEmpty)
    }
}

/// A phone may come to go by another lane while its job is in a lane's hands: what comes back waits there, and that lane hears
/// of it.
@Suite struct LaneChangeTests {
    private let storeroom = TemporaryStore()

    @Test(arguments: [PushOutcome.Result.returned, .retry(at: noon + 50, reason: "503")])
    func whatComesBackWakesTheLaneWhereItIs(_ fate: PushOutcome.Result) throws {
        let ledger = try storeroom.pushing()
        let token = "abcdef0123456789"
        _ = try ledger.settle(register(apns(token), by: driver("1")))
        _ = try ledger.settle(register(apns("99\(token)"), by: driver("2"), deviceID: "phone"))
        for id in ["1", "2"] { _ = try ledger.settle(announce(to: id)) }
        let jobs = try ledger.claim(9, .apns)
        _ = try ledger.settle(register(apns(token, .sandbox), by: driver("1")))
        _ = try ledger.settle(register(fcm("new"), by: driver("2"), deviceID: "phone"))
        let outcomes = jobs.map { PushOutcome($0, fate, wasTried: false) }
        #expect(try ledger.answer(PushReport(lane: .apns, outcomes: outcomes, capacity: 9)).woken == [.apnsSandbox, .fcm])
        #expect(try ledger.claim(9, .apnsSandbox, at: noon + 50).map(\.device.token) == [apns(token, .sandbox)])
        #expect(try ledger.claim(9, .fcm, at: noon + 50).map(\.device.token) == [fcm("new")])
    }

    @Test func whatComesBackToItsOwnLaneWakesNobody() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("1"), by: driver("1")))
        _ = try ledger.settle(announce(to: "1"))
        let outcomes = try ledger.claim().map { PushOutcome($0, .returned, wasTried: false) }
        #expect(try ledger.answer(PushReport(lane: .fcm, outcomes: outcomes, capacity: 0)).woken == [])
    }
}
