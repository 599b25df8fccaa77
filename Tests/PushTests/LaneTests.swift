import Fleet
import HTTPClient
import Push
import Testing

/// What a lane and the store exchange: leased, reported and returned jobs.
struct LaneTests {
    @Test func newConnectionStartsWithOneRequest() {
        var fixture = LaneFixture()
        fixture.performEffects()
        #expect(fixture.drainReport() == PushReport(lane: .apns, capacity: 1, isFirst: true))
        fixture.supply(LaneFixture.jobs(1...1))
        #expect(fixture.drainSent() == [1])
        #expect(fixture.report == nil)
    }

    @Test func eachSuccessWidensTheWindowByOne() {
        var fixture = LaneFixture(window: 4)
        fixture.performEffects()
        var rooms: [Int] = []
        var next: Int64 = 1
        for _ in 1...6 {
            let room = fixture.drainReport()?.capacity ?? 0
            rooms.append(room)
            let jobs = (0..<Int64(room)).map { LaneFixture.job(next + $0) }
            next += Int64(room)
            fixture.supply(jobs, hasMore: true)
            for number in fixture.drainSent() { fixture.respond(number, .accepted(messageID: nil)) }
            fixture.performEffects()
        }
        #expect(rooms == [1, 2, 4, 4, 4, 4])
    }

    @Test func reportsEachOutcomeOnceAndHasAtMostOneReportUnderWay() {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.handle(.wake)
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 4)
        fixture.supply(LaneFixture.jobs(1...3))
        fixture.respond(2, .accepted(messageID: "A"))
        fixture.performEffects()
        let first = fixture.drainReport()
        #expect(first?.outcomes == [PushOutcome(LaneFixture.job(2), .accepted(messageID: "A"), wasTried: true)])
        fixture.respond(1, .rejected(reason: "PayloadEmpty", alarm: false))
        fixture.performEffects()
        #expect(fixture.report == nil)
        fixture.respond(3, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.report == nil)
        fixture.supply([])
        let second = fixture.drainReport()
        #expect(
            second?.outcomes == [
                PushOutcome(LaneFixture.job(1), .failed(reason: "PayloadEmpty"), wasTried: true),
                PushOutcome(LaneFixture.job(3), .accepted(messageID: nil), wasTried: true),
            ])
        fixture.supply([])
        #expect(fixture.report == nil)
    }

    @Test func refusedReportIsRepeatedAfterASecond() {
        var fixture = LaneFixture()
        fixture.performEffects()
        fixture.supply(LaneFixture.jobs(1...1))
        fixture.respond(1, .accepted(messageID: nil))
        fixture.performEffects()
        let report = fixture.drainReport()
        fixture.handle(.refused)
        fixture.performEffects()
        #expect(fixture.report == nil)
        fixture.pass(999)
        #expect(fixture.report == nil)
        #expect(fixture.lane.nextTurn(at: fixture.now) == fixture.now + 1)
        fixture.pass(1)
        #expect(fixture.drainReport()?.outcomes == report?.outcomes)
    }

    @Test func statusShowsThatTheStoreCannotWrite() {
        var fixture = LaneFixture()
        fixture.warmUp(2)
        fixture.supply(LaneFixture.jobs(1...2))
        for number in [1, 2] as [Int64] { fixture.respond(number, .accepted(messageID: nil)) }
        fixture.performEffects()
        fixture.handle(.refused)
        #expect(fixture.lane.status.lastError?.text == "the store cannot write")
    }

    @Test func reportsWhenJobsAreDueOrTheIntervalIsOver() {
        var fixture = LaneFixture()
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.supply([], nextDueAt: fixture.now + 300)
        #expect(fixture.report == nil)
        #expect(fixture.lane.nextTurn(at: fixture.now) == fixture.now + 300)
        fixture.pass(299)
        #expect(fixture.report == nil)
        fixture.pass(1)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply([])
        fixture.pass(499)
        #expect(fixture.report == nil)
        fixture.pass(1)
        #expect(fixture.drainReport() != nil, "the store removes expired jobs from its queue when it gets a report")
    }

    @Test func wakeDuringAReportCausesAnother() {
        var fixture = LaneFixture()
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.handle(.wake)
        fixture.performEffects()
        #expect(fixture.report == nil)
        fixture.supply([])
        #expect(fixture.drainReport()?.capacity == 1)
    }

    @Test func emptyLeaseWhileTheStoreHasMoreJobsIsRetriedAfterASecond() {
        var fixture = LaneFixture()
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.supply([], hasMore: true)
        #expect(fixture.report == nil)
        fixture.pass(1_000)
        #expect(fixture.drainReport()?.capacity == 1)
    }

    @Test func cancelledAndExpiredJobsAreReportedUnsent() {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.decide = { job in
            switch job.number {
            case 1: .cancelled(reason: "quiet_hours")
            case 2: .expired
            default: .send(LaneFixture.message(of: job))
            }
        }
        fixture.supply(LaneFixture.jobs(1...3))
        #expect(fixture.drainSent() == [3])
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .cancelled(reason: "quiet_hours"), wasTried: false),
                PushOutcome(LaneFixture.job(2), .expired, wasTried: false),
            ])
        #expect(fixture.drainEvents() == [.cancelled(LaneFixture.job(1), reason: "quiet_hours"), .expired(LaneFixture.job(2))])
    }

    @Test func stopsAfterTheResponsesUnderWayAndTheirReport() {
        var fixture = LaneFixture()
        fixture.warmUp(1)
        fixture.supply(LaneFixture.jobs(1...3))
        #expect(fixture.drainSent() == [1, 2])
        fixture.handle(.stop)
        fixture.performEffects()
        #expect(
            fixture.drainReport()
                == PushReport(lane: .apns, outcomes: [PushOutcome(LaneFixture.job(3), .returned, wasTried: false)], capacity: 0))
        // Jobs that were requested before the stop may still arrive: the lane returns them.
        fixture.supply(LaneFixture.jobs(4...4), hasMore: true)
        #expect(fixture.drainReport()?.outcomes == [PushOutcome(LaneFixture.job(4), .returned, wasTried: false)])
        fixture.supply([])
        #expect(!fixture.isFinished)
        fixture.respond(1, .accepted(messageID: nil))
        fixture.complete(2, .failure(.lost("cut")))
        fixture.performEffects()
        #expect(fixture.drainReport()?.outcomes.count == 2)
        #expect(!fixture.isFinished)
        fixture.supply([])
        #expect(fixture.isFinished)
        #expect(fixture.drainSent().isEmpty)
    }

    @Test func statusShowsLastAcceptance() {
        var fixture = LaneFixture()
        fixture.performEffects()
        var lease = PushLease(lane: .apns)
        lease.jobs = LaneFixture.jobs(1...1)
        fixture.handle(.supplied(lease))
        fixture.performEffects()
        fixture.respond(1, .accepted(messageID: nil))
        #expect(fixture.lane.status.lastAcceptedAt == fixture.now)
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.lane.status.lastError == nil)
    }
}
