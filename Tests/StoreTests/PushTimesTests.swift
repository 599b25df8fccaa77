import FleetRules
import Testing

@testable import Store

/// Clocks of machines are set, sometimes back: nothing may wait for the time that was.
@Suite struct ClockSetBackTests {
    private let storeroom = Storeroom()

    private func ledger(_ owners: Identity...) throws -> Ledger {
        let ledger = try storeroom.pushing()
        for owner in owners { _ = try ledger.settle(register(fcm(owner.key), by: owner)) }
        return ledger
    }

    @Test func aRetryDoesNotWaitForTheTimeThatWas() throws {
        let ledger = try ledger(driver("42"))
        _ = try ledger.settle(announce(to: "42"))
        let job = try ledger.claim()[0]
        try ledger.report([PushOutcome(job, .later(at: noon + 2_000, reason: "503"), wasTried: true)], at: noon + 1_000)
        let earlier = noon - 3_000_000
        #expect(try ledger.report(room: 1, at: earlier).nextDueAt == earlier + 5_000)
        #expect(try ledger.report(room: 1, at: earlier + 5_000).jobs.map(\.number) == [job.number])
    }

    @Test func theNewestOfTooManyStaysThoughItLooksTheOldest() throws {
        let ledger = try storeroom.pushing()
        for index in 0..<Ledger.devicesMax { _ = try ledger.settle(register(fcm("\(index)"), by: driver("42")), at: noon) }
        _ = try ledger.settle(register(fcm("new"), by: driver("42")), at: noon - 3_000_000)
        #expect(try ledger.count("devices") == Int64(Ledger.devicesMax))
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
    private let storeroom = Storeroom()

    @Test func endingsAreToldOnceAndByLane() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        _ = try ledger.settle(register(apns("00112233445566778899"), by: driver("42")))
        for _ in 0..<3 { _ = try ledger.settle(announce(to: "42")) }
        #expect(ledger.outbox.takeEndings().isEmpty)
        _ = try ledger.settle(unregister(fcm("a"), by: driver("42")))
        var cancelled = PushEndings()
        cancelled.cancelled = 3
        #expect(ledger.outbox.takeEndings() == [.fcm: cancelled])
        try ledger.report(room: 5, .apns, at: noon + 3_600_000)
        var expired = PushEndings()
        expired.expired = 3
        #expect(ledger.outbox.takeEndings() == [.apns: expired])
        #expect(ledger.outbox.takeEndings().isEmpty)
    }

    /// What a lane has in hand no deed can cancel, but when it comes back there is nobody to send it to.
    @Test(arguments: [true, false]) func whatComesBackToAnotherOwnerOrNobodyIsCancelled(_ isMoved: Bool) throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        for _ in 0..<2 { _ = try ledger.settle(announce(to: "42")) }
        let jobs = try ledger.claim(2)
        _ = try ledger.settle(isMoved ? register(fcm("a"), by: driver("7")) : unregister(fcm("a"), by: driver("42")))
        try ledger.report([
            PushOutcome(jobs[0], .unsent, wasTried: false),
            PushOutcome(jobs[1], .later(at: noon + 60_000, reason: "503"), wasTried: true),
        ])
        let reason = isMoved ? "new_owner" : "device_removed"
        #expect(try ledger.jobs() == Array(repeating: "driver:42|cancelled|\(reason)", count: 2))
        #expect(ledger.outbox.takeEndings()[.fcm]?.cancelled == 2)
    }

    @Test func whatIsRolledBackHasNotEnded() throws {
        let ledger = try storeroom.pushing()
        _ = try ledger.settle(register(fcm("a"), by: driver("42")))
        _ = try ledger.settle(announce(to: "42"))
        #expect(throws: SQLiteError.self) {
            try ledger.transaction { () throws(SQLiteError) in
                _ = try ledger.perform(unregister(fcm("a"), by: driver("42")), now: noon)
                try ledger.database.run("SELECT nothing")
            }
        }
        #expect(ledger.outbox.takeEndings().isEmpty)
    }
}
