import Fleet
import Testing

@testable import FleetGateway

@Suite struct OfferMetricsTests {
    private var times = OfferMetrics()
    private let job = Offer.Subject.job("B1")

    private func offer(_ id: String = "N", pushedAt: Int64? = nil) -> Offer {
        Offer(notificationID: id, driverID: "42", subject: job, createdAt: 1_000, pushedAt: pushedAt)
    }

    private mutating func answer(_ answer: OfferAnswer, at time: Int64, driver: String = "42") {
        times.apply(.answered(driverID: driver, job, answer, at: time))
    }

    private var outcomes: [String] {
        times.figures.outcomes.map { "\($0.key.within.rawValue) \($0.key.type) \($0.value)" }.sorted()
    }

    private mutating func view(_ id: String = "N", at time: Int64) {
        times.apply(.viewed(notificationID: id, at: time))
    }

    /// The app reports the view as its first step.
    private mutating func reportView(_ offer: Offer, at time: Int64) {
        times.apply(.reported(offer, at: time))
        view(offer.notificationID, at: time)
    }

    @Test mutating func acceptWithinFiveSecondsIsPrompt() {
        reportView(offer(pushedAt: 2_000), at: 3_000)
        answer(.accepted, at: 8_000)
        #expect(outcomes == ["5s new_job 1"])
        #expect(times.figures.viewToAccept.sum == 5 && times.figures.pushToAccept.sum == 6)
    }

    @Test mutating func laterAcceptIsLate() {
        reportView(offer(), at: 3_000)
        answer(.accepted, at: 8_001)
        #expect(outcomes == ["later new_job 1"])
        #expect(times.figures.pushToAccept.sum == 7.001, "without a push, the time begins with the creation")
    }

    @Test mutating func theFirstStepCountsAndTheFirstView() {
        times.apply(.reported(offer(), at: 2_000))
        view(at: 3_000)
        view(at: 4_000)
        view("other", at: 1)
        answer(.accepted, at: 7_500)
        #expect(outcomes == ["later new_job 1"] && times.figures.viewToAccept.sum == 4.5)
    }

    @Test mutating func acceptWithoutAViewHasATimeFromThePushOnly() {
        times.apply(.reported(offer(pushedAt: 1_100), at: 2_000))
        answer(.accepted, at: 2_100)
        #expect(outcomes == ["5s new_job 1"])
        #expect(times.figures.viewToAccept.count == 0 && times.figures.pushToAccept.sum == 1)
    }

    @Test mutating func stepThatIsReportedAfterTheAcceptIsPrompt() {
        answer(.accepted, at: 2_000)
        #expect(outcomes == [])
        reportView(offer(), at: 60_000)
        times.expire(now: 9_000_000)
        #expect(outcomes == ["5s new_job 1"] && times.figures.viewToAccept.count == 0)
    }

    @Test mutating func stepAfterARefusalCountsIt() {
        answer(.taken, at: 2_000)
        answer(.taken, at: 2_100)
        times.apply(.reported(offer(), at: 2_500))
        #expect(outcomes == ["taken new_job 1"])
    }

    @Test mutating func pushAfterTheViewCounts() {
        reportView(offer(), at: 3_000)
        times.apply(.pushed(notificationID: "N", at: 3_500))
        times.apply(.pushed(notificationID: "N", at: 3_900))
        times.apply(.pushed(notificationID: "other", at: 1))
        answer(.accepted, at: 4_500)
        #expect(times.figures.pushToAccept.sum == 1)
    }

    @Test(arguments: [(OfferAnswer.taken, "taken new_job 1"), (.refused, "never new_job 1")])
    mutating func refusalEndsTheOffer(_ answer: OfferAnswer, _ expected: String) {
        reportView(offer(), at: 2_000)
        self.answer(answer, at: 3_000)
        self.answer(answer, at: 4_000)
        #expect(outcomes == [expected], "a repeated accept counts once")
        #expect(times.figures.viewToAccept.count == 0 && times.figures.pushToAccept.count == 0)
    }

    @Test mutating func anotherDriversAnswerIsNone() {
        reportView(offer(), at: 2_000)
        answer(.accepted, at: 3_000, driver: "43")
        #expect(outcomes == [])
    }

    @Test mutating func refusalWithoutAStepCountsNothing() {
        answer(.taken, at: 2_000)
        answer(.refused, at: 2_000)
        #expect(outcomes == [])
    }

    @Test mutating func afterAnHourItIsNever() {
        reportView(offer(), at: 2_000)
        times.expire(now: 3_602_000)
        #expect(outcomes == [])
        times.expire(now: 3_602_001)
        #expect(outcomes == ["never new_job 1"])
        answer(.accepted, at: 3_602_002)
        #expect(outcomes == ["never new_job 1"])
    }

    @Test mutating func anAcceptIsForgottenAfterAnHour() {
        answer(.accepted, at: 2_000)
        times.expire(now: 3_602_001)
        reportView(offer(), at: 3_602_002)
        #expect(outcomes == [], "it is an offer of its own")
    }

    /// The gateway was started again after the accept, say.
    @Test mutating func acceptThatIsNotRememberedIsNotTakenForNone() {
        times.apply(
            .reported(
                Offer(
                    notificationID: "N", driverID: "42", subject: job, createdAt: 1_000, pushedAt: nil, isAccepted: true),
                at: 2_000))
        times.expire(now: 9_000_000)
        #expect(outcomes == [])
    }

    @Test mutating func offerAfterTheAcceptIsAnOfferOfItsOwn() {
        answer(.accepted, at: 2_000)
        let next = Offer(notificationID: "N2", driverID: "42", subject: job, createdAt: 2_001, pushedAt: nil)
        reportView(next, at: 3_000)
        #expect(outcomes == [])
        answer(.accepted, at: 4_000)
        #expect(outcomes == ["5s new_job 1"])
    }

    @Test mutating func oneAnswerEndsAllOffersOfTheJob() {
        reportView(offer("N1"), at: 2_000)
        reportView(offer("N2"), at: 9_000)
        answer(.accepted, at: 10_000)
        times.expire(now: 9_000_000)
        #expect(outcomes == ["5s new_job 1", "later new_job 1"])
        #expect(times.figures.viewToAccept.sum == 9)
    }

    @Test mutating func eachOfferOfAJobExpiresByItself() {
        reportView(offer("N1"), at: 2_000)
        reportView(offer("N2"), at: 9_000)
        times.expire(now: 3_602_001)
        #expect(outcomes == ["never new_job 1"])
        answer(.accepted, at: 3_603_000)
        #expect(outcomes == ["later new_job 1", "never new_job 1"])
    }

    @Test mutating func clockSetBackGivesNoNegativeTime() {
        reportView(offer(pushedAt: 9_000), at: 9_000)
        answer(.accepted, at: 5_000)
        #expect(times.figures.viewToAccept.sum == 0 && times.figures.pushToAccept.sum == 0 && outcomes == ["5s new_job 1"])
    }

    @Test mutating func routesHaveTheirType() {
        reportView(
            Offer(notificationID: "N", driverID: "42", subject: .route("R"), createdAt: 0, pushedAt: nil), at: 1)
        times.apply(.answered(driverID: "42", .route("R"), .accepted, at: 2))
        #expect(outcomes == ["5s new_route 1"])
    }

    @Test mutating func memoryIsBounded() {
        for number in 0..<60_000 {
            reportView(
                Offer(notificationID: "\(number)", driverID: "\(number)", subject: job, createdAt: 0, pushedAt: nil),
                at: Int64(number))
        }
        #expect(outcomes == ["never new_job 10000"])
    }
}
