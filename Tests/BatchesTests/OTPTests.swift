import Primitives
import Testing

@testable import Fleet

@Suite struct OTPTests {
    private typealias Fixture = BatchFixture
    private static let second: Int64 = 1_000

    private func deliver(_ verdict: OTPVerdict) -> BatchAction {
        Fixture.deliver(Fixture.orderA, .otp("1234"), otp: verdict)
    }

    @Test func aRightCodeIsVerifiedAndAnyIfTheOrderHasNone() throws {
        for (verdict, isVerified) in [(OTPVerdict.matches, true), (.notRequired, false)] {
            var batch = try Fixture.batch(.inProgress)
            try batch.perform(deliver(verdict), at: 9)
            let proof = batch.order(Fixture.orderA)?.assignment?.proof
            #expect(proof == CheckedProof(.otp("1234"), isOTPVerified: isVerified, verifiedAt: 9))
        }
    }

    @Test func wrongAndLockedCodesAreRefused() throws {
        let batch = try Fixture.batch(.inProgress)
        let wrong = try #require(batch.refusal(of: deliver(.wrong)))
        #expect(wrong.code == .wrongOTP && wrong.status == 400)
        #expect(wrong.summary == "Invalid OTP" && wrong.text == "Invalid OTP. Please check with customer.")
        let locked = try #require(batch.refusal(of: deliver(.locked(seconds: 60))))
        #expect(locked.status == 429 && locked.retryAfterSeconds == 60 && locked.summary == "Too many requests")
        // Other reports are possible during a lock.
        for verdict in [OTPVerdict.wrong, .locked(seconds: 60)] {
            #expect(batch.refusal(of: Fixture.deliver(Fixture.orderA, otp: verdict)) == nil)
            let failed = DeliveryReport(.failed(.other), notes: "x")
            let action = BatchAction.report(failed, of: Fixture.orderA, by: Fixture.driver.accountID, otp: verdict)
            #expect(batch.refusal(of: action) == nil)
        }
    }

    /// A wrong code must not count if the report is refused for another reason, or is a repetition.
    @Test func theCodeIsLookedAtLast() throws {
        #expect(try Fixture.batch(.dispatched).refusal(of: deliver(.wrong))?.code == .notPickedUp)
        #expect(try Fixture.batch(.cancelled).refusal(of: deliver(.wrong))?.code == .orderCancelled)
        let failed = try Fixture.batch(.partialComplete)
        let action = Fixture.deliver(Fixture.orderB, .otp("1234"), otp: .locked(seconds: 1))
        #expect(failed.refusal(of: action)?.summary == "Invalid status transition")
        var delivered = try Fixture.batch(.completed)
        #expect(try delivered.perform(deliver(.wrong)).isRepetition)
    }

    private func attempts(_ seconds: Int64...) -> OTPAttempts {
        OTPAttempts(wrongAt: seconds.map { Fixture.start + $0 * Self.second })
    }

    private func locked(_ attempts: OTPAttempts, _ seconds: Int64) -> Int? {
        attempts.lockedSeconds(at: Fixture.start + seconds * Self.second)
    }

    @Test func fiveWrongCodesLockUntilTheFirstIs15MinutesOld() {
        #expect(locked(attempts(0, 1, 2, 3), 4) == nil)
        let five = attempts(0, 1, 2, 3, 100)
        #expect(locked(five, 100) == 800 && locked(five, 899) == 1 && locked(five, 900) == nil)
        #expect(five.lockedSeconds(at: Fixture.start + 899_999) == 1 && five.lockedSeconds(at: Fixture.start + 100_001) == 800)
        // Five in 15 minutes and a second do not lock.
        #expect(locked(attempts(0, 1, 2, 3, 900), 900) == nil)
    }

    @Test func theWindowSlides() {
        var attempts = attempts(0, 1, 2, 3, 4)
        #expect(locked(attempts, 900) == nil)
        attempts.recordWrong(at: Fixture.start + 900_000)
        #expect(locked(attempts, 900) == 1 && locked(attempts, 901) == nil)
        #expect(attempts.wrongAt.count == OTPAttempts.wrongMax)
    }

    @Test func anyOrderAndAClockThatIsSetBack() {
        #expect(attempts(4, 0, 3, 1, 2, -5) == attempts(0, 1, 2, 3, 4))
        #expect(locked(attempts(0, 1, 2, 3, 4), -60) == 900 && locked(attempts(0, 1, 2, 3, 4), -61) == nil)
    }

    @Test func codesAreNotComparedDuringALock() {
        var compared = 0
        func verdict(_ attempts: OTPAttempts, isRight: Bool) -> OTPVerdict {
            attempts.verdict(at: Fixture.start + 5_000) {
                compared += 1
                return isRight
            }
        }
        #expect(verdict(attempts(0, 1, 2, 3), isRight: true) == .matches)
        #expect(verdict(attempts(0, 1, 2, 3), isRight: false) == .wrong && compared == 2)
        #expect(verdict(attempts(0, 1, 2, 3, 4), isRight: true) == .locked(seconds: 895) && compared == 2)
    }
}
