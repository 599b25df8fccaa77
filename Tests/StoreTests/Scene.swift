import FleetRules
import Threads

@testable import Store

/// A running writer, with a clock that stands still and a list of what it said.
final class Scene: Sendable {
    let room: Storeroom
    let settled = WorkQueue<Settled>(capacity: 1_000_000)
    let batches = Lock<[Int]>([])
    let events = Lock<[StoreEvent]>([])
    let time = Lock<Int64>(noon)
    /// Runs on the writer's thread before each answer is noted.
    private let writer: StoreWriter

    init(
        _ room: Storeroom = Storeroom(), queueMax: Int = 100_000, batchMax: Int = 256,
        opened: @escaping @Sendable (Ledger) throws(SQLiteError) -> Void = { _ throws(SQLiteError) in },
        settling: @escaping @Sendable ([Settled]) -> Void = { _ in }
    ) throws(StoreError) {
        self.room = room
        var settings = StoreWriter.Settings(path: room.path)
        settings.durability = .normal
        settings.queueMax = queueMax
        settings.batchMax = batchMax
        writer = try StoreWriter(
            settings,
            StoreWriter.Surroundings(
                now: { [time] in time.withLock { $0 } },
                opened: opened,
                settled: { [settled, batches] batch in
                    settling(batch)
                    batches.withLock { $0.append(batch.count) }
                    for one in batch { _ = settled.post(one) }
                },
                report: { [events] event in events.withLock { $0.append(event) } }))
    }

    var statistics: StoreStatistics { writer.statistics }

    @discardableResult func post(_ command: Command, exchange: Int = 0) -> Bool {
        writer.post(Errand(command, sender: ReplyAddress(loop: 1, exchange: exchange)))
    }

    func stop() { writer.stop() }

    /// The next answers; fewer when they do not come in ten seconds.
    func answers(_ count: Int) -> [Settled] {
        var answers: [Settled] = []
        var batch: [Settled] = []
        while answers.count < count, settled.take(into: &batch, most: count - answers.count, waiting: 10_000) == .items {
            answers += batch
        }
        return answers
    }

    /// Posts a command and waits for its outcome.
    func settle(_ command: Command) -> Settled.Outcome? {
        post(command)
        return answers(1).first?.outcome
    }
}

extension Settled.Outcome {
    var settlement: Settlement? {
        if case .settled(let settlement) = self { settlement } else { nil }
    }

    var isUnavailable: Bool {
        if case .unavailable = self { true } else { false }
    }
}
