import TestSupport
import Testing

@testable import Fleet

/// After random notifications, receipts, marks, rollbacks and restarts, each subscription gets by replay what a simple
/// model says: nothing is lost, nothing comes twice, and the order is that of the channel.
@Suite struct OwnerReceiptsPropertyTests {
    private static let backlogLimit = 12

    @Test(arguments: 1...10) func replaysEqualModel(seed: UInt64) throws {
        var dice = SplitMix(seed: seed)
        let store = TemporaryStore()
        var model = Model(backlogLimit: Self.backlogLimit)
        var executor = try store.pushing()
        var now = noon
        var replayed = 0
        for _ in 0..<150 {
            now += dice.below(3) == 0 ? Int64(dice.below(4)) * hour : Int64(dice.below(3))
            let key = Self.key(&dice)
            switch dice.below(10) {
            case 0..<3:
                for _ in 0...dice.below(4) { try Self.announce(executor, &model, &dice, at: now) }
            case 3: try Self.acknowledge(executor, &model, key, &dice, at: now)
            case 4..<6:
                let receipt = Self.receipt(key, model.last(key.channel), &dice, at: now)
                let confirmations = try executor.commit(receipt, at: now)
                let expected = model.record(receipt)
                #expect(confirmations.map(\.notificationID) == expected)
            case 6:
                #expect(throws: DatabaseError.self) {
                    try executor.transaction { () throws(DatabaseError) in
                        _ = try executor.record(confirmed(key, upTo: 1_000), now: now)
                        _ = try executor.execute(StoreTests.announce(to: "0"), now: now)
                        _ = try executor.subscribe(subscription(key), now: now)
                        try executor.database.run("SELECT nothing")
                    }
                }
            case 7:
                executor = try TemporaryStore().executor()  // releases the file
                executor = try store.pushing()
            default:
                let reply = try executor.subscribe(key, at: now)
                #expect(reply.cursor == model.subscribe(key, at: now) && reply.last == model.last(key.channel))
                let expected = model.replay(key, after: reply.cursor, at: now)
                // What is committed between two pages follows.
                let replay = try Self.replay(store, key, after: reply.cursor, &dice, at: now) { dice in
                    if dice.below(3) == 0 { try Self.announce(executor, &model, &dice, at: now) }
                }
                let later = model.channels[key.channel, default: []].filter { $0.sequence > reply.last }
                #expect(replay.gap == expected.gap)
                #expect(replay.sequences == expected.sequences + later.map(\.sequence))
                replayed += replay.sequences.count
            }
        }
        #expect(replayed > 0)
        #expect(try executor.database.integrityCheck() == ["ok"])
    }

    // MARK: Random actions

    private static func key(_ dice: inout SplitMix) -> ReceiptKey {
        phone(
            ["a", "b", ""][dice.below(3)], of: "\(dice.below(2))", on: dice.below(3) == 0 ? "drivers-channel" : nil)
    }

    private static func announce(
        _ executor: CommandExecutor, _ model: inout Model, _ dice: inout SplitMix, at now: Int64
    ) throws {
        let command = dice.below(3) == 0 ? announceToAll : StoreTests.announce(to: "\(dice.below(2))")
        let result = try #require(try executor.commit(command, at: now).result)
        for (notification, sequence) in zip(result.notifications, result.sequences) {
            model.add(notification, sequence)
        }
    }

    private static func acknowledge(
        _ executor: CommandExecutor, _ model: inout Model, _ key: ReceiptKey, _ dice: inout SplitMix, at now: Int64
    ) throws {
        let owner = driver(String(key.owner.dropFirst("driver:".count)))
        if dice.below(4) == 0 {
            _ = try executor.commit(command(MarkRead(nil), by: owner), at: now)
            for sent in model.channels[owner.channel, default: []] { model.acknowledge(sent.id, by: key.owner) }
        } else if let sent = model.channels[key.channel, default: []].randomElement(using: &dice) {
            _ = try executor.commit(telemetry(sent.id, dice.below(2) == 0 ? .received : .viewed, by: owner), at: now)
            model.acknowledge(sent.id, by: key.owner)
        }
    }

    private static func receipt(_ key: ReceiptKey, _ last: Int64, _ dice: inout SplitMix, at now: Int64) -> Receipt {
        let after = Int64(dice.below(Int(last) + 1))
        let upTo = min(last, after + Int64(dice.below(6)))
        return Receipt(
            key: key, after: after, upTo: upTo, writtenAt: now, confirmedAt: dice.below(3) == 0 ? nil : now)
    }

    /// Reads all pages of a replay.
    /// - Parameter between: called after each page but the last.
    private static func replay(
        _ store: TemporaryStore, _ key: ReceiptKey, after: Int64, _ dice: inout SplitMix, at now: Int64,
        between: (inout SplitMix) throws -> Void
    ) throws -> (sequences: [Int64], gap: ReplayGap?) {
        var page = try store.page(key, after: after, limit: 1 + dice.below(5), backlogLimit: backlogLimit, at: now)
        let gap = page.gap
        var sequences = page.sequences
        while !page.isComplete {
            try between(&dice)
            page = try store.page(key, after: page.upTo, limit: 1 + dice.below(5), isFirst: false, at: now)
            #expect(page.gap == nil)
            sequences += page.sequences
        }
        return (sequences, gap)
    }
}

/// What should be delivered.
private struct Model {
    struct Sent {
        let sequence: Int64
        let id: String
        let createdAt: Int64
        let expiresAt: Int64
    }

    let backlogLimit: Int
    private(set) var channels: [String: [Sent]] = [:]
    private var cursors: [ReceiptKey: Int64] = [:]
    /// The ids that each owner has acknowledged, or confirmed.
    private var acknowledged: [String: Set<String>] = [:]
    private var confirmed: [String: Set<String>] = [:]

    init(backlogLimit: Int) { self.backlogLimit = backlogLimit }

    func last(_ channel: String) -> Int64 { channels[channel]?.last?.sequence ?? 0 }

    mutating func add(_ notification: Notification, _ sequence: Int64) {
        #expect(sequence == last(notification.channel) + 1)
        channels[notification.channel, default: []].append(
            Sent(
                sequence: sequence, id: notification.id, createdAt: notification.createdAt,
                expiresAt: notification.expiresAt))
    }

    mutating func acknowledge(_ id: String, by owner: String) { acknowledged[owner, default: []].insert(id) }

    /// - Returns: the ids that the owner confirms for the first time.
    mutating func record(_ receipt: Receipt) -> [String] {
        let key = receipt.key
        guard receipt.confirmedAt != nil, key.channel != "drivers-channel" || cursors[key] != nil else { return [] }
        cursors[key] = max(cursors[key] ?? 0, receipt.upTo)
        return channels[key.channel, default: []]
            .filter { $0.sequence > receipt.after && $0.sequence <= receipt.upTo }
            .map(\.id).filter { confirmed[key.owner, default: []].insert($0).inserted }
    }

    mutating func subscribe(_ key: ReceiptKey, at now: Int64) -> Int64 {
        if let cursor = cursors[key] { return cursor }
        let siblings = cursors.filter { $0.key.channel == key.channel && $0.key.owner == key.owner }
        let old = channels[key.channel, default: []].last { $0.createdAt < now - 48 * hour }
        let cursor =
            siblings.values.max()
            ?? (key.channel == "drivers-channel" ? last(key.channel) : old?.sequence ?? 0)
        cursors[key] = cursor
        return cursor
    }

    func replay(_ key: ReceiptKey, after: Int64, at now: Int64) -> (sequences: [Int64], gap: ReplayGap?) {
        let isForAll = key.channel == "drivers-channel"
        let pending = channels[key.channel, default: []].filter { sent in
            sent.sequence > after && acknowledged[key.owner]?.contains(sent.id) != true
                && (!isForAll || sent.expiresAt > now)
        }
        let young = pending.filter { isForAll || $0.createdAt >= now - 48 * hour }.suffix(backlogLimit)
        let missed = pending.filter { sent in !young.contains { $0.id == sent.id } }
        guard let first = missed.first, let last = missed.last else { return (young.map(\.sequence), nil) }
        // The gap ends with the last notification that is too old, acknowledged or not, or with one beyond the limit.
        let old = channels[key.channel, default: []].last { !isForAll && $0.createdAt < now - 48 * hour }
        let gap = ReplayGap(
            count: missed.count, from: first.createdAt, to: last.createdAt,
            upTo: max(old?.sequence ?? 0, last.sequence))
        return (young.map(\.sequence), gap)
    }
}
