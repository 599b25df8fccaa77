import Fleet
import HTTPClient
import Testing

@testable import Push

/// A configuration error stops the lane. A poison job is a job that the provider refuses with such an error although
/// the configuration is right: the lane rejects the job instead of stopping again.
struct LaneStopTests {
    @Test func stoppedLaneReturnsItsJobsAndProbes() {
        var fixture = LaneFixture()
        fixture.warmUp(1)
        fixture.supply(LaneFixture.jobs(1...3))
        #expect(fixture.drainSent() == [1, 2])
        fixture.respond(1, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        fixture.respond(2, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        fixture.performEffects()
        #expect(fixture.drainEvents() == [.alarm("apns: stopped until a probe succeeds: InvalidProviderToken")])
        // The refused jobs lose their place in the queue, so that the next probe is another job.
        let refused = PushOutcome.Result.retry(at: fixture.now, reason: "InvalidProviderToken")
        #expect(fixture.drainReport()?.outcomes.map(\.result) == [refused, .returned, refused])
        fixture.supply(LaneFixture.jobs(3...3))
        #expect(fixture.drainSent().isEmpty)
        #expect(fixture.drainReport()?.outcomes.map(\.result) == [.returned])
        fixture.supply([])
        for _ in 1...5 {
            fixture.pass(5_000)
            #expect(fixture.drainReport()?.capacity == 0, "the report requests no jobs and has no results")
            fixture.supply([])
        }
        fixture.pass(5_000)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(3...3), hasMore: true)
        #expect(fixture.drainSent() == [3])
        fixture.respond(3, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        fixture.performEffects()
        #expect(fixture.drainEvents() == [], "no second alarm")
        fixture.supply([])
        _ = fixture.drainReport()
        fixture.supply([])
        fixture.pass(29_999)
        #expect(fixture.drainReport()?.capacity == 0)
        fixture.supply([])
        fixture.pass(1)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(3...3))
        fixture.respond(3, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.events.last == .resumed)
    }

    /// The provider refuses one job with the reason of a configuration error, but accepts others in between.
    @Test func jobThatWouldStopTheLaneAgainIsRejected() {
        var fixture = LaneFixture(.fcm)
        fixture.performEffects()
        let refusal = SendResult.configurationError(reason: "PERMISSION_DENIED", newConnection: false)
        fixture.supply([LaneFixture.job(1)])
        fixture.respond(1, refusal)
        fixture.performEffects()
        #expect(fixture.lane.status.state == .stopped)
        // The lane probes with job 1 again. No job was accepted since job 1 stopped the lane, so job 1 is no poison job
        // yet. Job 2 is then accepted.
        for probe in [1, 2] as [Int64] {
            fixture.pass(30_000)
            fixture.supply([LaneFixture.job(probe)])
            fixture.respond(probe, probe == 1 ? refusal : .accepted(messageID: nil))
            fixture.performEffects()
        }
        #expect(fixture.lane.status.state == .running)
        for _ in 1...2 { fixture.supply([]) }
        _ = (fixture.drainReport(), fixture.drainEvents())
        fixture.supply([LaneFixture.job(1), LaneFixture.job(3)])
        fixture.respond(1, refusal)
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running)
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .failed(reason: "PERMISSION_DENIED"), wasTried: true)
            ])
        let events = fixture.drainEvents()
        #expect(events.contains(.rejected(LaneFixture.job(1), reason: "PERMISSION_DENIED", seconds: 0.05)))
        let alarm = "fcm: a push has failed because the provider refuses it, although it accepts others: PERMISSION_DENIED"
        #expect(events.contains(.alarm(alarm)))
        // Job 3 is refused for the first time, so it stops the lane.
        fixture.respond(3, refusal)
        #expect(fixture.lane.status.state == .stopped)
    }

    /// Job 1 is refused twice, the second time as a probe, while the lane is stopped because of job 3.
    @Test func refusedProbeIsNoPoisonJob() {
        var fixture = LaneFixture()
        fixture.performEffects()
        let refusal = SendResult.configurationError(reason: "Forbidden", newConnection: false)
        for (number, result) in [(1, refusal), (2, .accepted(messageID: nil)), (3, refusal), (1, refusal)]
            as [(Int64, SendResult)]
        {
            fixture.supply([LaneFixture.job(number)])
            fixture.respond(number, result)
            fixture.performEffects()
            fixture.pass(30_000)
        }
        #expect(fixture.lane.status.state == .stopped)
        #expect(!fixture.events.contains { if case .rejected = $0 { true } else { false } })
    }

    @Test func remembersALimitedNumberOfRefusedJobs() {
        var poisonJobs = PoisonJobs()
        let count = Int64(PoisonJobs.countMax)
        let first = (0...count).map { poisonJobs.recordRefusal(of: $0) }
        #expect(!first.contains(true))
        poisonJobs.recordAccepted()
        let second = [1, count, 0].map { poisonJobs.recordRefusal(of: $0) }
        #expect(second == [true, true, false])
    }
}
