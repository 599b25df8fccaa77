import Fleet
import Primitives
import Testing

@Suite struct SignInCodeLimitsTests {
    private static let start: Int64 = 1_795_253_400_000

    private func time(_ seconds: Double) -> Int64 { Self.start + Int64(seconds * 1_000) }

    private func refusal(toPhone: [Int64], at seconds: Double) -> RuleError? {
        SignInCodeLimits().refusal(SignInCodeLimits.Sent(toPhone: toPhone), now: time(seconds))?.error
    }

    private func limited(_ seconds: Int) -> RuleError { RuleError(.tooManyRequests, retryAfterSeconds: seconds) }

    @Test func fiveCodesInAnHour() {
        let sent = [0.0, 60, 120, 180, 240].map(time)
        #expect(refusal(toPhone: Array(sent.dropLast()), at: 300) == nil)
        #expect(refusal(toPhone: sent, at: 300) == limited(3_300))
        #expect(refusal(toPhone: sent.reversed(), at: 3_599.999) == limited(1))
        #expect(refusal(toPhone: sent, at: 3_600) == nil)
        #expect(refusal(toPhone: sent, at: 180) == limited(3_420), "within a minute")
        #expect(refusal(toPhone: sent, at: -9_000) == nil, "the clock was set back")
    }

    @Test func tenCodesInADay() {
        let sent = (0..<10).map { time(Double($0) * 4_000) }
        #expect(refusal(toPhone: sent, at: 40_000) == limited(46_400))
        #expect(refusal(toPhone: sent, at: 86_400) == nil)
        #expect(refusal(toPhone: Array(sent.dropFirst()), at: 40_000) == nil)
    }

    // MARK: All phones

    private static let limits = SignInCodeLimits(dailyMax: 41, prefixDailyMax: 7)

    private func limit(_ toAll: Int, _ new: SignInCodeLimits.OfNewPhones? = nil, at seconds: Double = 0) -> SignInCodeLimit? {
        let refusal = Self.limits.refusal(SignInCodeLimits.Sent(toAll: toAll, ofNewPhones: new), now: time(seconds))
        if let refusal { #expect(refusal.error.kind == .unavailable && (refusal.error.retryAfterSeconds ?? 0) > 0) }
        return refusal?.limit
    }

    @Test func theDailyMaximumIsThatOfAllPhones() {
        #expect(limit(40) == nil && limit(41) == .dailyMax && limit(40, .init()) == nil && limit(41, .init()) == .dailyMax)
    }

    @Test func halfOfItIsKeptForPhonesWithAnAccount() {
        #expect(limit(30, .init(all: 20)) == nil && limit(30, .init(all: 21)) == .newPhones)
        #expect(limit(30) == nil)
        #expect([1, 2, 3].map { SignInCodeLimits(dailyMax: $0).newPhonesMax } == [1, 1, 2])
    }

    @Test func newPhonesAreLimitedByPrefixAndAddress() {
        #expect(limit(9, .init(all: 9, ofPrefix: 6)) == nil && limit(9, .init(all: 9, ofPrefix: 7)) == .prefix)
        #expect(limit(9, .init(all: 9, fromAddress: 1)) == nil && limit(9, .init(all: 9, fromAddress: 2)) == .address)
        #expect(SignInCodeLimits(dailyMax: 10_000).addressMax == 500 && SignInCodeLimits(dailyMax: 3).addressMax == 1)
    }

    @Test func aPrefixStopsWithoutSignIns() {
        var prefix = SignInCodePrefix()
        for number in 1...49 {
            let stops = prefix.send(at: time(Double(number)))
            #expect(!stops)
        }
        var withSignIn = prefix
        withSignIn.signIn()
        #expect(prefix.stoppedSeconds(now: time(49)) == nil)
        #expect(prefix.send(at: time(50)) && limit(9, .init(prefix: prefix), at: 51) == .stoppedPrefix)
        #expect(!withSignIn.send(at: time(50)) && withSignIn.unused == 1)
        #expect(prefix.stoppedSeconds(now: time(50)) == 3_600 && prefix.stoppedSeconds(now: time(3_649.5)) == 1)
        #expect(prefix.stoppedSeconds(now: time(3_650)) == nil, "the hour is over")
        #expect(prefix.stoppedSeconds(now: time(-11)) == nil, "the clock was set back")
        var after = prefix
        #expect(!after.send(at: time(3_650)) && after == SignInCodePrefix(unused: 1), "another 50")
        prefix.withdraw()
        #expect(prefix == SignInCodePrefix(unused: 49), "it was not sent")
        for _ in 0..<60 { prefix.withdraw() }
        #expect(prefix == SignInCodePrefix())
    }

    @Test func anOwnAddressIsOneOf90Days() {
        let (now, day) = (time(0), 86_400.0)
        #expect(SignInCodeLimits.isOwnAddress(signedInAt: now, now: now))
        #expect(SignInCodeLimits.isOwnAddress(signedInAt: time(-90 * day + 1), now: now))
        #expect(!SignInCodeLimits.isOwnAddress(signedInAt: time(-90 * day), now: now))
        #expect(!SignInCodeLimits.isOwnAddress(signedInAt: time(61), now: now), "the clock was set back")
    }

    // MARK: E-mail addresses

    @Test func fiveEmailAddressesOfOthersInAnHour() {
        var refusals = EmailRefusals()
        for minute in 0..<5 {
            #expect(refusals.refusal(now: time(Double(minute) * 60)) == nil)
            refusals.record(at: time(Double(minute) * 60))
        }
        #expect(refusals.refusal(now: time(300)) == limited(3_300))
        #expect(refusals.refusal(now: time(3_600)) == nil)
        refusals.record(at: time(3_600))
        #expect(refusals.times.count == 5 && refusals.refusal(now: time(3_601)) == limited(59))
        #expect(EmailRefusals(times: refusals.times.reversed()) == refusals)
    }
}
