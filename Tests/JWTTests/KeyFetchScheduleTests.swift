import JWT
import Testing

@Suite struct KeyFetchScheduleTests {
    private static func schedule(
        _ outcome: KeyFetchSchedule.Outcome, _ cause: KeyFetchSchedule.Cause = .age, at start: Int64 = 1_000
    ) -> KeyFetchSchedule {
        var schedule = KeyFetchSchedule(now: start)
        schedule.record(outcome, of: cause, startedAt: start)
        return schedule
    }

    @Test func firstFetchIsDueAtOnce() {
        let schedule = KeyFetchSchedule(now: 1_000)
        #expect(schedule.secondsUntilRefresh(now: 1_000) == 0 && schedule.secondsUntilFetchForUnknownKey(now: 1_000) == 0)
    }

    @Test(
        "A document is fetched again at its max-age, within a minute and a day",
        arguments: [
            (nil, 600), (0, 60), (59, 60), (60, 60), (3_600, 3_600), (86_400, 86_400), (.max, 86_400),
        ] as [(Int64?, Int64)])
    func refresh(maxAge: Int64?, expected: Int64) {
        for outcome in [KeyFetchSchedule.Outcome.newKeys(maxAgeSeconds: maxAge), .noNewKeys(maxAgeSeconds: maxAge)] {
            let schedule = Self.schedule(outcome)
            #expect(schedule.secondsUntilRefresh(now: 1_000) == expected)
            #expect(schedule.secondsUntilRefresh(now: 1_000 + expected - 1) == 1)
            #expect(schedule.secondsUntilRefresh(now: 1_000 + expected) == 0)
            #expect(schedule.secondsUntilRefresh(now: 2_000_000) == 0)
        }
    }

    @Test func failedRefreshIsRepeatedSoon() {
        var schedule = Self.schedule(.failed)
        #expect(schedule.secondsUntilRefresh(now: 1_000) == 5)
        schedule.record(.newKeys(maxAgeSeconds: 3_600), of: .age, startedAt: 1_060)
        schedule.record(.failed, of: .unknownKey, startedAt: 1_100)
        #expect(schedule.secondsUntilRefresh(now: 1_100) == 3_560, "the document is still fresh")
    }

    @Test func fruitlessFetchesForUnknownKeysAreLimitedToOneAMinute() {
        let schedule = Self.schedule(.noNewKeys(maxAgeSeconds: 5), .unknownKey)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_000) == 60)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_059) == 1)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_060) == 0)
    }

    /// Users whose keys could not be fetched must not wait a minute for an issuer that is back.
    @Test func failedFetchForAnUnknownKeyIsRepeatedSoon() {
        let schedule = Self.schedule(.failed, .unknownKey)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_000) == 5)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_005) == 0)
    }

    @Test func newKeysEndTheLimit() {
        var schedule = Self.schedule(.newKeys(maxAgeSeconds: nil), .unknownKey)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_000) == 0)
        schedule.record(.noNewKeys(maxAgeSeconds: nil), of: .unknownKey, startedAt: 1_001)
        schedule.record(.newKeys(maxAgeSeconds: nil), of: .age, startedAt: 1_002)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_002) == 0)
    }

    @Test("A refresh does not use up the fetch that the next unknown key may cause")
    func refreshesAreNotCounted() {
        for outcome in [KeyFetchSchedule.Outcome.noNewKeys(maxAgeSeconds: 5), .failed] {
            #expect(Self.schedule(outcome, .age).secondsUntilFetchForUnknownKey(now: 1_000) == 0)
        }
        var schedule = Self.schedule(.noNewKeys(maxAgeSeconds: 5), .unknownKey)
        schedule.record(.noNewKeys(maxAgeSeconds: nil), of: .age, startedAt: 1_010)
        #expect(schedule.secondsUntilFetchForUnknownKey(now: 1_010) == 50, "and does not give one back")
    }
}
