import FleetRules
import HTTPClient
import Testing

@testable import Push

/// The effect of each result on the job, its device and the lane.
struct LaneResultTests {
    @Test func reportsTheOutcomeOfEachResult() {
        let removal = DeviceRemoval(reason: "Unregistered", ifSeenBefore: 77)
        let table: [(SendResult, PushOutcome)] = [
            (.accepted(messageID: "A"), PushOutcome(LaneFixture.job(1), .accepted(messageID: "A"), wasTried: true)),
            (
                .rejected(reason: "BadTopic", alarm: true),
                PushOutcome(LaneFixture.job(1), .failed(reason: "BadTopic"), wasTried: true)
            ),
            (
                .invalidToken(removal),
                PushOutcome(LaneFixture.job(1), .failed(reason: "Unregistered"), wasTried: true, removal: removal)
            ),
            (
                .credentialExpired(reason: "E"),
                PushOutcome(LaneFixture.job(1), .retry(at: LaneFixture().now, reason: "E"), wasTried: false)
            ),
            (
                .configurationError(reason: "S", newConnection: false),
                PushOutcome(LaneFixture.job(1), .retry(at: LaneFixture().now, reason: "S"), wasTried: false)
            ),
            (.goAway(reason: "R"), PushOutcome(LaneFixture.job(1), .returned, wasTried: false)),
        ]
        for (result, outcome) in table {
            var scene = LaneFixture()
            scene.act()
            scene.supply(LaneFixture.jobs(1...1))
            scene.answer(1, result)
            scene.act()
            #expect(scene.takeReport()?.outcomes == [outcome], "\(result)")
        }
    }

    @Test func retryHonoursRetryAfter() throws {
        for (attempts, retryAfter, range) in [
            (0, nil, 1_000...1_500), (2, nil, 4_000...6_000), (9, nil, 60_000...90_000), (0, 20_000, 20_000...30_000),
        ] as [(Int, Int64?, ClosedRange<Int64>)] {
            var scene = LaneFixture()
            scene.act()
            scene.supply([LaneFixture.job(1, attempts: attempts)])
            scene.answer(1, .retry(reason: "InternalServerError", after: retryAfter))
            scene.act()
            let outcome = try #require(scene.takeReport()?.outcomes.first)
            guard case .retry(let at, "InternalServerError") = outcome.result else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(range.contains(at - scene.now))
        }
    }

    @Test func retryPastExpiryExpiresNotification() {
        var scene = LaneFixture()
        scene.act()
        let job = LaneFixture.job(1, expiresAt: scene.now + 900)
        scene.supply([job])
        scene.answer(1, .retry(reason: "ServiceUnavailable", after: nil))
        scene.act()
        #expect(scene.takeReport()?.outcomes == [PushOutcome(job, .expired, wasTried: true)])
    }

    /// A retry-after of hours is honoured; a notification that does not live so long expires.
    @Test(
        arguments: [
            (.retry(reason: "UNAVAILABLE", after: 7_200_000), 7_200_000...7_230_000),
            (.deviceThrottled(reason: "UNAVAILABLE", after: 7_200_000), 7_200_000...7_200_000),
            (.retry(reason: "UNAVAILABLE", after: 86_400_000), nil), (.retry(reason: "UNAVAILABLE", after: .max), nil),
            (.deviceThrottled(reason: "UNAVAILABLE", after: .max), nil),
        ] as [(SendResult, ClosedRange<Int64>?)])
    func longRetryAfterIsHonouredOrExpiresNotification(_ result: SendResult, _ range: ClosedRange<Int64>?) throws {
        var scene = LaneFixture()
        scene.act()
        let job = LaneFixture.job(1, expiresAt: scene.now + 86_400_000)
        scene.supply([job])
        scene.answer(1, result)
        scene.act()
        switch try #require(scene.takeReport()?.outcomes.first?.result) {
        case .retry(let at, _): #expect(range?.contains(at - scene.now) == true)
        case let reported: #expect(reported == .expired && range == nil)
        }
    }

    @Test func deviceBackoffHonoursRetryAfter() {
        var scene = LaneFixture()
        scene.act()
        let job = LaneFixture.job(1, expiresAt: scene.now + 86_400_000)
        scene.supply([job])
        scene.answer(1, .deviceThrottled(reason: "QUOTA_EXCEEDED", after: 90_000))
        scene.act()
        let later = PushOutcome.Result.retry(at: scene.now + 90_000, reason: "QUOTA_EXCEEDED")
        #expect(scene.takeReport()?.outcomes == [PushOutcome(job, later, wasTried: true)])
    }

    /// The lane sends nothing meanwhile, and the response may be a proxy's.
    @Test(arguments: [(3_600_000, 0), (3_600_001, 1), (Int64.max, 1)] as [(Int64, Int)])
    func pauseOfMoreThanAnHourAlarms(_ retryAfter: Int64, _ count: Int) {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.supply(LaneFixture.jobs(1...3))
        for number in 1...3 as ClosedRange<Int64> { scene.answer(number, .retry(reason: "UNAVAILABLE", after: retryAfter)) }
        scene.act()
        #expect(scene.lane.status.state == .paused)
        #expect(scene.takeEvents().count { if case .alarm = $0 { true } else { false } } == count)
    }

    @Test func withdrawnRequestIsReturnedWithoutSetback() {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.supply([LaneFixture.job(1), LaneFixture.job(2)])
        #expect(scene.takeSent() == [1, 2])
        scene.handle(.withdrawn(1))
        scene.act()
        #expect(scene.takeReport()?.outcomes == [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)])
        // Repeated or unknown: ignored.
        scene.handle(.withdrawn(1))
        scene.answer(2, .accepted(messageID: nil))
        scene.act()
        #expect(scene.lane.status.state == .running && scene.lane.status.inFlight == 0)
    }

    /// A setback between report and supply leaves more in hand than can be sent.
    @Test func lostDevicesJobsInHandAreReturned() {
        var scene = LaneFixture(window: 2)
        scene.warmUp(1)
        let jobs = [
            LaneFixture.job(1), LaneFixture.job(2), LaneFixture.job(3, device: "D"), LaneFixture.job(4, device: "E"),
            LaneFixture.job(5, device: "D"),
        ]
        scene.supply(jobs)
        #expect(scene.takeSent() == [1, 2])
        scene.handle(.lost(devices: ["D", "device-1", "another"]))
        scene.act()
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(jobs[2], .returned, wasTried: false), PushOutcome(jobs[4], .returned, wasTried: false),
            ])
        // The lane does not know whether the first is written.
        #expect(scene.lane.status.inFlight == 2)
        scene.answer(1, .accepted(messageID: nil))
        scene.answer(2, .accepted(messageID: nil))
        scene.act()
        #expect(scene.takeSent() == [4])
    }

    @Test func deadDevicesJobsInHandAreReturned() {
        var scene = LaneFixture()
        scene.warmUp(1)
        let removal = DeviceRemoval(reason: "Unregistered", ifSeenBefore: 50)
        let jobs = [
            LaneFixture.job(1, device: "D"), LaneFixture.job(2), LaneFixture.job(3, device: "D"),
            LaneFixture.job(4, device: "D", seenAt: 50),
        ]
        scene.supply(jobs)
        #expect(scene.takeSent() == [1, 2])
        scene.answer(1, .invalidToken(removal))
        scene.act()
        // The fourth has the device as registered again since.
        #expect(scene.takeSent() == [4])
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(jobs[0], .failed(reason: "Unregistered"), wasTried: true, removal: removal),
                PushOutcome(jobs[2], .returned, wasTried: false),
            ])
        // The store has removed it: a device leased now is alive, whatever its last-seen time.
        scene.supply([LaneFixture.job(5, device: "D")])
        #expect(scene.takeSent() == [5])
    }

    @Test func deadDevicesJobsAreReturnedBeforeTheDeviceIsForgotten() {
        var scene = LaneFixture(window: 2)
        scene.warmUp(1)
        let removal = DeviceRemoval(reason: "Unregistered", ifSeenBefore: 50)
        // More than the room: the third stays in hand.
        scene.supply([
            LaneFixture.job(1, device: "D"), LaneFixture.job(2), LaneFixture.job(3, device: "E"), LaneFixture.job(4, device: "D"),
        ])
        #expect(scene.takeSent() == [1, 2])
        scene.answer(1, .invalidToken(removal))
        scene.act()
        #expect(scene.takeSent() == [3])
        #expect(scene.takeReport()?.outcomes.count == 1)
        scene.supply([])
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(LaneFixture.job(4, device: "D"), .returned, wasTried: false)
            ])
    }

    @Test func throttledDeviceDelaysOnlyItsOwnJobs() throws {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.supply([LaneFixture.job(1, device: "D")])
        scene.answer(1, .deviceThrottled(reason: "TooManyRequests", after: nil))
        scene.act()
        let until = scene.now + 1_000
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1, device: "D"), .retry(at: until, reason: "TooManyRequests"), wasTried: true)
            ])
        _ = scene.takeSent()
        scene.supply([LaneFixture.job(2, device: "D"), LaneFixture.job(3)])
        #expect(scene.takeSent() == [3])
        #expect(
            scene.takeReport()?.outcomes == [
                PushOutcome(LaneFixture.job(2, device: "D"), .retry(at: until, reason: "device_busy"), wasTried: false)
            ]
        )
    }

    @Test func deviceBackoffDoublesUntilAccepted() throws {
        var scene = LaneFixture()
        scene.warmUp(3)
        var waits: [Int64] = []
        for number in Int64(1)...9 {
            scene.supply([LaneFixture.job(number, device: "D")])
            #expect(scene.takeSent() == [number])
            let result: SendResult = number == 8 ? .accepted(messageID: nil) : .deviceThrottled(reason: "B", after: nil)
            scene.answer(number, result)
            scene.act()
            let reported = try #require(scene.takeReport()?.outcomes.first?.result)
            if case .retry(let at, _) = reported { waits.append((at - scene.now) / 1_000) }
            scene.now += 61_000
            scene.supply([])
            _ = scene.takeReport()
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 1])
    }

    @Test func concurrentThrottlingCountsOnce() {
        var backoff = DeviceBackoff(waitMax: 60_000)
        #expect(backoff.throttle("D", startedAt: 100, at: 200) == 1_200)
        #expect(backoff.throttle("D", startedAt: 110, at: 250) == 1_200)
        #expect(backoff.throttle("D", startedAt: 1_300, at: 1_400) == 3_400)
        #expect(backoff.backoff(of: "D", at: 3_399) == 3_400)
        #expect(backoff.backoff(of: "D", at: 3_400) == nil)
        #expect(backoff.backoff(of: "D", at: 1_399) == nil, "a clock set back does not lengthen it")
    }

    @Test func expiredCredentialIsRenewedOnce() {
        var scene = LaneFixture()
        scene.warmUp(3)
        scene.supply(LaneFixture.jobs(1...4))
        for number in Int64(1)...3 { scene.answer(number, .credentialExpired(reason: "ExpiredProviderToken"), credential: 5) }
        scene.act()
        #expect(scene.renewals == [5])
        // No room until it is ready; none of the three counts as an attempt.
        #expect(
            scene.takeReport()
                == PushReport(
                    lane: .apns,
                    outcomes: LaneFixture.jobs(1...3).map {
                        PushOutcome($0, .retry(at: scene.now, reason: "ExpiredProviderToken"), wasTried: false)
                    }, capacity: 0))
        scene.handle(.credential(.ready))
        scene.answer(4, .credentialExpired(reason: "ExpiredProviderToken"), credential: 5)
        scene.supply([])
        #expect(scene.renewals == [5], "the fourth carried the old one, too")
        #expect(scene.takeReport()?.capacity == 4)
        scene.supply(LaneFixture.jobs(1...4))
        _ = scene.takeSent()
        scene.answer(1, .credentialExpired(reason: "ExpiredProviderToken"), credential: 6)
        scene.act()
        #expect(scene.renewals == [5, 6])
        scene.handle(.credential(.refused(reason: "is the clock right?")))
        scene.act()
        #expect(scene.lane.status.state == .stopped)
        #expect(scene.events.contains(.alarm("apns: stopped, for the provider refuses us: is the clock right?")))
        // A probe that fails for the same reason requests a renewal again: it may be granted by then.
        scene.answer(2, .accepted(messageID: nil))
        scene.supply([])
        _ = (scene.takeReport(), scene.takeSent())
        scene.pass(30_000)
        scene.supply(LaneFixture.jobs(3...3))
        #expect(scene.takeSent() == [3])
        scene.answer(3, .credentialExpired(reason: "ExpiredProviderToken"), credential: 6)
        scene.act()
        #expect(scene.renewals == [5, 6, 6])
    }

    @Test func fetchesCredentialForTheFirstJob() {
        var scene = LaneFixture(.fcm, hasCredential: false)
        scene.act()
        #expect(scene.renewals.isEmpty)
        #expect(scene.lane.status.state == .running)
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(1...1))
        #expect(scene.takeSent().isEmpty)
        #expect(scene.renewals == [-1])
        #expect(
            scene.takeReport()
                == PushReport(lane: .fcm, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 0))
        scene.supply([], hasMore: true)
        #expect(scene.report == nil)
        scene.handle(.credential(.ready))
        scene.act()
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(1...1))
        #expect(scene.takeSent() == [1])
        scene.answer(1, .accepted(messageID: nil))
        scene.handle(.credential(.expired))
        scene.act()
        #expect(scene.renewals == [-1], "no job needs another yet")
        #expect(scene.lane.status.state == .running)
        #expect(scene.takeReport()?.capacity == 2)
    }

    @Test func missingCredentialPauses() {
        var scene = LaneFixture(.fcm)
        scene.act()
        _ = scene.takeReport()
        scene.handle(.credential(.missing(reason: "no access token: 500")))
        scene.supply(LaneFixture.jobs(1...1))
        #expect(scene.takeSent().isEmpty)
        #expect(
            scene.takeReport()
                == PushReport(lane: .fcm, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 0))
        #expect(scene.lane.status.state == .paused)
        scene.supply([])
        scene.handle(.credential(.missing(reason: "no access token: 503")))
        scene.handle(.credential(.ready))
        scene.act()
        #expect(scene.takeReport()?.capacity == 1)
        #expect(scene.takeEvents() == [.paused(reason: "no access token: 500", milliseconds: nil), .resumed])
        #expect(scene.lane.status.lastError?.text == "no access token: 503")
    }

    @Test func refusedCredentialStopsUntilReady() {
        var scene = LaneFixture(.fcm)
        scene.act()
        _ = scene.takeReport()
        for _ in 1...2 {
            scene.handle(.credential(.missing(reason: "invalid_grant")))
            scene.handle(.credential(.refused(reason: "invalid_grant")))
        }
        scene.supply([], hasMore: true)
        #expect(scene.lane.status.state == .stopped)
        #expect(scene.takeEvents().count { if case .alarm = $0 { true } else { false } } == 1)
        scene.pass(30_000)
        #expect(scene.takeReport()?.capacity == 0)
        scene.supply([], hasMore: true)
        scene.handle(.credential(.ready))
        scene.act()
        #expect(scene.takeReport()?.capacity == 1)
        scene.supply(LaneFixture.jobs(1...1))
        scene.answer(1, .accepted(messageID: nil))
        scene.act()
        #expect(scene.takeEvents().contains(.resumed))
        #expect(scene.lane.status.state == .running)
    }

    @Test func repeatedAlarmsAreLimitedToOneAMinute() {
        var scene = LaneFixture()
        scene.warmUp(1)
        var alarms = 0
        for number in Int64(1)...4 {
            scene.supply([LaneFixture.job(number)])
            scene.answer(number, .rejected(reason: "TopicDisallowed", alarm: true))
            alarms += scene.takeEvents().count { if case .alarm = $0 { true } else { false } }
            scene.act()
            alarms += scene.takeEvents().count { if case .alarm = $0 { true } else { false } }
            if number == 3 { scene.now += 60_000 }
        }
        #expect(alarms == 2)
        #expect(scene.lane.status.state == .running)
    }
}
