import Threads

@testable import Fleet

/// A running writer whose wall clock shows ``time`` plus ``clockError``. Records what the writer publishes.
final class WriterHarness: Sendable {
    typealias Reply = (request: CommandRequest, reply: CommandReply)

    let store: TemporaryStore
    let replies = WorkQueue<Reply>(capacity: 1_000_000)
    /// The number of replies in each commit, without commits that have none.
    let batches = Lock<[Int]>([])
    let leases = WorkQueue<PushLease>(capacity: 1_000_000)
    let rejectedReports = Lock<[PushReport]>([])
    let wakes = WorkQueue<Set<PushLane>>(capacity: 1_000_000)
    let removed = Lock<[RemovedDevice]>([])
    let events = Lock<[StoreEvent]>([])
    let finished = Lock<[[PushLane: FinishedPushes]]>([])
    /// Milliseconds since 1970.
    let time = Lock<Int64>(noon)
    /// Milliseconds by which the wall clock is wrong.
    let clockError = Lock<Int64>(0)
    private let writer: StoreWriter

    /// - Parameter onCommit: called on the writer's thread before a commit is recorded.
    init(
        _ store: TemporaryStore = TemporaryStore(), queueMax: Int = 100_000, batchMax: Int = 256,
        onOpen: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        onCommit: @escaping @Sendable (Commit) -> Void = { _ in },
        takePublished: @escaping @Sendable () -> Published = { Published() },
        changing change: (inout StoreWriter.Options) -> Void = { _ in }
    ) throws(StoreError) {
        self.store = store
        var options = StoreWriter.Options(store.address, keys: testKeys("k1"), encode: FleetResponses.body(of:correlationID:))
        options.durability = .normal
        options.queueMax = queueMax
        options.batchMax = batchMax
        options.readClock = { [time, clockError] in
            let now = time.withLock { $0 }
            return reading(now + clockError.withLock { $0 }, uptime: now - noon + day)
        }
        change(&options)
        writer = try StoreWriter(
            options, onOpen: onOpen,
            onCommit: { [replies, batches, leases, rejectedReports, wakes, removed, finished] commit in
                onCommit(commit)
                for lease in commit.leases { _ = leases.post(lease) }
                rejectedReports.withLock { $0 += commit.rejectedReports }
                if !commit.replies.isEmpty { batches.withLock { $0.append(commit.replies.count) } }
                for reply in commit.replies { _ = replies.post(reply) }
                if !commit.wake.isEmpty { _ = wakes.post(commit.wake) }
                if !commit.finished.isEmpty { finished.withLock { $0.append(commit.finished) } }
                removed.withLock { $0 += commit.removed }
            },
            takePublished: takePublished,
            onEvent: { [events] event in events.withLock { $0.append(event) } })
    }

    var statistics: StoreStatistics { writer.statistics }
    var fileSizes: (file: Int, log: Int) { writer.fileSizes ?? (0, 0) }

    @discardableResult func post(_ command: Command, request: Int = 0) -> Bool {
        postResult(command, request: request) == .queued
    }

    /// - Parameter age: how long ago it was posted, in milliseconds.
    func postResult(_ command: Command, request: Int = 0, age: Int64 = 0) -> PostResult {
        writer.post(
            CommandRequest(
                command, replyTo: ReplyAddress(loop: 1, request: request), postedAt: Clock.monotonicMilliseconds() - age))
    }

    @discardableResult func post(_ report: PushReport) -> Bool { writer.post(report) }

    func post(_ receipts: [Receipt]) -> PostResult { writer.post(receipts) }

    func post(_ request: CursorRequest) -> PostResult { writer.post(request) }

    func use(_ rules: NotificationRules) { writer.use(rules) }

    func report(damage error: DatabaseError) { writer.report(damage: error) }

    func stop() { writer.stop() }

    /// The next replies; fewer if they do not arrive in ten seconds.
    func replies(_ count: Int) -> [Reply] { Self.take(count, from: replies) }

    /// The next leases; fewer if they do not arrive in ten seconds.
    func leases(_ count: Int) -> [PushLease] { Self.take(count, from: leases) }

    /// The next sets of lanes to wake (``Commit/wake``); fewer if they do not arrive in ten seconds.
    func wakes(_ count: Int) -> [Set<PushLane>] { Self.take(count, from: wakes) }

    private static func take<Item>(_ count: Int, from queue: WorkQueue<Item>) -> [Item] {
        var all: [Item] = []
        var some: [Item] = []
        while all.count < count, queue.take(into: &some, most: count - all.count, waiting: 10_000) == .items { all += some }
        return all
    }

    /// Posts a command and waits for its reply. Returns nil if the reply does not arrive in ten seconds.
    func execute(_ command: Command) -> CommandReply? {
        post(command)
        return replies(1).first?.reply
    }
}

func reading(_ wall: Int64, uptime: Int64, bootID: String = "first") -> ClockReading {
    ClockReading(wall: wall, uptime: uptime, bootID: bootID)
}

/// Blocks the writer's thread after the commit of request 7, so that the test can queue requests that share the next
/// commit.
func pause(at barrier: StartBarrier) -> @Sendable (Commit) -> Void {
    { commit in if commit.replies.first?.request.replyTo?.request == 7 { barrier.arriveAndWait() } }
}

extension CommandReply {
    var result: CommandResult? {
        if case .committed(let result) = self { result } else { nil }
    }

    var error: RuleError? {
        if case .rejected(let error) = self { error } else { nil }
    }

    /// The HTTP status; nil if the store could not execute the command (503 or 500).
    var status: Int? {
        switch self {
        case .committed: 200
        case .replayed(let status, _): status
        case .rejected(let error): error.status
        case .unavailable, .failed: nil
        }
    }

    var isReplay: Bool {
        if case .replayed = self { true } else { false }
    }

    var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }

    /// The response's JSON; empty if there is none.
    var body: [UInt8] {
        switch self {
        case .committed(let result): result.body
        case .replayed(_, let body): body
        case .rejected, .unavailable, .failed: []
        }
    }

    /// The response's JSON, or the error's text.
    var text: String { error?.text ?? String(decoding: body, as: UTF8.self) }
    var notifications: [Notification] { result?.notifications ?? [] }
    var order: Order? { result?.order }
    var lanes: Set<PushLane> { result?.lanes ?? [] }
    var removed: [RemovedDevice] { result?.removed ?? [] }
}
