import Access
import Testing

@testable import JWT

@Suite struct IntrospectedTokensTests {
    typealias Tokens = IntrospectedTokens<Int>

    private static let driver = VerificationResult.identity(Identity(role: .driver, id: "42"))

    private static func active(until expiry: Int64?, bytes: Int = 0) -> IntrospectionAnswer {
        IntrospectionAnswer(result: driver, expiresAt: expiry, byteCount: bytes)
    }

    private static func at(_ second: Int64) -> AnswerMoment {
        AnswerMoment(unixSeconds: second, monotonicMilliseconds: second * 1_000)
    }

    private static func tokens(
        fresh: Int64 = 60, _ change: (inout Tokens.Rules) -> Void = { _ in }
    ) -> Tokens {
        var rules = Tokens.Rules(freshMilliseconds: fresh * 1_000, pauseMilliseconds: 5_000)
        change(&rules)
        return Tokens(rules)
    }

    private static func digest(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

    // MARK: One question at a time

    @Test func asksOnceForAllWhoWait() {
        var tokens = Self.tokens()
        #expect(tokens.lookUp([1], at: Self.at(0)) == nil)
        #expect(tokens.ask([1], for: 10, at: Self.at(0)) == .question(isKnown: false))
        #expect(tokens.ask([1], for: 11, at: Self.at(1)) == .joined)
        #expect(tokens.ask([2], for: 12, at: Self.at(1)) == .question(isKnown: false))
        #expect(tokens.waiting == 3)
        let end = tokens.finish([1], Self.active(until: 1_000), at: Self.at(2))
        #expect(end.waiters == [10, 11] && end.known?.answer.result == Self.driver && end.known?.isStale == false)
        #expect(tokens.waiting == 1)
        #expect(tokens.ask([1], for: 13, at: Self.at(2)) == .answered(.init(answer: Self.active(until: 1_000), isStale: false)))
        #expect(tokens.finish([1], nil, at: Self.at(3)).waiters == [], "nobody waits twice")
    }

    @Test func givesNothingIfTheBackendIsAwayAndTheTokenIsNew() {
        var tokens = Self.tokens()
        _ = tokens.ask([1], for: 10, at: Self.at(0))
        let end = tokens.finish([1], nil, at: Self.at(1))
        #expect(end.known == nil && end.waiters == [10])
        #expect(tokens.ask([1], for: 11, at: Self.at(1)) == .question(isKnown: false), "the next request asks again")
    }

    // MARK: How long answers count

    @Test(arguments: [(1_000, 60), (30, 30), (nil, 60)] as [(Int64?, Int64)])
    func isFreshUntilTheEarlierOfBothEnds(expiry: Int64?, end: Int64) {
        var tokens = Self.tokens()
        _ = tokens.finish([1], Self.active(until: expiry), at: Self.at(0))
        #expect(tokens.lookUp([1], at: Self.at(end - 1))?.answer.result == Self.driver)
        #expect(tokens.lookUp([1], at: Self.at(end)) == nil)
    }

    @Test func keepsForAsLongThatATokenIsNotActive() {
        var tokens = Self.tokens()
        _ = tokens.finish([1], .inactive, at: Self.at(0))
        #expect(tokens.lookUp([1], at: Self.at(59))?.answer == .inactive)
        #expect(tokens.lookUp([1], at: Self.at(60)) == nil)
        _ = tokens.ask([1], for: 1, at: Self.at(60))
        #expect(tokens.finish([1], nil, at: Self.at(60)).known == nil, "only what lets users in counts for longer")
    }

    @Test func aSetBackClockDoesNotProlongAnAnswer() {
        var tokens = Self.tokens()
        _ = tokens.finish([1], Self.active(until: 100_000), at: Self.at(50_000))
        let later = AnswerMoment(unixSeconds: 40_000, monotonicMilliseconds: 50_060_000)
        #expect(tokens.lookUp([1], at: later) == nil)
    }

    @Test func aRevokedTokenIsRefusedAtTheNextAnswer() {
        var tokens = Self.tokens()
        _ = tokens.finish([1], Self.active(until: 1_000), at: Self.at(0))
        #expect(tokens.ask([1], for: 1, at: Self.at(60)) == .question(isKnown: true))
        #expect(tokens.finish([1], .inactive, at: Self.at(61)).known?.answer == .inactive)
        #expect(tokens.lookUp([1], at: Self.at(62))?.answer == .inactive)
        _ = tokens.ask([1], for: 1, at: Self.at(200))
        #expect(tokens.finish([1], nil, at: Self.at(200)).known == nil, "an older answer does not come back")
    }

    @Test func whileTheBackendIsAwayAnAnswerCountsUntilTheTokenExpires() {
        var tokens = Self.tokens()
        _ = tokens.finish([1], Self.active(until: 100), at: Self.at(0))
        #expect(tokens.ask([1], for: 1, at: Self.at(60)) == .question(isKnown: true))
        let end = tokens.finish([1], nil, at: Self.at(61))
        #expect(end.known == .init(answer: Self.active(until: 100), isStale: true) && end.waiters == [1])
        #expect(tokens.lookUp([1], at: Self.at(65))?.isStale == true, "no request waits while the backend is known to be away")
        #expect(tokens.lookUp([1], at: Self.at(66)) == nil, "then it is asked again")
        _ = tokens.ask([1], for: 2, at: Self.at(98))
        _ = tokens.finish([1], nil, at: Self.at(98))
        #expect(tokens.lookUp([1], at: Self.at(99))?.isStale == true)
        #expect(tokens.lookUp([1], at: Self.at(100)) == nil)
        #expect(tokens.ask([1], for: 3, at: Self.at(100)) == .question(isKnown: false))
        #expect(tokens.finish([1], nil, at: Self.at(101)).known == nil)
    }

    @Test func anAnswerWithoutAnEndIsNeverStale() {
        var tokens = Self.tokens()
        _ = tokens.finish([1], Self.active(until: nil), at: Self.at(0))
        _ = tokens.ask([1], for: 1, at: Self.at(60))
        #expect(tokens.finish([1], nil, at: Self.at(60)).known == nil)
    }

    @Test func anAnswerThatIsFreshForNoTimeStillOutlivesAnOutage() {
        var tokens = Self.tokens(fresh: 0)
        _ = tokens.finish([1], Self.active(until: 100), at: Self.at(0))
        #expect(tokens.lookUp([1], at: Self.at(0)) == nil, "each request asks")
        _ = tokens.ask([1], for: 1, at: Self.at(1))
        #expect(tokens.finish([1], nil, at: Self.at(1)).known?.isStale == true)
        _ = tokens.finish([2], .inactive, at: Self.at(1))
        #expect(tokens.kept.inactive == 0)
    }

    // MARK: Bounds

    @Test func boundsTheRequestsThatWaitForAToken() {
        var tokens = Self.tokens { $0.waitersMax = 3 }
        for waiter in 1...3 { _ = tokens.ask([1], for: waiter, at: Self.at(0)) }
        #expect(tokens.ask([1], for: 4, at: Self.at(0)) == .tooManyWaiters)
        #expect(tokens.ask([2], for: 5, at: Self.at(0)) == .question(isKnown: false), "others are not concerned")
        #expect(tokens.finish([1], nil, at: Self.at(0)).waiters == [1, 2, 3])
    }

    /// Strangers' tokens do not keep the gateway from asking about its users.
    @Test func boundsTheTokensThatAreAskedAboutAndKeepsRoomForKnownOnes() {
        var tokens = Self.tokens { $0.tokensMax = 2 }
        for number in 0..<3 { _ = tokens.finish(Self.digest(number), Self.active(until: 1_000), at: Self.at(0)) }
        for number in 100..<102 { _ = tokens.ask(Self.digest(number), for: 0, at: Self.at(60)) }
        #expect(tokens.ask(Self.digest(102), for: 0, at: Self.at(60)) == .tooManyTokens)
        for number in 0..<2 { #expect(tokens.ask(Self.digest(number), for: 0, at: Self.at(60)) == .question(isKnown: true)) }
        #expect(tokens.ask(Self.digest(2), for: 0, at: Self.at(60)) == .tooManyTokens)
        _ = tokens.finish(Self.digest(0), nil, at: Self.at(60))
        #expect(tokens.ask(Self.digest(2), for: 0, at: Self.at(60)) == .question(isKnown: true))
        #expect(tokens.ask(Self.digest(102), for: 0, at: Self.at(60)) == .tooManyTokens)
        _ = tokens.finish(Self.digest(100), nil, at: Self.at(60))
        #expect(tokens.ask(Self.digest(102), for: 0, at: Self.at(60)) == .question(isKnown: false))
    }

    @Test func boundsWhatIsKeptAndForgetsWhatIsNotUsed() {
        var tokens = Self.tokens { ($0.activeMax, $0.inactiveMax) = (100, 50) }
        _ = tokens.finish([9, 9], Self.active(until: 1_000), at: Self.at(0))
        for number in 0..<1_000 {
            _ = tokens.finish(Self.digest(number), Self.active(until: 1_000), at: Self.at(0))
            _ = tokens.finish(Self.digest(2_000 + number), .inactive, at: Self.at(0))
            #expect(tokens.kept.active <= 100 && tokens.kept.inactive <= 50)
            #expect(tokens.lookUp([9, 9], at: Self.at(0)) != nil, "what is in use is kept")
        }
        #expect(tokens.dropped > 1_500)
    }

    /// 10,000 tokens of strangers displace nobody's.
    @Test func inactiveTokensDisplaceNoActiveOnes() {
        var tokens = Self.tokens { $0.activeMax = 20 }
        for number in 0..<10 { _ = tokens.finish([1, UInt8(number)], Self.active(until: 1_000), at: Self.at(0)) }
        for number in 0..<10_000 { _ = tokens.finish(Self.digest(number + 20_000), .inactive, at: Self.at(0)) }
        for number in 0..<10 { #expect(tokens.lookUp([1, UInt8(number)], at: Self.at(1)) != nil) }
        #expect(tokens.kept.inactive == 10_000 && tokens.dropped == 0)
    }

    @Test func boundsTheMemoryOfAnswers() {
        var tokens = Self.tokens { $0.activeBytesMax = 100_000 }
        for number in 0..<1_000 {
            _ = tokens.finish(Self.digest(number), Self.active(until: 1_000, bytes: 10_000), at: Self.at(0))
            #expect(tokens.kept.bytes <= 100_000)
        }
        #expect(tokens.kept.active == 8 && tokens.kept.bytes == 8 * 10_300)
        for number in 0..<1_000 { _ = tokens.finish(Self.digest(number), .inactive, at: Self.at(0)) }
        #expect(tokens.kept.active == 0 && tokens.kept.bytes == 0)
    }

    /// An answer that is worth nothing any more is no loss.
    @Test func countsOnlyUsefulAnswersAsDropped() {
        var tokens = Self.tokens { $0.activeMax = 10 }
        for number in 0..<5 { _ = tokens.finish(Self.digest(number), Self.active(until: 100), at: Self.at(0)) }
        for number in 10..<20 { _ = tokens.finish(Self.digest(number), Self.active(until: 1_000), at: Self.at(100)) }
        #expect(tokens.dropped == 0)
        for number in 20..<30 { _ = tokens.finish(Self.digest(number), Self.active(until: 1_000), at: Self.at(100)) }
        #expect(tokens.dropped == 10)
    }
}
