import FleetRules
import HTTPClient
import TestSupport
import Testing

@testable import Push

/// Congestion control: window, retired connections, pauses and probes.
struct LaneConnectionTests {
    /// Jobs 1 to `count` in flight, all started now; no report under way.
    private func scene(inFlight count: Int64, window: Int = 64) -> LaneFixture {
        var scene = LaneFixture(window: window)
        scene.warmUp(Int(count))
        scene.supply(LaneFixture.jobs(1...count))
        #expect(scene.takeSent().count == Int(count))
        return scene
    }

    @Test func failedConnectPausesAtOnceAndCountsNoAttempt() {
        var scene = LaneFixture()
        scene.act()
        scene.supply(LaneFixture.jobs(1...1))
        var waits: [Int64] = []
        for _ in 1...6 {
            scene.end(1, .failure(.notSent("connection refused")))
            scene.act()
            #expect(scene.takeReport()?.outcomes == [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)])
            #expect(scene.lane.status.state == .paused)
            scene.supply([])
            let start = scene.now
            while scene.report?.capacity != 1 {
                if scene.takeReport() != nil { scene.supply([]) }
                scene.pass(max(1, scene.lane.nextTurn(at: scene.now) - scene.now))
            }
            waits.append(scene.now - start)
            _ = scene.takeReport()
            scene.supply(LaneFixture.jobs(1...1))
        }
        for (wait, range) in zip(
            waits, [1...1_500, 2...3_000, 4...6_000, 8...12_000, 8...12_000, 8...12_000] as [ClosedRange<Int64>])
        {
            #expect(range.contains(wait) && wait >= range.lowerBound * 1_000 - 1, "\(waits)")
        }
        scene.answer(1, .accepted(messageID: nil))
        scene.act()
        #expect(scene.lane.status.state == .running)
        #expect(scene.takeReport()?.capacity == 2)
    }

    @Test func lostConnectionCountsAsOneFailure() {
        var scene = scene(inFlight: 20)
        for number in Int64(1)...20 { scene.end(number, .failure(.lost("reset"))) }
        scene.act()
        let report = scene.takeReport()
        #expect(report?.outcomes.count == 20)
        #expect(report?.capacity == 1, "the next connection starts with one")
        #expect(scene.lane.status.state == .running)
    }

    @Test func resultsOfAnEarlierEpochDoNotChangeTheWindow() {
        var scene = scene(inFlight: 20)
        scene.end(1, .failure(.lost("stream")))
        scene.act()
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(21...21))
        #expect(scene.takeSent() == [21])
        // The nineteen others are of the epoch before: they neither open the window nor close it.
        for number in Int64(2)...20 { scene.end(number, .failure(.lost("stream"))) }
        scene.act()
        #expect(scene.takeReport()?.capacity == 0)
        #expect(scene.lane.status.state == .running)
    }

    @Test func requestsOfAnEarlierEpochCountAgainstTheWindow() {
        var pace = CongestionControl(LaneRules(windowMax: 8), at: 0)
        var dice = SplitMix(seed: 1)
        let first = pace.begin()
        _ = pace.complete(.success, epoch: first, startedAt: 0, at: 1, using: &dice)
        let second = pace.begin()
        let change = pace.complete(.lost, epoch: second, startedAt: 1, at: 2, using: &dice)
        #expect(change == .setBack)
        // Six of the epoch before are still in flight.
        for count in 1...8 {
            #expect(pace.room(total: 6, at: 3) == min(count, 2))
            let era = pace.begin()
            _ = pace.complete(.success, epoch: era, startedAt: 3, at: 3, using: &dice)
        }
        #expect(pace.room(total: 0, at: 3) == 8)
    }

    @Test func unprocessedRequestIsSentAgainAtOnce() {
        var scene = scene(inFlight: 3)
        scene.end(1, .failure(.notSent("HTTP/2: not processed")))
        scene.act()
        #expect(
            scene.takeReport()
                == PushReport(lane: .apns, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 1))
        scene.supply(LaneFixture.jobs(1...1))
        #expect(scene.takeSent() == [1])
        #expect(scene.retired == 0)
    }

    @Test func goAwayRetiresConnectionsAfterTheOtherResponses() {
        var scene = scene(inFlight: 3)
        scene.answer(1, .goAway(reason: "IdleTimeout"))
        scene.act()
        #expect(scene.takeReport()?.capacity == 0)
        #expect(scene.retired == 0)
        scene.answer(2, .accepted(messageID: nil))
        scene.answer(3, .accepted(messageID: nil))
        scene.act()
        #expect(scene.retired == 1)
        #expect(scene.takeEvents().contains(.connectionRetired(reason: "the provider is leaving")))
        scene.supply([])
        #expect(scene.takeReport()?.capacity == 1)
    }

    @Test func goAwayRetiresConnectionsAfterOneSecond() {
        var scene = scene(inFlight: 3)
        scene.answer(1, .goAway(reason: "Shutdown"))
        scene.act()
        scene.pass(999)
        #expect(scene.retired == 0)
        scene.pass(1)
        #expect(scene.retired == 1)
        scene.end(2, .failure(.lost("retired")))
        scene.end(3, .failure(.notSent("retired")))
        scene.supply([])
        #expect(scene.takeReport()?.outcomes.count == 2)
        #expect(scene.lane.status.state == .running)
    }

    @Test func goAwayAsFirstResponsePauses() {
        var scene = LaneFixture()
        scene.act()
        scene.supply(LaneFixture.jobs(1...1))
        scene.answer(1, .goAway(reason: "Shutdown"))
        scene.act()
        #expect(scene.lane.status.state == .paused)
        #expect(scene.retired == 1)
    }

    @Test func threeTooManyTokensInARowRetireConnections() {
        var scene = scene(inFlight: 5)
        let spoilt = SendResult.tooManyTokens(reason: "TooManyProviderTokenUpdates")
        scene.answer(1, spoilt)
        scene.answer(2, spoilt)
        scene.answer(3, .accepted(messageID: nil))
        for number in [4, 5] as [Int64] { scene.answer(number, spoilt) }
        scene.act()
        #expect(scene.retired == 0, "one succeeded in between")
        scene.supply(LaneFixture.jobs(6...6))
        scene.answer(6, spoilt)
        scene.act()
        #expect(scene.retired == 1)
        #expect(scene.lane.status.state == .running)
        #expect(scene.takeEvents().contains(.connectionRetired(reason: "the provider has seen too many tokens over it")))
        #expect(scene.renewals.isEmpty, "another token would bring it again")
    }

    /// Another connection does not help.
    @Test func tooManyTokensOnEveryConnectionPauses() {
        var scene = LaneFixture()
        scene.act()
        for number in Int64(1)...10 {
            #expect(scene.lane.status.state == .running)
            scene.supply([LaneFixture.job(number)])
            scene.answer(number, .tooManyTokens(reason: "TooManyProviderTokenUpdates"))
            scene.act()
        }
        #expect(scene.lane.status.state == .paused)
        #expect(scene.retired == 3)
    }

    @Test func outdatedConnectionsRetireAfterTheResponsesUnderWay() {
        var scene = scene(inFlight: 2)
        scene.handle(.connectionsOutdated(reason: "the clock was set"))
        scene.supply(LaneFixture.jobs(3...3))
        #expect(scene.takeSent().isEmpty)
        #expect(scene.retired == 0)
        for number in [1, 2] as [Int64] { scene.answer(number, .accepted(messageID: nil)) }
        scene.act()
        #expect(scene.retired == 1)
        #expect(scene.takeSent() == [3])
        #expect(scene.lane.status.state == .running)
    }

    @Test func twoTimeOutsInARowRetireConnections() {
        var scene = scene(inFlight: 4)
        scene.now += 10_000
        scene.end(1, .failure(.timedOut))
        scene.act()
        #expect(scene.retired == 0)
        scene.answer(2, .accepted(messageID: nil))
        scene.end(3, .failure(.timedOut))
        scene.act()
        #expect(scene.retired == 0, "a response arrived in between")
        scene.end(4, .failure(.timedOut))
        scene.act()
        #expect(scene.retired == 1)
        #expect(scene.lane.status.state == .running)
    }

    @Test func tenTimeOutsInARowPause() {
        var scene = LaneFixture()
        scene.act()
        for number in Int64(1)...10 {
            scene.supply([LaneFixture.job(number)])
            #expect(scene.takeSent() == [number])
            #expect(scene.lane.status.state == .running)
            scene.now += 10_000
            scene.end(number, .failure(.timedOut))
            scene.act()
            #expect(scene.retired == Int(number) / 2)
            _ = scene.takeReport()
        }
        #expect(scene.lane.status.state == .paused)
    }

    @Test func simultaneousTimeOutsRetireOnce() {
        var scene = scene(inFlight: 20)
        scene.now += 10_000
        for number in Int64(1)...10 { scene.end(number, .failure(.timedOut)) }
        scene.act()
        for number in Int64(11)...20 { scene.end(number, .failure(.lost("retired"))) }
        scene.act()
        #expect(scene.retired == 1)
        #expect(scene.lane.status.state == .running)
    }

    @Test func queuedTimeOutWithoutAnyResponseRetiresConnections() {
        var scene = scene(inFlight: 4)
        scene.now += 10_000
        scene.end(1, .failure(.notSent("queued")))
        scene.act()
        #expect(scene.retired == 1)
    }

    @Test func queuedTimeOutsBehindAStreamLimitHalveTheWindowOnce() {
        var scene = scene(inFlight: 16)
        scene.now += 9_000
        for number in Int64(1)...4 { scene.answer(number, .accepted(messageID: nil)) }
        scene.act()
        _ = scene.takeReport()
        scene.now += 1_000
        for number in Int64(5)...12 { scene.end(number, .failure(.notSent("queued"))) }
        // Window: 1, plus 16 successes to warm up, plus 4 now: 21, halved to 10. Four are still in flight.
        scene.supply([])
        let report = scene.takeReport()
        #expect(report?.outcomes.count == 8)
        #expect(report?.capacity == 10 - 4)
        #expect(scene.retired == 0)
    }

    @Test func tenFailuresInARowPause() {
        var scene = scene(inFlight: 20)
        for number in Int64(1)...9 { scene.answer(number, .retry(reason: "500", after: nil)) }
        #expect(scene.lane.status.state == .running)
        scene.answer(10, .accepted(messageID: nil))
        for number in Int64(11)...19 { scene.answer(number, .retry(reason: "500", after: nil)) }
        #expect(scene.lane.status.state == .running, "one succeeded in between")
        scene.answer(20, .retry(reason: "500", after: nil))
        #expect(scene.lane.status.state == .paused)
        scene.act()
        #expect(scene.takeReport()?.capacity == 0)
    }

    @Test func threeRetryAftersInARowPauseTheLane() {
        var scene = scene(inFlight: 3)
        for number in Int64(1)...2 { scene.answer(number, .retry(reason: "QUOTA_EXCEEDED", after: 60_000)) }
        #expect(scene.lane.status.state == .running)
        scene.answer(3, .retry(reason: "QUOTA_EXCEEDED", after: 60_000))
        scene.act()
        #expect(scene.lane.status.state == .paused)
        #expect(scene.takeEvents().contains(.paused(reason: "QUOTA_EXCEEDED", milliseconds: 60_000)))
        _ = scene.takeReport()
        scene.supply([], hasMore: true)
        scene.pass(59_999)
        #expect(scene.takeReport()?.capacity == 0)
        scene.supply([], hasMore: true)
        scene.pass(1)
        #expect(scene.takeReport()?.capacity == 1)
    }

    @Test func probeHonoursRetryAfter() {
        var pace = CongestionControl(LaneRules(windowMax: 8), at: 0)
        var dice = SplitMix(seed: 1)
        var now: Int64 = 0
        var waits: [Int64] = []
        for wish in [nil, 3_000, 3_000, 0, 9_000_000, .max] as [Int64?] {
            let era = pace.begin()
            let sign = wish.map { CongestionControl.Signal.overloaded(after: $0) } ?? .notSent
            guard case .paused(let wait) = pace.complete(sign, epoch: era, startedAt: now, at: now, using: &dice) else { break }
            waits.append(wait)
            now += wait
            #expect(pace.room(total: 0, at: now) == 1)
        }
        #expect(waits.count == 6 && waits[1...2] == [3_000, 3_000] && waits[4...] == [9_000_000, 2_419_200_000], "\(waits)")
    }

    @Test func pausedLaneProbesWithOneJob() {
        var scene = scene(inFlight: 20)
        for number in Int64(1)...10 { scene.answer(number, .retry(reason: "503", after: nil)) }
        scene.act()
        _ = scene.takeReport()
        scene.supply([], hasMore: true)
        scene.pass(1_500)
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(21...21), hasMore: true)
        #expect(scene.takeSent() == [21])
        // The others are of the epoch before.
        scene.answer(11, .accepted(messageID: nil))
        scene.act()
        #expect(scene.lane.status.state == .paused)
        #expect(scene.takeReport()?.capacity == 0)
        scene.answer(21, .rejected(reason: "PayloadEmpty", alarm: false))
        #expect(scene.lane.status.state == .running)
    }

    @Test func clockSetBackDoesNotLengthenAPause() {
        var scene = LaneFixture()
        scene.act()
        scene.supply(LaneFixture.jobs(1...1))
        scene.answer(1, .configurationError(reason: "Forbidden", newConnection: true))
        scene.act()
        #expect(scene.retired == 1)
        _ = scene.takeReport()
        scene.supply([])
        scene.pass(-900_000)
        #expect(scene.takeReport()?.capacity == 1)
    }
}
