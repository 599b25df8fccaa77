import Fleet
import HTTPClient
import TestSupport
import Testing

@testable import Push

/// What a provider asks with `retry-after` is kept up to ten minutes. So a provider, or a proxy, cannot silence a lane
/// for longer.
struct LaneRetryAfterTests {
    private static let longest: Int64 = 600_000
    private static let day: Int64 = 86_400_000

    /// A lane with jobs 1 to 3 in flight, which live for a day.
    private func makeFixture() -> LaneFixture {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.supply((1...3).map { LaneFixture.job($0, expiresAt: fixture.now + Self.day) })
        #expect(fixture.drainSent() == [1, 2, 3])
        return fixture
    }

    /// The lane gets the same response to three requests in a row, which pauses it.
    private func makePausedFixture(_ retryAfter: Int64) -> LaneFixture {
        var fixture = makeFixture()
        for number in 1...3 as ClosedRange<Int64> { fixture.respond(number, .retry(reason: "UNAVAILABLE", after: retryAfter)) }
        fixture.performEffects()
        #expect(fixture.lane.status.state == .paused)
        return fixture
    }

    /// `wait`: milliseconds until the retry, without the random part.
    @Test(
        arguments: [(7_000, 7_000), (599_999, 599_999), (600_000, longest), (600_001, longest), (day, longest), (.max, longest)]
            as [(Int64, Int64)])
    func jobWaitsAtMostTenMinutes(_ retryAfter: Int64, _ wait: Int64) throws {
        for (result, random) in [
            (.retry(reason: "UNAVAILABLE", after: retryAfter), min(wait / 2, 30_000)),
            (.shutdown(reason: "Shutdown", after: retryAfter), min(wait / 2, 30_000)),
            (.deviceThrottled(reason: "QUOTA_EXCEEDED", after: retryAfter), 0),
        ] as [(SendResult, Int64)] {
            var fixture = makeFixture()
            fixture.respond(1, result)
            fixture.performEffects()
            let outcome = try #require(fixture.drainReport()?.outcomes.first)
            guard case .retry(let at, _) = outcome.result else {
                Issue.record("\(outcome)")
                continue
            }
            #expect((wait...wait + random).contains(at - fixture.now), "\(result)")
        }
    }

    @Test(
        arguments: [(60_000, 60_000), (599_999, 599_999), (600_001, longest), (day, longest), (.max, longest)]
            as [(Int64, Int64)])
    func laneWaitsAtMostTenMinutesAndShowsUntilWhen(_ retryAfter: Int64, _ wait: Int64) {
        var fixture = makePausedFixture(retryAfter)
        #expect(fixture.events.contains(.paused(reason: "UNAVAILABLE", milliseconds: wait)))
        let until = fixture.now + wait
        #expect(fixture.lane.status.pausedUntil == until)
        _ = fixture.drainReport()
        fixture.supply([], hasMore: true)
        fixture.pass(wait - 1)
        #expect(fixture.drainReport()?.capacity == 0)
        fixture.supply([], hasMore: true)
        // One request tests whether the provider works again; the others follow.
        fixture.pass(1)
        #expect(fixture.lane.status.pausedUntil == until)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(11...11), hasMore: true)
        #expect(fixture.drainSent() == [11])
        fixture.respond(11, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running && fixture.lane.status.pausedUntil == nil)
        #expect(fixture.drainReport()?.capacity == 2)
    }

    @Test func laneThatIsNotPausedShowsNoTime() {
        var fixture = LaneFixture()
        #expect(fixture.lane.status.pausedUntil == nil)
        fixture.handle(.credential(.missing(reason: "no access token: 500")))
        #expect(fixture.lane.status.state == .paused && fixture.lane.status.pausedUntil == nil)
        fixture.handle(.credential(.refused(reason: "invalid_grant")))
        #expect(fixture.lane.status.state == .stopped && fixture.lane.status.pausedUntil == nil)
    }

    /// An operator should look at the longest pause: the retry-after may be a proxy's instead of the provider's.
    @Test(arguments: [(599_999, 0), (600_000, 1), (day, 1), (.max, 1)] as [(Int64, Int)])
    func onlyTheLongestPauseRaisesAnAlarm(_ retryAfter: Int64, _ alarmCount: Int) {
        var fixture = makePausedFixture(retryAfter)
        #expect(fixture.drainEvents().count { if case .alarm = $0 { true } else { false } } == alarmCount)
    }

    /// The notification of job 1 ends before the retry. The store expires the job at that end, not the lane before.
    @Test(arguments: [nil, 60_000, day] as [Int64?])
    func jobIsNotExpiredBeforeItsEnd(_ retryAfter: Int64?) throws {
        for result in [
            .retry(reason: "UNAVAILABLE", after: retryAfter), .deviceThrottled(reason: "QUOTA_EXCEEDED", after: retryAfter),
        ] as [SendResult] {
            var fixture = LaneFixture()
            fixture.performEffects()
            let job = LaneFixture.job(1, expiresAt: fixture.now + 900)
            fixture.supply([job])
            fixture.respond(1, result)
            fixture.performEffects()
            let outcome = try #require(fixture.drainReport()?.outcomes.first)
            guard case .retry(let at, _) = outcome.result else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(at >= fixture.now + max(1_000, min(retryAfter ?? 0, Self.longest)))
            #expect(!fixture.drainEvents().contains(.expired(job)))
        }
    }
}
