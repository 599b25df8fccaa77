import Fleet
import Primitives
import PusherAPI
import TestSupport
import Testing

@Suite struct SubjectLimitsTests {
    private static let second: Int64 = 1_000_000_000

    private var limits = SubjectLimits(RateLimit(perSecond: 1, burst: 1), countMax: 100)

    private mutating func limit(_ perSecond: Int, burst: Int, countMax: Int = 10_000) {
        limits = SubjectLimits(RateLimit(perSecond: perSecond, burst: burst), countMax: countMax)
    }

    private mutating func permits(_ subject: Int, at now: Int64 = 0) -> Bool { limits.permits("driver:\(subject)", now: now) }

    /// The number of permitted requests, one of each subject.
    private mutating func permitted(_ subjects: Range<Int>) -> Int {
        var count = 0
        for subject in subjects where permits(subject) { count += 1 }
        return count
    }

    @Test mutating func limitsEachSubjectByItself() {
        limit(2, burst: 3)
        var permitted: [Bool] = []
        for _ in 0..<5 { permitted.append(permits(1)) }
        #expect(permitted == [true, true, true, false, false])
        #expect(permits(2))
        #expect(permits(1, at: Self.second / 2), "a token is refilled")
        #expect(!permits(1, at: Self.second / 2))
    }

    /// A list that costs as much as ten commands takes their tokens, also those that are not there yet.
    @Test func longListsCostMore() {
        #expect([0, 1, 50, 51, 200, 1_001].map(SubjectRate.tokens(ofReading:)) == [0, 0, 0, 1, 3, 20])
    }

    @Test mutating func chargesForWork() {
        limit(2, burst: 3)
        #expect(permits(1))
        limits.charge("driver:1", 9, now: 0)
        #expect(!permits(1) && !permits(1, at: 3 * Self.second))
        #expect(permits(1, at: 4 * Self.second), "of ten tokens, three were there")
        #expect(permits(2))
    }

    @Test mutating func rateZeroStoresNobodyForLong() {
        limit(0, burst: 1)
        #expect(permitted(0..<1_000) == 1_000)
        #expect(limits.count <= 2)
    }

    /// Each decision looks at two subjects: what is stored shrinks to those whose buckets are not full.
    @Test mutating func forgetsSubjectsWithFullBuckets() {
        limit(1, burst: 5)
        #expect(permitted(0..<1_000) == 1_000)
        #expect(limits.count == 1_000)
        for _ in 0..<1_000 { _ = permits(-1, at: Self.second) }
        #expect(limits.count <= 2)
    }

    @Test mutating func memoryIsBounded() {
        #expect(permitted(0..<1_000) == 1_000)
        #expect(limits.count == 100)
        #expect(!permits(5), "those that are stored remain limited")
    }

    /// Decides as a table that never forgets.
    @Test(arguments: 0..<50) func forgettingChangesNoDecision(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let rate = RateLimit(perSecond: 1 + random.below(5), burst: 1 + random.below(5))
        var limits = SubjectLimits(rate, countMax: 1_000)
        var buckets: [Int: TokenBucket] = [:]
        var now: Int64 = 0
        for _ in 0..<500 {
            now += Int64(random.below(200)) * 1_000_000
            let subject = random.below(12)
            let expected = buckets[subject, default: TokenBucket()].consume(rate, now: now)
            let isPermitted = limits.permits("driver:\(subject)", now: now)
            #expect(isPermitted == expected)
        }
    }
}
