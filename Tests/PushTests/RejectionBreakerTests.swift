import Fleet
import Testing

@testable import Push

@Suite struct RejectionBreakerTests {
    /// A rejection of a push to a recipient's device.
    /// - Parameter recipient: nil for a recipient of whom there is one for each device.
    private func rejection(_ device: Int, of recipient: String? = nil, at now: Int64 = 0) -> RejectionBreaker.Rejection {
        RejectionBreaker.Rejection(
            job: LaneFixture.job(Int64(device), recipient: recipient ?? "driver:\(device)"), reason: "BadDeviceToken",
            removal: DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: 1), seconds: 0, at: now)
    }

    /// Suspends a rejection for each device, and returns whether the breaker is to open after each of them.
    private func suspend(_ breaker: inout RejectionBreaker, _ devices: [Int], at now: Int64 = 0) -> [Bool] {
        devices.map { breaker.suspend(rejection($0, at: now)) }
    }

    @Test func opensIfMostOfTheLastAnswersAreRejectionsOfTenRecipients() {
        var breaker = RejectionBreaker()
        let isToOpen = suspend(&breaker, Array(1...11))
        #expect(isToOpen == [Bool](repeating: false, count: 10) + [true])
        #expect(breaker.open().map(\.job.number) == Array(1...11))
        #expect(breaker.isOpen && breaker.suspended == [])
        breaker.close()
        #expect(!breaker.isOpen)
        let isToOpenAgain = suspend(&breaker, Array(1...10))
        #expect(!isToOpenAgain.contains(true), "earlier answers do not count again")
    }

    @Test func staysClosedIfTheRejectionsAreNotTheMajorityOfTheLastTwentyAnswers() {
        var breaker = RejectionBreaker()
        for device in 1...200 {
            let isToOpen = breaker.suspend(rejection(device))
            #expect(!isToOpen)
            breaker.recordOther(at: 0)
        }
        // Older answers do not count, so eleven rejections are enough again.
        for _ in 1...20 { breaker.recordOther(at: 0) }
        let isToOpen = suspend(&breaker, Array(301...311))
        #expect(isToOpen == [Bool](repeating: false, count: 10) + [true])
    }

    @Test func staysClosedIfTheRejectionsAreOfFewRecipients() {
        var breaker = RejectionBreaker()
        for _ in 1...50 {
            let isToOpen = suspend(&breaker, Array(1...9))
            #expect(!isToOpen.contains(true))
        }
        let isToOpen = suspend(&breaker, [10])
        #expect(isToOpen == [true], "ten are not few")
    }

    /// Otherwise, one user with many invalid tokens would stop the pushes of all others.
    @Test func manyDevicesOfOneRecipientDoNotOpenIt() {
        var breaker = RejectionBreaker()
        for device in 1...20 {
            let isToOpen = breaker.suspend(rejection(device, of: "driver:42"))
            #expect(!isToOpen)
        }
        #expect(breaker.takeConfirmed(at: 500).count == 20)
    }

    /// A lane with little traffic, to which an invalid token comes now and then.
    @Test func answersCountForAnHour() {
        let hour: Int64 = 3_600_000
        var breaker = RejectionBreaker()
        for device in 1...50 {
            let isToOpen = breaker.suspend(rejection(device, at: Int64(device) * hour / 10))
            #expect(!isToOpen)
            _ = breaker.takeSuspended()
        }
        // Ten of the last hour count, so the eleventh within it opens the breaker.
        let isToOpen = breaker.suspend(rejection(51, at: 5 * hour))
        #expect(isToOpen)
    }

    @Test func setBackClockForgetsAnswers() {
        var breaker = RejectionBreaker()
        _ = suspend(&breaker, Array(1...10), at: 1_000)
        let isToOpen = breaker.suspend(rejection(11, at: 999))
        #expect(!isToOpen)
    }

    @Test func confirmsARejectionAfterHalfASecond() {
        var breaker = RejectionBreaker()
        breaker.recordOther(at: 0)
        breaker.recordOther(at: 0)
        #expect(breaker.nextTurn == nil)
        _ = suspend(&breaker, [1, 2], at: 1_000)
        #expect(breaker.nextTurn == 1_500)
        #expect(breaker.takeConfirmed(at: 1_499) == [])
        #expect(breaker.takeConfirmed(at: 1_500).map(\.job.number) == [1, 2])
        #expect(breaker.suspended == [] && breaker.nextTurn == nil)
    }

    /// No other answers: the more recipients are concerned, the longer the breaker waits.
    @Test(arguments: [(1, 500), (2, 1_000), (3, 2_000), (10, 256_000)] as [(Int, Int64)])
    func eachRecipientDoublesTheTime(_ devices: Int, _ time: Int64) {
        var breaker = RejectionBreaker()
        _ = suspend(&breaker, Array(1...devices))
        #expect(breaker.takeConfirmed(at: time - 1) == [])
        #expect(breaker.takeConfirmed(at: time).count == devices)
    }

    @Test func otherAnswersShortenTheTime() {
        var breaker = RejectionBreaker()
        _ = suspend(&breaker, Array(1...9))
        for _ in 1...9 { breaker.recordOther(at: 0) }
        #expect(breaker.takeConfirmed(at: 500).count == 9)
    }

    @Test func setBackClockConfirms() {
        var breaker = RejectionBreaker()
        _ = suspend(&breaker, [1], at: 1_000)
        #expect(breaker.takeConfirmed(at: 999).count == 1)
    }
}

/// Rejections that may be the effect of a wrong configuration.
struct LaneRejectionTests {
    private static let removal = DeviceRemoval(reason: "DeviceTokenNotForTopic", ifSeenBefore: 77)

    /// A lane with a window of 32 whose provider has just rejected the jobs 1 to `count`, each for another device.
    private func rejecting(_ count: Int, _ result: SendResult = .doubtfulToken(removal)) -> LaneFixture {
        var fixture = LaneFixture(window: 32)
        fixture.warmUp(31)
        fixture.pass(60_000)
        _ = fixture.drainReport()
        fixture.supply(LaneFixture.jobs(1...Int64(count)))
        for number in 1...Int64(count) { fixture.respond(number, result) }
        fixture.performEffects()
        return fixture
    }

    @Test func rejectedTokenIsQuarantinedThenRemoved() {
        var fixture = rejecting(1)
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .undecided, wasTried: true, removal: Self.removal)
            ])
        #expect(!fixture.events.contains { if case .rejected = $0 { true } else { false } })
        fixture.supply([])
        #expect(fixture.lane.nextTurn(at: fixture.now) == fixture.now + 500)
        fixture.pass(500)
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(
                    LaneFixture.job(1), .failed(reason: "DeviceTokenNotForTopic"), wasTried: true, removal: Self.removal)
            ])
        #expect(
            fixture.drainEvents() == [.rejected(LaneFixture.job(1), reason: "DeviceTokenNotForTopic", seconds: 0.05)])
        #expect(fixture.lane.status.state == .running)
    }

    @Test func unknownTopicFailsThePushWithAnAlarm() {
        var fixture = rejecting(1, .unknownAddress(reason: "BadTopic"))
        #expect(fixture.drainReport() == nil, "the store has nothing to do yet")
        fixture.pass(500)
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .failed(reason: "BadTopic"), wasTried: true)
            ])
        #expect(fixture.drainEvents().contains(.alarm("apns: the provider rejects pushes: BadTopic")))
    }

    /// A further job of the device is in hand: the store keeps it, because it quarantines the device.
    @Test func jobsInHandOfAQuarantinedDeviceAreReturned() {
        var fixture = LaneFixture(window: 32)
        fixture.performEffects()
        fixture.supply([LaneFixture.job(1, device: "d"), LaneFixture.job(2, device: "d")])
        #expect(fixture.drainSent() == [1])
        fixture.respond(1, .doubtfulToken(Self.removal))
        fixture.performEffects()
        #expect(fixture.drainSent() == [])
        #expect(fixture.drainReport()?.outcomes.map(\.result) == [.undecided, .returned])
    }

    @Test(arguments: [SendResult.doubtfulToken(removal), .unknownAddress(reason: "BadTopic")])
    func manyRejectionsStopTheLaneAndKeepQueueAndDevices(_ result: SendResult) throws {
        var fixture = rejecting(20, result)
        #expect(fixture.lane.status.state == .stopped)
        let outcomes = try #require(fixture.drainReport()?.outcomes)
        // The first eleven were suspended. The others were rejected while the breaker was open.
        #expect(outcomes.allSatisfy { $0.result == .undecided || !$0.wasTried && $0.removal == nil })
        let returned = outcomes.filter { $0.result != .undecided }
        #expect(Set(returned.map(\.job.number)) == Set(1...20) && returned.count == 20)
        let alarms = fixture.drainEvents().filter { if case .alarm = $0 { true } else { false } }
        #expect(alarms.count == 1 && "\(alarms[0])".contains("apns: stopped until a probe succeeds: the provider rejects most"))
        fixture.supply([])
        fixture.pass(29_999)
        #expect(fixture.drainReport()?.capacity == 0)
    }

    @Test func probesUntilTheProviderAnswersOtherwise() throws {
        var fixture = rejecting(11)
        fixture.supply([])
        _ = (fixture.drainReport(), fixture.drainEvents(), fixture.drainSent())
        for (number, result) in [(12, .doubtfulToken(Self.removal)), (13, .accepted(messageID: nil))]
            as [(Int64, SendResult)]
        {
            fixture.pass(30_000)
            fixture.supply([LaneFixture.job(number)])
            #expect(fixture.drainSent() == [number])
            fixture.respond(number, result)
            fixture.performEffects()
            let isAccepted = result == .accepted(messageID: nil)
            #expect(fixture.lane.status.state == (isAccepted ? .running : .stopped))
            let outcomes = try #require(fixture.drainReport()?.outcomes)
            #expect(outcomes.allSatisfy { $0.removal == nil })
            fixture.supply([])
        }
        #expect(fixture.drainEvents().last == .resumed)
        // The breaker is closed: a rejection counts again.
        fixture.supply([LaneFixture.job(14)])
        fixture.respond(14, .doubtfulToken(Self.removal))
        fixture.performEffects()
        fixture.supply([])
        fixture.pass(500)
        #expect(fixture.drainReport()?.outcomes.map(\.removal) == [Self.removal])
    }

    @Test func stoppingLaneReturnsSuspendedJobs() {
        var fixture = rejecting(1)
        _ = fixture.drainReport()
        fixture.supply([])
        fixture.handle(.stop)
        fixture.performEffects()
        #expect(
            fixture.drainReport()?.outcomes == [
                PushOutcome(LaneFixture.job(1), .released(reason: "DeviceTokenNotForTopic"), wasTried: false)
            ])
        fixture.supply([])
        #expect(fixture.isFinished)
    }

    /// Otherwise the lane could hold any number of jobs while it waits for other answers.
    @Test func suspendedJobsCountAgainstTheWindow() {
        var fixture = rejecting(8)
        fixture.supply([])
        fixture.handle(.wake)
        fixture.performEffects()
        #expect(fixture.drainReport()?.capacity == 32 - 8)
    }
}

/// An APNs token whose environment is unknown, and the other results of the provider that concern the environment.
struct LaneEnvironmentTests {
    private static let removal = DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: 77)

    /// The outcomes that the lane reports when APNs responds `BadDeviceToken` to a push.
    private func outcomes(_ lane: PushLane, _ environment: DeviceToken.Environment?) -> [PushOutcome.Result]? {
        var fixture = LaneFixture(lane)
        fixture.performEffects()
        fixture.supply([LaneFixture.job(1, environment: environment)])
        fixture.respond(1, .wrongEnvironment(Self.removal))
        fixture.performEffects()
        return fixture.drainReport()?.outcomes.map(\.result)
    }

    @Test func unknownTokenIsTriedAtTheSandboxOnce() {
        let moved = PushOutcome.Result.moved(to: .apnsSandbox, reason: "BadDeviceToken")
        #expect(outcomes(.apns, nil) == [moved])
        #expect(outcomes(.apnsSandbox, nil) == [.undecided], "this was the second try")
        #expect(outcomes(.apns, .production) == [.undecided])
        #expect(outcomes(.apnsSandbox, .sandbox) == [.undecided])
    }

    /// Otherwise the tokens of a developers' fleet would stop the lane of production.
    @Test func movedPushesDoNotOpenTheBreaker() {
        var fixture = LaneFixture(window: 32)
        fixture.warmUp(31)
        fixture.supply((1...20).map { LaneFixture.job($0, environment: nil) })
        for number in 1...20 as ClosedRange<Int64> { fixture.respond(number, .wrongEnvironment(Self.removal)) }
        fixture.performEffects()
        #expect(fixture.lane.status.state == .running)
    }
}
