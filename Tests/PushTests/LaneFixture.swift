import FleetRules
import HTTPClient
import TestSupport

@testable import Push

/// A lane with a manual clock, which records the lane's effects.
struct LaneFixture {
    var lane: Lane
    var now: Int64 = 1_000_000
    var dice = SplitMix(seed: 7)
    /// The decision for each job; by default it is sent.
    var decide: (PushJob) -> PushDecision = { .send(LaneFixture.message(of: $0)) }
    /// Since the last ``takeEvents()``.
    var events: [LaneEvent] = []
    private(set) var sent: [Int64] = []
    private(set) var report: PushReport?
    private(set) var retired = 0
    private(set) var renewals: [Int] = []
    private(set) var isFinished = false

    init(_ lane: PushLane = .apns, window: Int = 8, hasCredential: Bool = true) {
        self.lane = Lane(lane, LaneRules(windowMax: window), hasCredential: hasCredential, at: now)
    }

    // MARK: Input

    mutating func act() {
        for effect in lane.nextEffects(at: now, using: &dice, deciding: decide) {
            switch effect {
            case .retireConnections: retired += 1
            case .send(let job, _): sent.append(job.number)
            case .renewCredential(let generation): renewals.append(generation)
            case .report(let report): self.report = report
            case .emit(let event): events.append(event)
            case .finished: isFinished = true
            }
        }
    }

    mutating func handle(_ input: Lane.Input) { lane.handle(input, at: now, using: &dice) }

    /// Advances the clock.
    mutating func pass(_ milliseconds: Int64) {
        now += milliseconds
        act()
    }

    /// The jobs sent since the last call.
    mutating func takeSent() -> [Int64] {
        defer { sent = [] }
        return sent
    }

    mutating func takeEvents() -> [LaneEvent] {
        defer { events = [] }
        return events
    }

    /// The report under way, removed from the fixture.
    mutating func takeReport() -> PushReport? {
        defer { report = nil }
        return report
    }

    /// The store replies with jobs.
    mutating func supply(_ jobs: [PushJob], hasMore: Bool = false, nextDueAt: Int64? = nil) {
        var supply = PushLease(lane: lane.lane)
        supply.jobs = jobs
        supply.hasMore = hasMore
        supply.nextDueAt = nextDueAt
        handle(.supplied(supply))
        act()
    }

    /// A request ends.
    mutating func end(_ number: Int64, _ result: Result<SendResult, HTTPClientError>, credential: Int = 0, seconds: Double = 0.05)
    {
        handle(.completed(Lane.Completion(number: number, result: result, seconds: seconds, credential: credential)))
    }

    mutating func answer(_ number: Int64, _ verdict: SendResult, credential: Int = 0) {
        end(number, .success(verdict), credential: credential)
    }

    /// Opens the window by `count` successes, all reported.
    mutating func warmUp(_ count: Int) {
        act()
        for number in 0..<Int64(count) {
            supply([Self.job(900_000 + number)])
            answer(900_000 + number, .accepted(messageID: nil))
            act()
        }
        supply([])
        _ = (takeSent(), takeReport(), takeEvents())
    }

    // MARK: Things

    static func job(_ number: Int64, device: String? = nil, attempts: Int = 0, seenAt: Int64 = 0, expiresAt: Int64 = .max)
        -> PushJob
    {
        let notification = Notification(
            id: "N\(number)", channel: "driver-42", event: "job-assigned", data: Array("{}".utf8), createdAt: 0,
            expiresAt: expiresAt, collapseKey: "N\(number)")
        let token = DeviceToken(provider: .apns, platform: .ios, environment: .production, text: "00112233aabbccdd")
        return PushJob(
            number: number, notification: notification, entity: nil, recipient: "driver:42",
            device: PushJob.Device(id: device ?? "device-\(number)", token: token, lastSeenAt: seenAt), attempts: attempts)
    }

    static func jobs(_ numbers: ClosedRange<Int64>) -> [PushJob] { numbers.map { job($0) } }

    static func message(of job: PushJob) -> PushMessage {
        PushMessage(
            notificationID: job.notification.id, title: "T", body: "B", sound: "", category: "", thread: "", channelID: "",
            isHighPriority: true, expiresAt: job.notification.expiresAt, collapseID: "c", collapseKey: nil, badge: 1, ids: [],
            details: [])
    }
}
