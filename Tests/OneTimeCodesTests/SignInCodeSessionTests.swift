import Fleet
import Primitives
import Testing

@Suite struct SignInCodeSessionTests {
    private static let start: Int64 = 1_795_253_400_000
    private static let over = RuleError(.sessionOver)
    private static let noTries = RuleError(.noTriesLeft)
    private var session = SignInCodeSession(id: "temp_1", phone: "+4912345", now: start)

    private func time(_ seconds: Double) -> Int64 { Self.start + Int64(seconds * 1_000) }

    private func verify(_ isRight: Bool, at seconds: Double) throws(RuleError) -> SignInCodeSession.Verdict {
        try SignInCodeSession.verifying(session, isRight: isRight, now: time(seconds))
    }

    @Test mutating func countsDown() {
        #expect(session.secondsLeft(now: time(0)) == 300 && session.cooldownSeconds(now: time(0)) == 60)
        #expect(session.secondsLeft(now: time(59.5)) == 241 && session.cooldownSeconds(now: time(59.5)) == 1)
        #expect(session.secondsLeft(now: time(60)) == 240 && session.cooldownSeconds(now: time(60)) == 0)
        #expect(session.secondsLeft(now: time(301)) == 0)
        #expect(session.secondsLeft(now: time(-3_600)) == 300, "the clock was set back")
        #expect(session.cooldownSeconds(now: time(-60)) == 60, "the clock was adjusted")
        #expect(session.cooldownSeconds(now: time(-60.001)) == 0, "the clock was set back")
    }

    @Test mutating func aLoginGetsTheSessionAgainWithinAMinute() {
        #expect(session.answersLogin(now: time(0)) && session.answersLogin(now: time(59.999)))
        #expect(!session.answersLogin(now: time(60)))
        session.smsState = .failed
        #expect(!session.answersLogin(now: time(1)), "a failed SMS has no cooldown")
        session.smsState = .sent
        session.verifiedAt = time(5)
        #expect(!session.answersLogin(now: time(10)), "the session is over")
    }

    @Test mutating func theFifthWrongCodeEndsTheCode() throws {
        for left in [4, 3, 2, 1, 0] {
            guard case .wrong(let changed, let error) = try verify(false, at: 10) else {
                Issue.record("\(left)")
                return
            }
            let wrong = RuleError(.wrongDigits, figures: [.init("attempts_remaining", left)])
            #expect(error == (left == 0 ? Self.noTries : wrong))
            session = changed
        }
        #expect(throws: Self.noTries) { try verify(true, at: 11) }
        session = try SignInCodeSession.resending(session, refusal: nil, now: time(60))
        #expect(session.triesLeft == 5 && session.sentAt == time(60) && session.smsState == .sending)
    }

    @Test mutating func aCodeIsGoodOnce() throws {
        guard case .verified(let verified) = try verify(true, at: 299.999) else {
            Issue.record("refused")
            return
        }
        session = verified
        #expect(try verify(true, at: 359.998) == .repeated)
        #expect(throws: Self.over) { try verify(false, at: 300) }
        #expect(throws: Self.over) { try verify(true, at: 360) }
        #expect(throws: Self.over) { try SignInCodeSession.resending(session, refusal: nil, now: time(400)) }
    }

    @Test mutating func codesExpire() throws {
        #expect(throws: RuleError(.codeExpired)) { try verify(true, at: 300) }
        #expect(throws: Self.over) { try verify(true, at: 3_900) }
        #expect(throws: Self.over) { try SignInCodeSession.verifying(nil, isRight: true, now: time(1)) }
        #expect(throws: RuleError(.codeExpired)) { try verify(true, at: -61) }
        guard case .verified = try verify(true, at: -60) else {
            Issue.record("the clock was set back by a minute only")
            return
        }
        session.smsState = .failed
        #expect(throws: RuleError(.codeExpired)) { try verify(true, at: 1) }
    }

    @Test mutating func resendsAfterTheCooldown() throws {
        let wait = RuleError(.codeCooldown, retryAfterSeconds: 1, figures: [.init("cooldown_remaining", 1)])
        let limited = RuleError(.tooManyRequests, retryAfterSeconds: 9)
        #expect(throws: wait) { try SignInCodeSession.resending(session, refusal: limited, now: time(59.001)) }
        #expect(throws: limited) { try SignInCodeSession.resending(session, refusal: limited, now: time(60)) }
        #expect(throws: Self.over) { try SignInCodeSession.resending(nil, refusal: nil, now: time(60)) }
        #expect(throws: Self.over) { try SignInCodeSession.resending(session, refusal: nil, now: time(3_900)) }
        #expect(try SignInCodeSession.resending(session, refusal: nil, now: time(3_899)).id == "temp_1")
        session.smsState = .failed
        #expect(try SignInCodeSession.resending(session, refusal: nil, now: time(1)).smsState == .sending)
    }

    @Test mutating func aCodeWithUnknownDeliveryIsGoodAndBlocksNothing() throws {
        session.smsState = .unknown
        #expect(!session.answersLogin(now: time(1)) && session.cooldownSeconds(now: time(1)) == 0)
        #expect(try SignInCodeSession.resending(session, refusal: nil, now: time(1)).smsState == .sending)
        guard case .verified = try verify(true, at: 1) else {
            Issue.record("refused")
            return
        }
    }

    @Test mutating func theOutcomeOfTheSMSBeginsTheTimes() {
        session.delivered(true, now: time(4))
        #expect(session.smsState == .sent && session.sentAt == time(4))
        session.delivered(false, now: time(5))
        #expect(session.smsState == .sent, "the first outcome counts")
        session.smsState = .sending
        session.verifiedAt = time(6)
        session.delivered(true, now: time(7))
        #expect(session.sentAt == time(4), "the sign-in came first")
        session.smsState = .sending
        session.delivered(false, now: time(8))
        #expect(session.smsState == .failed && session.sentAt == time(4))
    }

    @Test func theCooldownIsThatOfThePhonesNewestCode() throws {
        let newest = SignInCodeSession(id: "temp_2", phone: "+4912345", now: time(70))
        let wait = try #require(
            #expect(throws: RuleError.self) {
                try SignInCodeSession.resending(session, newest: newest, refusal: nil, now: time(80))
            })
        #expect(wait.retryAfterSeconds == 50)
        #expect(try SignInCodeSession.resending(session, newest: newest, refusal: nil, now: time(130)).id == "temp_1")
    }

    @Test func aPhoneWithoutTriesMayNotTry() throws {
        #expect(throws: Self.noTries) {
            try SignInCodeSession.verifying(session, isRight: true, mayTry: false, now: time(1))
        }
        let tries = (0..<25).map { _ in time(0) }
        let limits = SignInCodeLimits()
        #expect(limits.mayTry(wrong: Array(tries.dropLast()), now: time(1)))
        #expect(!limits.mayTry(wrong: tries, now: time(3_599.999)) && limits.mayTry(wrong: tries, now: time(3_600)))
        let day = (0..<50).map { time(Double($0) * 1_000) }
        #expect(!limits.mayTry(wrong: day, now: time(80_000)) && limits.mayTry(wrong: Array(day.dropFirst()), now: time(80_000)))
        #expect(limits.mayTry(wrong: day, now: time(86_400)))
    }
}
