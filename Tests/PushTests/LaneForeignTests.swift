import Fleet
import HTTPClient
import Testing

@testable import Push

/// Responses that are not the provider's: a proxy's, or those of a wrong address. One may be an accident, so only two in a
/// row stop the lane.
struct LaneForeignTests {
    private static let reason = "HTTP 302: not a response of the provider"
    private static let foreign = SendResult.foreign(reason: reason)

    private func makeFixture(inFlight count: Int64) -> LaneFixture {
        var fixture = LaneFixture()
        fixture.warmUp(Int(count))
        fixture.supply(LaneFixture.jobs(1...count))
        #expect(fixture.drainSent().count == Int(count))
        return fixture
    }

    private func isStop(_ event: LaneEvent) -> Bool { event == .alarm("apns: stopped until a probe succeeds: \(Self.reason)") }

    @Test func oneForeignResponseDelaysItsJobOnly() throws {
        var fixture = makeFixture(inFlight: 3)
        fixture.respond(1, Self.foreign)
        fixture.performEffects()
        let drained = fixture.drainReport()
        let report = try #require(drained)
        guard case .retry(let at, Self.reason) = report.outcomes[0].result else {
            Issue.record("\(report)")
            return
        }
        #expect((1_000...1_500).contains(at - fixture.now) && report.outcomes[0].wasTried)
        #expect(fixture.lane.status.state == .running && fixture.lane.status.lastError?.text == Self.reason)
        #expect(fixture.drainEvents() == [.retried(LaneFixture.job(1), reason: Self.reason, seconds: 0.05)])
        #expect(report.capacity == 2, "the window is not changed: two of four are in flight")
    }

    /// The second job counts no attempt: no push gets to the provider.
    @Test func twoInARowStopTheLaneOnANewConnection() {
        var fixture = makeFixture(inFlight: 2)
        fixture.respond(1, Self.foreign)
        fixture.respond(2, Self.foreign)
        fixture.performEffects()
        #expect(fixture.lane.status.state == .stopped)
        #expect(fixture.retired == 1)
        #expect(fixture.drainEvents().count(where: isStop) == 1)
        let second = fixture.drainReport()?.outcomes.last
        #expect(second == PushOutcome(LaneFixture.job(2), .retry(at: fixture.now, reason: Self.reason), wasTried: false))
    }

    /// Any response of the provider shows that its address is right.
    @Test(
        arguments: [
            .accepted(messageID: nil), .rejected(reason: "PayloadEmpty", alarm: false), .retry(reason: "503", after: nil),
            .deviceThrottled(reason: "TooManyRequests", after: nil), .credentialExpired(reason: "ExpiredProviderToken"),
            .goAway(reason: "IdleTimeout"), .tooManyTokens(reason: "T"),
        ] as [SendResult])
    func responseOfTheProviderInBetweenKeepsTheLaneRunning(_ between: SendResult) {
        var fixture = makeFixture(inFlight: 1)
        for (number, result) in [(1, Self.foreign), (2, between), (3, Self.foreign)] as [(Int64, SendResult)] {
            if number > 1 {
                fixture.supply(LaneFixture.jobs(number...number))
                #expect(fixture.drainSent() == [number])
            }
            fixture.respond(number, result)
            fixture.handle(.credential(.ready))
            fixture.performEffects()
        }
        #expect(fixture.lane.status.state == .running)
    }

    /// A lost connection is no response.
    @Test func missingResponseInBetweenDoesNotInterruptTheRow() {
        var fixture = makeFixture(inFlight: 1)
        fixture.respond(1, Self.foreign)
        fixture.supply(LaneFixture.jobs(2...3))
        fixture.complete(2, .failure(.timedOut))
        fixture.respond(3, Self.foreign)
        #expect(fixture.lane.status.state == .stopped)
    }

    @Test func foreignProbesKeepTheLaneStoppedUntilTheProviderResponds() {
        var fixture = makeFixture(inFlight: 2)
        for number in [1, 2] as [Int64] { fixture.respond(number, Self.foreign) }
        fixture.performEffects()
        for probe in [3, 4] as [Int64] {
            fixture.pass(30_000)
            fixture.supply(LaneFixture.jobs(probe...probe))
            fixture.respond(probe, probe == 3 ? Self.foreign : .accepted(messageID: nil))
            fixture.performEffects()
            #expect(fixture.lane.status.state == (probe == 3 ? .stopped : .running))
        }
        #expect(fixture.events.count(where: isStop) == 1)
        // The count begins anew.
        fixture.supply(LaneFixture.jobs(5...5))
        fixture.respond(5, Self.foreign)
        #expect(fixture.lane.status.state == .running)
    }

    @Test func pausedLaneStopsAfterTwoForeignProbes() {
        var fixture = makeFixture(inFlight: 1)
        fixture.complete(1, .failure(.notSent("connection refused")))
        fixture.performEffects()
        fixture.supply(LaneFixture.jobs(1...1))
        fixture.complete(1, .failure(.notSent("connection refused")))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .paused)
        for probe in [2, 3] as [Int64] {
            fixture.pass(60_000)
            fixture.supply(LaneFixture.jobs(probe...probe))
            fixture.respond(probe, Self.foreign)
            #expect(fixture.lane.status.state == (probe == 2 ? .paused : .stopped))
            fixture.performEffects()
        }
    }

    /// All of a thousand requests in flight may get such responses: the lane stops once.
    @Test func responsesUnderWayChangeNothingMore() {
        var fixture = makeFixture(inFlight: 4)
        for number in 1...4 as ClosedRange<Int64> { fixture.respond(number, Self.foreign) }
        fixture.performEffects()
        #expect(fixture.lane.status.state == .stopped)
        #expect(fixture.drainEvents().count(where: isStop) == 1)
    }

    /// One push always gets such a response, and there is no other traffic but the probes of the stopped lane.
    @Test func pushThatAlwaysGetsThemIsRejected() {
        var fixture = makeFixture(inFlight: 1)
        for (number, result) in [
            (1, Self.foreign), (1, Self.foreign), (2, .accepted(messageID: nil)), (1, Self.foreign), (1, Self.foreign),
        ] as [(Int64, SendResult)] {
            fixture.supply(LaneFixture.jobs(number...number))
            fixture.respond(number, result)
            fixture.performEffects()
            fixture.pass(30_000)
        }
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.events.contains(.rejected(LaneFixture.job(1), reason: Self.reason, seconds: 0.05)))
    }
}
