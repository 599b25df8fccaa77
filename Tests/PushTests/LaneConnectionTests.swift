import Fleet
import HTTPClient
import TestSupport
import Testing

@testable import Push

/// How a lane adapts to its provider: the number of requests in flight (the window), connections that it retires,
/// pauses, and the probe requests that end a pause. A setback starts a new epoch, and results of requests from earlier
/// epochs are ignored.
struct LaneConnectionTests {
    /// A lane with jobs 1 to `count` in flight, all started now, and without a report under way.
    private func makeFixture(inFlight count: Int64, window: Int = 64) -> LaneFixture {
        var fixture = LaneFixture(window: window)
        fixture.warmUp(Int(count))
        fixture.supply(LaneFixture.jobs(1...count))
        #expect(fixture.drainSent().count == Int(count))
        return fixture
    }

    @Test func failedConnectPausesTheLaneAndCountsNoAttempt() {
        var fixture = LaneFixture()
        fixture.performEffects()
        fixture.supply(LaneFixture.jobs(1...1))
        var waits: [Int64] = []
        for _ in 1...6 {
            fixture.complete(1, .failure(.notSent("connection refused")))
            fixture.performEffects()
            #expect(fixture.drainReport()?.outcomes == [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)])
            #expect(fixture.lane.status.state == .paused)
            fixture.supply([])
            let start = fixture.now
            while fixture.report?.capacity != 1 {
                if fixture.drainReport() != nil { fixture.supply([]) }
                fixture.pass(max(1, fixture.lane.nextTurn(at: fixture.now) - fixture.now))
            }
            waits.append(fixture.now - start)
            _ = fixture.drainReport()
            fixture.supply(LaneFixture.jobs(1...1))
        }
        for (wait, seconds) in zip(waits, [1, 2, 4, 8, 8, 8] as [Int64]) {
            #expect(wait >= seconds * 1_000 - 1 && wait <= seconds * 1_500, "\(waits)")
        }
        fixture.respond(1, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.drainReport()?.capacity == 2)
    }

    @Test func lostConnectionCountsAsOneFailure() {
        var fixture = makeFixture(inFlight: 20)
        for number in Int64(1)...20 { fixture.complete(number, .failure(.lost("reset"))) }
        fixture.performEffects()
        let report = fixture.drainReport()
        #expect(report?.outcomes.count == 20)
        #expect(report?.capacity == 1, "the next connection starts with one request")
        #expect(fixture.lane.status.state == .running)
    }

    @Test func resultsOfAnEarlierEpochDoNotChangeTheWindow() {
        var fixture = makeFixture(inFlight: 20)
        fixture.complete(1, .failure(.lost("stream")))
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(21...21))
        #expect(fixture.drainSent() == [21])
        // The other nineteen requests are of the earlier epoch: their results neither widen the window nor narrow it.
        for number in Int64(2)...20 { fixture.complete(number, .failure(.lost("stream"))) }
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 0)
        #expect(fixture.lane.status.state == .running)
    }

    @Test func requestsOfAnEarlierEpochCountAgainstTheWindow() {
        var congestion = CongestionControl(LaneRules(windowMax: 8), at: 0)
        var rng = SplitMix(seed: 1)
        let first = congestion.begin()
        _ = congestion.complete(.success, epoch: first, startedAt: 0, at: 1, using: &rng)
        let second = congestion.begin()
        let change = congestion.complete(.lost, epoch: second, startedAt: 1, at: 2, using: &rng)
        #expect(change == .setBack)
        // Six requests of the earlier epoch are still in flight.
        for count in 1...8 {
            #expect(congestion.room(total: 6, at: 3) == min(count, 2))
            let epoch = congestion.begin()
            _ = congestion.complete(.success, epoch: epoch, startedAt: 3, at: 3, using: &rng)
        }
        #expect(congestion.room(total: 0, at: 3) == 8)
    }

    @Test func unprocessedRequestIsSentAgainAtOnce() {
        var fixture = makeFixture(inFlight: 3)
        fixture.complete(1, .failure(.notSent("HTTP/2: not processed")))
        fixture.performEffects()
        #expect(
            fixture.drainReport()
                == PushReport(lane: .apns, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 1))
        fixture.supply(LaneFixture.jobs(1...1))
        #expect(fixture.drainSent() == [1])
        #expect(fixture.retired == 0)
    }

    @Test func goAwayRetiresConnectionsAfterTheOtherResponses() {
        var fixture = makeFixture(inFlight: 3)
        fixture.respond(1, .goAway(reason: "IdleTimeout"))
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 0)
        #expect(fixture.retired == 0)
        fixture.respond(2, .accepted(messageID: nil))
        fixture.respond(3, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.drainEvents().contains(.connectionRetired(reason: "the provider is closing the connection")))
        fixture.supply([])
        #expect(fixture.drainReport()?.capacity == 1)
    }

    @Test func goAwayRetiresConnectionsAfterOneSecond() {
        var fixture = makeFixture(inFlight: 3)
        fixture.respond(1, .goAway(reason: "IdleTimeout"))
        fixture.performEffects()
        fixture.pass(999)
        #expect(fixture.retired == 0)
        fixture.pass(1)
        #expect(fixture.retired == 1)
        fixture.complete(2, .failure(.lost("retired")))
        fixture.complete(3, .failure(.notSent("retired")))
        fixture.supply([])
        #expect(fixture.drainReport()?.outcomes.count == 2)
        #expect(fixture.lane.status.state == .running)
    }

    /// As for any 503, the push waits and counts as an attempt; but its next attempt uses another connection.
    @Test func shutdownRetiresConnectionsAndBacksOff() throws {
        var fixture = makeFixture(inFlight: 2)
        fixture.respond(1, .shutdown(reason: "Shutdown", after: nil))
        fixture.respond(2, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.drainEvents().contains(.connectionRetired(reason: "the provider is shutting down")))
        let outcome = try #require(fixture.drainReport()?.outcomes.first)
        guard case .retry(let at, "Shutdown") = outcome.result else {
            Issue.record("\(outcome)")
            return
        }
        #expect((1_000...1_500).contains(at - fixture.now) && outcome.wasTried)
        #expect(fixture.lane.status.state == .running)
    }

    /// A provider that shuts down again and again gets no request for a while.
    @Test func shutdownsInARowPause() {
        var fixture = LaneFixture()
        fixture.performEffects()
        for number in 1...10 as ClosedRange<Int64> {
            fixture.supply([LaneFixture.job(number)])
            fixture.respond(number, .shutdown(reason: "Shutdown", after: nil))
            fixture.performEffects()
        }
        #expect(fixture.lane.status.state == .paused)
    }

    @Test func goAwayAsFirstResponsePauses() {
        var fixture = LaneFixture()
        fixture.performEffects()
        fixture.supply(LaneFixture.jobs(1...1))
        fixture.respond(1, .goAway(reason: "IdleTimeout"))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .paused)
        #expect(fixture.retired == 1)
    }

    @Test func threeTooManyTokensInARowRetireConnections() {
        var fixture = makeFixture(inFlight: 5)
        let tooMany = SendResult.tooManyTokens(reason: "TooManyProviderTokenUpdates")
        fixture.respond(1, tooMany)
        fixture.respond(2, tooMany)
        fixture.respond(3, .accepted(messageID: nil))
        for number in [4, 5] as [Int64] { fixture.respond(number, tooMany) }
        fixture.performEffects()
        #expect(fixture.retired == 0, "a request succeeded in between")
        fixture.supply(LaneFixture.jobs(6...6))
        fixture.respond(6, tooMany)
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.drainEvents().contains(.connectionRetired(reason: "too many provider tokens on the connection")))
        #expect(fixture.renewals.isEmpty, "a new token would cause the same error again")
    }

    /// Every new connection gets the same error, so closing connections does not help.
    @Test func tooManyTokensOnEveryConnectionPauses() {
        var fixture = LaneFixture()
        fixture.performEffects()
        for number in Int64(1)...10 {
            #expect(fixture.lane.status.state == .running)
            fixture.supply([LaneFixture.job(number)])
            fixture.respond(number, .tooManyTokens(reason: "TooManyProviderTokenUpdates"))
            fixture.performEffects()
        }
        #expect(fixture.lane.status.state == .paused)
        #expect(fixture.retired == 3)
    }

    @Test func outdatedConnectionsRetireAfterTheResponsesUnderWay() {
        var fixture = makeFixture(inFlight: 2)
        fixture.handle(.connectionsOutdated(reason: "the clock was set"))
        fixture.supply(LaneFixture.jobs(3...3))
        #expect(fixture.drainSent().isEmpty)
        #expect(fixture.retired == 0)
        for number in [1, 2] as [Int64] { fixture.respond(number, .accepted(messageID: nil)) }
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.drainSent() == [3])
        #expect(fixture.lane.status.state == .running)
    }

    @Test func twoTimeOutsInARowRetireConnections() {
        var fixture = makeFixture(inFlight: 4)
        fixture.now += 10_000
        fixture.complete(1, .failure(.timedOut))
        fixture.performEffects()
        #expect(fixture.retired == 0)
        fixture.respond(2, .accepted(messageID: nil))
        fixture.complete(3, .failure(.timedOut))
        fixture.performEffects()
        #expect(fixture.retired == 0, "a response arrived in between")
        fixture.complete(4, .failure(.timedOut))
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.lane.status.state == .running)
    }

    @Test func tenTimeOutsInARowPause() {
        var fixture = LaneFixture()
        fixture.performEffects()
        for number in Int64(1)...10 {
            fixture.supply([LaneFixture.job(number)])
            #expect(fixture.drainSent() == [number])
            #expect(fixture.lane.status.state == .running)
            fixture.now += 10_000
            fixture.complete(number, .failure(.timedOut))
            fixture.performEffects()
            #expect(fixture.retired == Int(number) / 2)
            _ = fixture.drainReport()
        }
        #expect(fixture.lane.status.state == .paused)
    }

    @Test func simultaneousTimeOutsRetireOnce() {
        var fixture = makeFixture(inFlight: 20)
        fixture.now += 10_000
        for number in Int64(1)...10 { fixture.complete(number, .failure(.timedOut)) }
        fixture.performEffects()
        for number in Int64(11)...20 { fixture.complete(number, .failure(.lost("retired"))) }
        fixture.performEffects()
        #expect(fixture.retired == 1)
        #expect(fixture.lane.status.state == .running)
    }

    @Test func queuedTimeOutWithoutAnyResponseRetiresConnections() {
        var fixture = makeFixture(inFlight: 4)
        fixture.now += 10_000
        fixture.complete(1, .failure(.notSent("queued")))
        fixture.performEffects()
        #expect(fixture.retired == 1)
    }

    @Test func queuedTimeOutsBehindAStreamLimitHalveTheWindowOnce() {
        var fixture = makeFixture(inFlight: 16)
        fixture.now += 9_000
        for number in Int64(1)...4 { fixture.respond(number, .accepted(messageID: nil)) }
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.now += 1_000
        for number in Int64(5)...12 { fixture.complete(number, .failure(.notSent("queued"))) }
        // The window was 1, plus 16 successes to warm up, plus 4 now: 21, halved to 10. Four requests remain in flight.
        fixture.supply([])
        let report = fixture.drainReport()
        #expect(report?.outcomes.count == 8)
        #expect(report?.capacity == 10 - 4)
        #expect(fixture.retired == 0)
    }

    @Test func tenFailuresInARowPause() {
        var fixture = makeFixture(inFlight: 20)
        for number in Int64(1)...9 { fixture.respond(number, .retry(reason: "500", after: nil)) }
        #expect(fixture.lane.status.state == .running)
        fixture.respond(10, .accepted(messageID: nil))
        for number in Int64(11)...19 { fixture.respond(number, .retry(reason: "500", after: nil)) }
        #expect(fixture.lane.status.state == .running, "a request succeeded in between")
        fixture.respond(20, .retry(reason: "500", after: nil))
        #expect(fixture.lane.status.state == .paused)
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 0)
    }

    @Test func threeRetryAftersInARowPauseTheLane() {
        var fixture = makeFixture(inFlight: 3)
        for number in Int64(1)...2 { fixture.respond(number, .retry(reason: "QUOTA_EXCEEDED", after: 60_000)) }
        #expect(fixture.lane.status.state == .running)
        fixture.respond(3, .retry(reason: "QUOTA_EXCEEDED", after: 60_000))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .paused)
        #expect(fixture.drainEvents().contains(.paused(reason: "QUOTA_EXCEEDED", milliseconds: 60_000)))
        _ = fixture.drainReport()
        fixture.supply([], hasMore: true)
        fixture.pass(59_999)
        #expect(fixture.drainReport()?.capacity == 0)
        fixture.supply([], hasMore: true)
        fixture.pass(1)
        #expect(fixture.drainReport()?.capacity == 1)
    }

    @Test func probeHonoursRetryAfter() {
        var congestion = CongestionControl(LaneRules(windowMax: 8), at: 0)
        var rng = SplitMix(seed: 1)
        var now: Int64 = 0
        var waits: [Int64] = []
        for retryAfter in [nil, 3_000, 3_000, 0, 9_000_000, .max] as [Int64?] {
            let epoch = congestion.begin()
            let signal = retryAfter.map { CongestionControl.Signal.overloaded(after: $0) } ?? .notSent
            let change = congestion.complete(signal, epoch: epoch, startedAt: now, at: now, using: &rng)
            guard case .paused(let wait) = change else { break }
            waits.append(wait)
            now += wait
            #expect(congestion.room(total: 0, at: now) == 1)
        }
        #expect(waits.count == 6 && waits[1...2] == [3_000, 3_000] && waits[4...] == [600_000, 600_000], "\(waits)")
    }

    @Test func pausedLaneProbesWithOneJob() {
        var fixture = makeFixture(inFlight: 20)
        for number in Int64(1)...10 { fixture.respond(number, .retry(reason: "503", after: nil)) }
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.supply([], hasMore: true)
        fixture.pass(1_500)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(21...21), hasMore: true)
        #expect(fixture.drainSent() == [21])
        // Job 11 was sent in the earlier epoch, so its success does not end the pause.
        fixture.respond(11, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .paused)
        #expect(fixture.drainReport()?.capacity == 0)
        fixture.respond(21, .rejected(reason: "PayloadEmpty", alarm: false))
        #expect(fixture.lane.status.state == .running)
    }

    @Test func clockSetBackDoesNotLengthenAPause() {
        var fixture = LaneFixture()
        fixture.performEffects()
        fixture.supply(LaneFixture.jobs(1...1))
        fixture.respond(1, .configurationError(reason: "Forbidden", newConnection: true))
        fixture.performEffects()
        #expect(fixture.retired == 1)
        _ = fixture.drainReport()
        fixture.supply([])
        fixture.pass(-900_000)
        #expect(fixture.drainReport()?.capacity == 1)
    }
}
