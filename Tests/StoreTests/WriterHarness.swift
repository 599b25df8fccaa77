import FleetRules
import Threads

@testable import Store

/// A running writer, with a clock that stands still and a list of what it said.
final class WriterHarness: Sendable {
    let room: TemporaryStore
    let settled = WorkQueue<CommandReply>(capacity: 1_000_000)
    let batches = Lock<[Int]>([])
    let supplies = WorkQueue<PushLease>(capacity: 1_000_000)
    let refused = Lock<[PushReport]>([])
    let woken = WorkQueue<Set<PushLane>>(capacity: 1_000_000)
    let removed = Lock<[RemovedDevice]>([])
    let events = Lock<[StoreEvent]>([])
    let ended = Lock<[[PushLane: FinishedPushes]]>([])
    /// What was told in which order: `settled` and `supplied`.
    let order = Lock<[String]>([])
    let time = Lock<Int64>(noon)
    /// Runs on the writer's thread before each answer is noted.
    private let writer: StoreWriter

    init(
        _ room: TemporaryStore = TemporaryStore(), queueMax: Int = 100_000, batchMax: Int = 256,
        opened: @escaping @Sendable (CommandExecutor) throws(DatabaseError) -> Void = { _ throws(DatabaseError) in },
        settling: @escaping @Sendable ([CommandReply]) -> Void = { _ in },
        changing change: (inout StoreWriter.Options) -> Void = { _ in }
    ) throws(StoreError) {
        self.room = room
        var settings = StoreWriter.Options(path: room.path, keys: testKeys("k1"))
        settings.durability = .normal
        settings.queueMax = queueMax
        settings.batchMax = batchMax
        change(&settings)
        writer = try StoreWriter(
            settings,
            StoreWriter.Environment(
                now: { [time] in time.withLock { $0 } },
                opened: opened,
                settled: { [settled, batches, order] batch in
                    settling(batch)
                    order.withLock { $0.append("settled") }
                    batches.withLock { $0.append(batch.count) }
                    for one in batch { _ = settled.post(one) }
                },
                supplied: { [supplies, order] supply in
                    order.withLock { $0.append("supplied") }
                    _ = supplies.post(supply)
                },
                reportRefused: { [refused] report in refused.withLock { $0.append(report) } },
                queued: { [woken] lanes in _ = woken.post(lanes) },
                removed: { [removed] devices in removed.withLock { $0 += devices } },
                ended: { [ended] endings in ended.withLock { $0.append(endings) } },
                report: { [events] event in events.withLock { $0.append(event) } }))
    }

    var statistics: StoreStatistics { writer.statistics }

    @discardableResult func post(_ command: Command, exchange: Int = 0) -> Bool {
        writer.post(CommandRequest(command, sender: ReplyAddress(loop: 1, exchange: exchange)))
    }

    @discardableResult func post(_ report: PushReport) -> Bool { writer.post(report) }

    func use(_ rules: NotificationRules) { writer.use(rules) }

    func stop() { writer.stop() }

    /// The next answers; fewer when they do not come in ten seconds.
    func answers(_ count: Int) -> [CommandReply] { Self.take(count, from: settled) }

    /// The next supplies; fewer when they do not come in ten seconds.
    func supplies(_ count: Int) -> [PushLease] { Self.take(count, from: supplies) }

    /// The next lanes that were woken on their own account.
    func woken(_ count: Int) -> [Set<PushLane>] { Self.take(count, from: woken) }

    private static func take<Item>(_ count: Int, from queue: WorkQueue<Item>) -> [Item] {
        var all: [Item] = []
        var some: [Item] = []
        while all.count < count, queue.take(into: &some, most: count - all.count, waiting: 10_000) == .items { all += some }
        return all
    }

    /// Posts a command and waits for its outcome.
    func settle(_ command: Command) -> CommandReply.Outcome? {
        post(command)
        return answers(1).first?.outcome
    }
}

extension CommandReply.Outcome {
    var settlement: CommandResult? {
        if case .settled(let settlement) = self { settlement } else { nil }
    }

    var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }
}
