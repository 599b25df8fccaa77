import Fleet
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
                .rejected(reason: "PayloadEmpty", alarm: true),
                PushOutcome(LaneFixture.job(1), .failed(reason: "PayloadEmpty"), wasTried: true)
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
            var fixture = LaneFixture()
            fixture.performEffects()
            fixture.supply(LaneFixture.jobs(1...1))
            fixture.respond(1, result)
            fixture.performEffects()
            #expect(fixture.drainReport()?.outcomes == [outcome], "\(result)")
        }
    }

    @Test func retryHonoursRetryAfter() throws {
        for (attempts, retryAfter, range) in [
            (0, nil, 1_000...1_500), (2, nil, 4_000...6_000), (9, nil, 60_000...90_000), (0, 20_000, 20_000...30_000),
        ] as [(Int, Int64?, ClosedRange<Int64>)] {
            var fixture = LaneFixture()
            fixture.performEffects()
            fixture.supply([LaneFixture.job(1, attempts: attempts)])
            fixture.respond(1, .retry(reason: "InternalServerError", after: retryAfter))
            fixture.performEffects()
            let outcome = try #require(fixture.drainReport()?.outcomes.first)
            guard case .retry(let at, "InternalServerError") = outcome.result else {
                Issue.record("\(outcome)")
                continue
            }
            #expect(range.contains(at - fixture.now))
        }
    }

    @Test func deviceBackoffHonoursRetryAfter() {
        var fixture = LaneFixture()
        fixture.performEffects()
        let job = LaneFixture.job(1, expiresAt: fixture.now + 86_400_000)
        fixture.supply([job])
        fixture.respond(1, .deviceThrottled(reason: "QUOTA_EXCEEDED", after: 90_000))
        fixture.performEffects()
        let later = PushOutcome.Result.retry(at: fixture.now + 90_000, reason: "QUOTA_EXCEEDED")
        #expect(fixture.drainReport()?.outcomes == [PushOutcome(job, later, wasTried: true)])
    }

    @Test func withdrawnRequestIsReturnedWithoutSetback() {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.supply([LaneFixture.job(1), LaneFixture.job(2)])
        #expect(fixture.drainSent() == [1, 2])
        fixture.handle(.withdrawn(1))
        fixture.performEffects()
        #expect(fixture.drainReport()?.outcomes == [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)])
        // Job 1 is no longer in flight, so a second withdrawal is ignored.
        fixture.handle(.withdrawn(1))
        fixture.respond(2, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running && fixture.lane.status.inFlight == 0)
    }

    /// Jobs in hand are leased, but not yet sent. A setback between a report and its lease leaves more jobs in hand
    /// than the lane may send.
    @Test func lostDevicesJobsInHandAreReturned() {
        var fixture = LaneFixture(window: 2)
        fixture.warmUp(1)
        let jobs = [
            LaneFixture.job(1), LaneFixture.job(2), LaneFixture.job(3, device: "D"), LaneFixture.job(4, device: "E"),
            LaneFixture.job(5, device: "D"),
        ]
        fixture.supply(jobs)
        #expect(fixture.drainSent() == [1, 2])
        fixture.handle(.lost(devices: ["D", "device-1", "another"]))
        fixture.performEffects()
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(jobs[2], .returned, wasTried: false), PushOutcome(jobs[4], .returned, wasTried: false),
            ])
        // Job 1 is still in flight, although its device is lost: the lane does not know whether its request is written.
        #expect(fixture.lane.status.inFlight == 2)
        fixture.respond(1, .accepted(messageID: nil))
        fixture.respond(2, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.drainSent() == [4])
    }

    @Test func deadDevicesJobsInHandAreReturned() {
        var fixture = LaneFixture()
        fixture.warmUp(1)
        let removal = DeviceRemoval(reason: "Unregistered", ifSeenBefore: 50)
        let jobs = [
            LaneFixture.job(1, device: "D"), LaneFixture.job(2), LaneFixture.job(3, device: "D"),
            LaneFixture.job(4, device: "D", seenAt: 50),
        ]
        fixture.supply(jobs)
        #expect(fixture.drainSent() == [1, 2])
        fixture.respond(1, .invalidToken(removal))
        fixture.performEffects()
        // Job 4 has a last-seen time that is not before the removal's, so its device has registered again.
        #expect(fixture.drainSent() == [4])
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(jobs[0], .failed(reason: "Unregistered"), wasTried: true, removal: removal),
                PushOutcome(jobs[2], .returned, wasTried: false),
            ])
        // The store has removed the device. The device of a job leased now is alive, whatever its last-seen time.
        fixture.supply([LaneFixture.job(5, device: "D")])
        #expect(fixture.drainSent() == [5])
    }

    @Test func deadDevicesJobsAreReturnedBeforeTheLaneForgetsTheDevice() {
        var fixture = LaneFixture(window: 2)
        fixture.warmUp(1)
        let removal = DeviceRemoval(reason: "Unregistered", ifSeenBefore: 50)
        // More jobs than can be sent: the third stays in hand.
        fixture.supply([
            LaneFixture.job(1, device: "D"), LaneFixture.job(2), LaneFixture.job(3, device: "E"), LaneFixture.job(4, device: "D"),
        ])
        #expect(fixture.drainSent() == [1, 2])
        fixture.respond(1, .invalidToken(removal))
        fixture.performEffects()
        #expect(fixture.drainSent() == [3])
        #expect(fixture.drainReport()?.outcomes.count == 1)
        fixture.supply([])
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(4, device: "D"), .returned, wasTried: false)
            ])
    }

    @Test func throttledDeviceDelaysOnlyItsOwnJobs() throws {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.supply([LaneFixture.job(1, device: "D")])
        fixture.respond(1, .deviceThrottled(reason: "TooManyRequests", after: nil))
        fixture.performEffects()
        let until = fixture.now + 1_000
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1, device: "D"), .retry(at: until, reason: "TooManyRequests"), wasTried: true)
            ])
        _ = fixture.drainSent()
        fixture.supply([LaneFixture.job(2, device: "D"), LaneFixture.job(3)])
        #expect(fixture.drainSent() == [3])
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(2, device: "D"), .retry(at: until, reason: "device_busy"), wasTried: false)
            ]
        )
    }

    @Test func deviceBackoffDoublesUntilAccepted() throws {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        var waits: [Int64] = []
        for number in Int64(1)...9 {
            fixture.supply([LaneFixture.job(number, device: "D")])
            #expect(fixture.drainSent() == [number])
            let result: SendResult = number == 8 ? .accepted(messageID: nil) : .deviceThrottled(reason: "B", after: nil)
            fixture.respond(number, result)
            fixture.performEffects()
            let reported = try #require(fixture.drainReport()?.outcomes.first?.result)
            if case .retry(let at, _) = reported { waits.append((at - fixture.now) / 1_000) }
            fixture.now += 61_000
            fixture.supply([])
            _ = fixture.drainReport()
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
        #expect(backoff.backoff(of: "D", at: 1_399) == nil, "a clock set back does not lengthen the back-off")
        #expect(backoff.throttle("D", startedAt: 400, at: 500) == 1_500, "the clock was set back")
    }

    @Test func expiredCredentialIsRenewedOnce() {
        var fixture = LaneFixture()
        fixture.warmUp(3)
        fixture.supply(LaneFixture.jobs(1...4))
        for number in Int64(1)...3 { fixture.respond(number, .credentialExpired(reason: "ExpiredProviderToken"), credential: 5) }
        fixture.performEffects()
        #expect(fixture.renewals == [5])
        // The lane requests no jobs until a credential is ready. None of the three requests counts as an attempt.
        #expect(
            fixture.drainReport()
                == PushReport(
                    lane: .apns,
                    outcomes: LaneFixture.jobs(1...3).map {
                        PushOutcome($0, .retry(at: fixture.now, reason: "ExpiredProviderToken"), wasTried: false)
                    }, capacity: 0))
        fixture.handle(.credential(.ready))
        fixture.respond(4, .credentialExpired(reason: "ExpiredProviderToken"), credential: 5)
        fixture.supply([])
        #expect(fixture.renewals == [5], "the fourth request carried the old credential, too")
        #expect(fixture.drainReport()?.capacity == 4)
        fixture.supply(LaneFixture.jobs(1...4))
        _ = fixture.drainSent()
        fixture.respond(1, .credentialExpired(reason: "ExpiredProviderToken"), credential: 6)
        fixture.performEffects()
        #expect(fixture.renewals == [5, 6])
        fixture.handle(.credential(.refused(reason: "check the clock")))
        fixture.performEffects()
        #expect(fixture.lane.status.state == .stopped)
        #expect(fixture.events.contains(.alarm("apns: stopped until a probe succeeds: check the clock")))
        // A probe that fails for the same reason requests another renewal, which may be granted this time.
        fixture.respond(2, .accepted(messageID: nil))
        fixture.supply([])
        _ = (fixture.drainReport(), fixture.drainSent())
        fixture.pass(30_000)
        fixture.supply(LaneFixture.jobs(3...3))
        #expect(fixture.drainSent() == [3])
        fixture.respond(3, .credentialExpired(reason: "ExpiredProviderToken"), credential: 6)
        fixture.performEffects()
        #expect(fixture.renewals == [5, 6, 6])
    }

    @Test func fetchesCredentialForTheFirstJob() {
        var fixture = LaneFixture(.fcm, hasCredential: false)
        fixture.performEffects()
        #expect(fixture.renewals.isEmpty)
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(1...1))
        #expect(fixture.drainSent().isEmpty)
        #expect(fixture.renewals == [-1])
        #expect(
            fixture.drainReport()
                == PushReport(lane: .fcm, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 0))
        fixture.supply([], hasMore: true)
        #expect(fixture.report == nil)
        fixture.handle(.credential(.ready))
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(1...1))
        #expect(fixture.drainSent() == [1])
        fixture.respond(1, .accepted(messageID: nil))
        fixture.handle(.credential(.expired))
        fixture.performEffects()
        #expect(fixture.renewals == [-1], "no job needs another credential yet")
        #expect(fixture.lane.status.state == .running)
        #expect(fixture.drainReport()?.capacity == 2)
    }

    @Test func missingCredentialPauses() {
        var fixture = LaneFixture(.fcm)
        fixture.performEffects()
        _ = fixture.drainReport()
        fixture.handle(.credential(.missing(reason: "no access token: 500")))
        fixture.supply(LaneFixture.jobs(1...1))
        #expect(fixture.drainSent().isEmpty)
        #expect(
            fixture.drainReport()
                == PushReport(lane: .fcm, outcomes: [PushOutcome(LaneFixture.job(1), .returned, wasTried: false)], capacity: 0))
        #expect(fixture.lane.status.state == .paused)
        fixture.supply([])
        fixture.handle(.credential(.missing(reason: "no access token: 503")))
        fixture.handle(.credential(.ready))
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 1)
        #expect(fixture.drainEvents() == [.paused(reason: "no access token: 500", milliseconds: nil), .resumed])
        #expect(fixture.lane.status.lastError?.text == "no access token: 503")
    }

    @Test func refusedCredentialStopsUntilReady() {
        var fixture = LaneFixture(.fcm)
        fixture.performEffects()
        _ = fixture.drainReport()
        for _ in 1...2 {
            fixture.handle(.credential(.missing(reason: "invalid_grant")))
            fixture.handle(.credential(.refused(reason: "invalid_grant")))
        }
        fixture.supply([], hasMore: true)
        #expect(fixture.lane.status.state == .stopped)
        #expect(fixture.drainEvents().count { if case .alarm = $0 { true } else { false } } == 1)
        fixture.pass(30_000)
        #expect(fixture.drainReport()?.capacity == 0)
        fixture.supply([], hasMore: true)
        fixture.handle(.credential(.ready))
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 1)
        fixture.supply(LaneFixture.jobs(1...1))
        fixture.respond(1, .accepted(messageID: nil))
        fixture.performEffects()
        #expect(fixture.drainEvents().contains(.resumed))
        #expect(fixture.lane.status.state == .running)
    }

    @Test func repeatedAlarmsAreLimitedToOneAMinute() {
        var fixture = LaneFixture()
        fixture.warmUp(1)
        var alarms = 0
        for number in Int64(1)...4 {
            fixture.supply([LaneFixture.job(number)])
            fixture.respond(number, .rejected(reason: "THIRD_PARTY_AUTH_ERROR", alarm: true))
            alarms += fixture.drainEvents().count { if case .alarm = $0 { true } else { false } }
            fixture.performEffects()
            alarms += fixture.drainEvents().count { if case .alarm = $0 { true } else { false } }
            if number == 3 { fixture.now += 60_000 }
        }
        #expect(alarms == 2)
        #expect(fixture.lane.status.state == .running)
    }
}
