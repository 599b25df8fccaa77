import FleetRules
import HTTPClient
import Push
import Testing

/// The lane and the store: leased, sent, reported and returned jobs.
struct LaneTests {
    @Test func newConnectionStartsWithOneRequest() {
        var scene = LaneFixture()
        scene.act()
        #expect(scene.takeReport() == PushReport(lane: .apns, capacity: 1))
        scene.supply(LaneFixture.jobs(1...1))
        #expect(scene.takeSent() == [1])
        #expect(scene.report == nil)
    }

    @Test func eachSuccessOpensTheWindowByOne() {
        var scene = LaneFixture(window: 4)
        scene.act()
        var rooms: [Int] = []
        var next: Int64 = 1
        for _ in 1...6 {
            let room = scene.takeReport()?.capacity ?? 0
            rooms.append(room)
            let jobs = (0..<Int64(room)).map { LaneFixture.job(next + $0) }
            next += Int64(room)
            scene.supply(jobs, hasMore: true)
            // Responses to all requests in flight.
            for number in scene.takeSent() { scene.answer(number, .accepted(messageID: nil)) }
            scene.act()
        }
        #expect(rooms == [1, 2, 4, 4, 4, 4])
    }

    @Test func reportsEachOutcomeOnceWithOneReportUnderWay() {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.handle(.wake)
        scene.act()
        #expect(scene.takeReport()?.capacity == 4)
        scene.supply(LaneFixture.jobs(1...3))
        scene.answer(2, .accepted(messageID: "A"))
        scene.act()
        let first = scene.takeReport()
        #expect(first?.outcomes == [PushOutcome(LaneFixture.job(2), .accepted(messageID: "A"), wasTried: true)])
        scene.answer(1, .rejected(reason: "PayloadEmpty", alarm: false))
        scene.act()
        #expect(scene.report == nil)
        scene.answer(3, .accepted(messageID: nil))
        scene.act()
        #expect(scene.report == nil)
        scene.supply([])
        let second = scene.takeReport()
        #expect(
            second?.outcomes == [
                PushOutcome(LaneFixture.job(1), .failed(reason: "PayloadEmpty"), wasTried: true),
                PushOutcome(LaneFixture.job(3), .accepted(messageID: nil), wasTried: true),
            ])
        scene.supply([])
        #expect(scene.report == nil)
    }

    @Test func refusedReportIsRepeatedAfterASecond() {
        var scene = LaneFixture()
        scene.act()
        scene.supply(LaneFixture.jobs(1...1))
        scene.answer(1, .accepted(messageID: nil))
        scene.act()
        let report = scene.takeReport()
        scene.handle(.refused)
        scene.act()
        #expect(scene.report == nil)
        scene.pass(999)
        #expect(scene.report == nil)
        #expect(scene.lane.nextTurn(at: scene.now) == scene.now + 1)
        scene.pass(1)
        #expect(scene.takeReport()?.outcomes == report?.outcomes)
    }

    /// The status counts the unconfirmed results as queued.
    @Test func statusShowsThatTheStoreCannotWrite() {
        var scene = LaneFixture()
        scene.warmUp(2)
        scene.supply(LaneFixture.jobs(1...2))
        for number in [1, 2] as [Int64] { scene.answer(number, .accepted(messageID: nil)) }
        scene.act()
        scene.handle(.refused)
        #expect(scene.lane.status.lastError?.text == "the store cannot write")
        #expect(scene.lane.status.depth == 2)
        scene.pass(1_000)
        scene.supply([])
        #expect(scene.lane.status.depth == 0)
    }

    @Test func reportsWhenJobsAreDueOrTheIntervalIsOver() {
        var scene = LaneFixture()
        scene.act()
        _ = scene.takeReport()
        scene.supply([], nextDueAt: scene.now + 700)
        #expect(scene.report == nil)
        #expect(scene.lane.nextTurn(at: scene.now) == scene.now + 700)
        scene.pass(699)
        #expect(scene.report == nil)
        scene.pass(1)
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply([])
        scene.pass(4_999)
        #expect(scene.report == nil)
        scene.pass(1)
        #expect(scene.takeReport() != nil, "replies report what expired in the queue")
    }

    @Test func wakeDuringAReportCausesAnother() {
        var scene = LaneFixture()
        scene.act()
        _ = scene.takeReport()
        scene.handle(.wake)
        scene.act()
        #expect(scene.report == nil)
        scene.supply([])
        #expect(scene.takeReport()?.capacity == 1)
    }

    @Test func emptyLeaseWithMoreJobsIsRetriedAfterASecond() {
        var scene = LaneFixture()
        scene.act()
        _ = scene.takeReport()
        scene.supply([], hasMore: true)
        #expect(scene.report == nil)
        scene.pass(1_000)
        #expect(scene.takeReport()?.capacity == 1)
    }

    @Test func cancelledAndExpiredJobsAreReportedUnsent() {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.decide = { job in
            switch job.number {
            case 1: .cancelled(reason: "quiet_hours")
            case 2: .expired
            default: .send(LaneFixture.message(of: job))
            }
        }
        scene.supply(LaneFixture.jobs(1...3))
        #expect(scene.takeSent() == [3])
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .cancelled(reason: "quiet_hours"), wasTried: false),
                PushOutcome(LaneFixture.job(2), .expired, wasTried: false),
            ])
        #expect(scene.takeEvents() == [.cancelled(LaneFixture.job(1), reason: "quiet_hours"), .expired(LaneFixture.job(2))])
    }

    @Test func stopsAfterTheResponsesUnderWayAndTheirReport() {
        var scene = LaneFixture()
        scene.warmUp(1)
        scene.supply(LaneFixture.jobs(1...3))
        #expect(scene.takeSent() == [1, 2])
        scene.handle(.stop)
        scene.act()
        #expect(
            scene.takeReport()
                == PushReport(lane: .apns, outcomes: [PushOutcome(LaneFixture.job(3), .returned, wasTried: false)], capacity: 0))
        // A lease requested before the stop.
        scene.supply(LaneFixture.jobs(4...4), hasMore: true)
        #expect(scene.takeReport()?.outcomes == [PushOutcome(LaneFixture.job(4), .returned, wasTried: false)])
        scene.supply([])
        #expect(!scene.isFinished)
        scene.answer(1, .accepted(messageID: nil))
        scene.end(2, .failure(.lost("cut")))
        scene.act()
        #expect(scene.takeReport()?.outcomes.count == 2)
        #expect(!scene.isFinished)
        scene.supply([])
        #expect(scene.isFinished)
        #expect(scene.takeSent().isEmpty)
    }

    @Test func statusShowsQueueAndLastAcceptance() {
        var scene = LaneFixture()
        scene.act()
        var supply = PushLease(lane: .apns)
        supply.jobs = LaneFixture.jobs(1...1)
        supply.depth = 12
        supply.oldestAt = 5
        scene.handle(.supplied(supply))
        scene.act()
        scene.answer(1, .accepted(messageID: nil))
        #expect(scene.lane.status.lastAcceptedAt == scene.now)
        #expect(scene.lane.status.depth == 12)
        #expect(scene.lane.status.oldestAt == 5)
        #expect(scene.lane.status.state == .running)
        #expect(scene.lane.status.lastError == nil)
    }
}
