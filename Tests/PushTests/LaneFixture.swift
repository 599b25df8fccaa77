import Fleet
import HTTPClient
import TestSupport

@testable import Push

/// A lane with a manual clock. Records the lane's effects.
struct LaneFixture {
    var lane: Lane
    var now: Int64 = 1_000_000
    var rng = SplitMix(seed: 7)
    /// The decision for each job; by default every job is sent.
    var decide: (PushJob) -> PushDecision = { .send(LaneFixture.message(of: $0)) }
    /// The events emitted since the last ``drainEvents()``.
    var events: [LaneEvent] = []
    /// The numbers of the jobs sent since the last ``drainSent()``.
    private(set) var sent: [Int64] = []
    /// The last report since the last ``drainReport()``; nil if there is none.
    private(set) var report: PushReport?
    /// How often the connections were retired.
    private(set) var retired = 0
    /// The generation of the credential in each request to renew it.
    private(set) var renewals: [Int] = []
    private(set) var isFinished = false

    init(_ lane: PushLane = .apns, window: Int = 8, hasCredential: Bool = true) {
        self.lane = Lane(lane, LaneRules(windowMax: window), hasCredential: hasCredential, at: now)
    }

    // MARK: Input

    /// Takes the lane's pending effects and records them; nothing is sent.
    mutating func performEffects() {
        for effect in lane.nextEffects(at: now, using: &rng, deciding: decide) {
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

    mutating func handle(_ input: Lane.Input) { lane.handle(input, at: now, using: &rng) }

    /// Advances the clock.
    mutating func pass(_ milliseconds: Int64) {
        now += milliseconds
        performEffects()
    }

    /// The numbers of the jobs sent since the last call.
    mutating func drainSent() -> [Int64] {
        defer { sent = [] }
        return sent
    }

    mutating func drainEvents() -> [LaneEvent] {
        defer { events = [] }
        return events
    }

    /// The report sent since the last call; nil if there is none.
    mutating func drainReport() -> PushReport? {
        defer { report = nil }
        return report
    }

    /// The store replies with jobs.
    mutating func supply(_ jobs: [PushJob], hasMore: Bool = false, nextDueAt: Int64? = nil) {
        var lease = PushLease(lane: lane.lane)
        lease.jobs = jobs
        lease.hasMore = hasMore
        lease.nextDueAt = nextDueAt
        handle(.supplied(lease))
        performEffects()
    }

    /// The request of a job ends.
    mutating func complete(
        _ number: Int64, _ result: Result<SendResult, HTTPClientError>, credential: Int = 0, seconds: Double = 0.05
    ) {
        handle(.completed(Lane.Completion(number: number, result: result, seconds: seconds, credential: credential)))
    }

    /// The provider responds to the request of a job.
    mutating func respond(_ number: Int64, _ result: SendResult, credential: Int = 0) {
        complete(number, .success(result), credential: credential)
    }

    /// Lets `count` jobs succeed, which widens the window, and reports them to the store.
    mutating func warmUp(_ count: Int) {
        performEffects()
        for number in 0..<Int64(count) {
            supply([Self.job(900_000 + number)])
            respond(900_000 + number, .accepted(messageID: nil))
            performEffects()
        }
        supply([])
        _ = (drainSent(), drainReport(), drainEvents())
    }

    // MARK: Values

    static func job(
        _ number: Int64, device: String? = nil, attempts: Int = 0, seenAt: Int64 = 0, expiresAt: Int64 = .max,
        environment: DeviceToken.Environment? = .production, recipient: String? = nil
    ) -> PushJob {
        let notification = Notification(
            id: "N\(number)", channel: "driver-42", event: "job-assigned", data: Array("{}".utf8), createdAt: 0,
            expiresAt: expiresAt, collapseKey: "N\(number)")
        let token = DeviceToken(provider: .apns, platform: .ios, environment: environment, text: "00112233aabbccdd")
        return PushJob(
            number: number, notification: notification, entity: nil, recipient: recipient ?? "driver:\(number)",
            device: PushJob.Device(id: device ?? "device-\(number)", token: token, lastSeenAt: seenAt), attempts: attempts)
    }

    static func jobs(_ numbers: ClosedRange<Int64>) -> [PushJob] { numbers.map { job($0) } }

    static func message(of job: PushJob) -> PushMessage {
        PushMessage(
            notificationID: job.notification.id, title: "T", body: "B", sound: "", category: "", thread: "", channelID: "",
            isHighPriority: true, expiresAt: job.notification.expiresAt, collapseID: "c", collapseKey: nil, badge: 1,
            leadingFields: [], eventFields: [])
    }
}
