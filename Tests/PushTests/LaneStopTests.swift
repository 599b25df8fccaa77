import FleetRules
import HTTPClient
import Testing

@testable import Push

/// Configuration errors, and poison jobs, which look like them.
struct LaneStopTests {
    @Test func stoppedLaneReturnsItsJobsAndProbes() {
        var scene = LaneFixture()
        scene.warmUp(1)
        scene.supply(LaneFixture.jobs(1...3))
        #expect(scene.takeSent() == [1, 2])
        scene.answer(1, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        scene.answer(2, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        scene.act()
        #expect(scene.takeEvents() == [.alarm("apns: stopped, for the provider refuses us: InvalidProviderToken")])
        // The next probe must be another job than the refused ones.
        let refused = PushOutcome.Result.retry(at: scene.now, reason: "InvalidProviderToken")
        #expect(scene.takeReport()?.outcomes.map(\.result) == [refused, .returned, refused])
        scene.supply(LaneFixture.jobs(3...3))
        #expect(scene.takeSent().isEmpty)
        #expect(scene.takeReport()?.outcomes.map(\.result) == [.returned])
        scene.supply([])
        for _ in 1...5 {
            scene.pass(5_000)
            #expect(scene.takeReport()?.capacity == 0, "a report without room or results")
            scene.supply([])
        }
        scene.pass(5_000)
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(3...3), hasMore: true)
        #expect(scene.takeSent() == [3])
        scene.answer(3, .configurationError(reason: "InvalidProviderToken", newConnection: false))
        scene.act()
        #expect(scene.takeEvents() == [], "one alarm is enough")
        scene.supply([])
        _ = scene.takeReport()
        scene.supply([])
        scene.pass(29_999)
        #expect(scene.takeReport()?.capacity == 0)
        scene.supply([])
        scene.pass(1)
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(3...3))
        scene.answer(3, .accepted(messageID: nil))
        scene.act()
        #expect(scene.lane.status.state == .running)
        #expect(scene.events.last == .resumed)
    }

    /// The provider refuses one notification with the reason of a configuration error.
    @Test func jobThatStopsTheLaneTwiceIsRejected() {
        var scene = LaneFixture(.fcm)
        scene.act()
        let refusal = SendResult.configurationError(reason: "PERMISSION_DENIED", newConnection: false)
        scene.supply([LaneFixture.job(1)])
        scene.answer(1, refusal)
        scene.act()
        #expect(scene.lane.status.state == .stopped)
        // Again as a probe: no job was accepted since.
        for probe in [1, 2] as [Int64] {
            scene.pass(30_000)
            scene.supply([LaneFixture.job(probe)])
            scene.answer(probe, probe == 1 ? refusal : .accepted(messageID: nil))
            scene.act()
        }
        #expect(scene.lane.status.state == .running)
        for _ in 1...2 { scene.supply([]) }
        _ = (scene.takeReport(), scene.takeEvents())
        scene.supply([LaneFixture.job(1), LaneFixture.job(3)])
        scene.answer(1, refusal)
        scene.act()
        #expect(scene.lane.status.state == .running)
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .failed(reason: "PERMISSION_DENIED"), wasTried: true)
            ])
        let events = scene.takeEvents()
        #expect(events.contains(.rejected(LaneFixture.job(1), reason: "PERMISSION_DENIED", seconds: 0.05)))
        #expect(events.contains(.alarm("fcm: a notification is refused, and others are not: PERMISSION_DENIED")))
        // The first time for another job.
        scene.answer(3, refusal)
        #expect(scene.lane.status.state == .stopped)
    }

    @Test func refusedProbeRejectsNoJob() {
        var scene = LaneFixture()
        scene.act()
        let refusal = SendResult.configurationError(reason: "Forbidden", newConnection: false)
        for (number, verdict) in [(1, refusal), (2, .accepted(messageID: nil)), (3, refusal), (1, refusal)]
            as [(Int64, SendResult)]
        {
            scene.supply([LaneFixture.job(number)])
            scene.answer(number, verdict)
            scene.act()
            scene.pass(30_000)
        }
        #expect(scene.lane.status.state == .stopped)
        #expect(!scene.events.contains { if case .rejected = $0 { true } else { false } })
    }

    @Test func remembersALimitedNumberOfPoisonJobs() {
        var poisonJobs = PoisonJobs()
        let count = Int64(PoisonJobs.countMax)
        let first = (0...count).map { poisonJobs.isPoison($0) }
        #expect(!first.contains(true))
        poisonJobs.recordAccepted()
        let second = [1, count, 0].map { poisonJobs.isPoison($0) }
        #expect(second == [true, true, false])
    }
}
