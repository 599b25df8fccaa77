import Fleet

/// The contract of guaranteed delivery, as naively as possible: what was sent, acknowledged and stored, and what each
/// device has received.
struct ReplayModel {
    struct Sent {
        let sequence: Int64
        let id: String
        let createdAt: Int64
        let expiresAt: Int64
    }

    /// The age from which notifications of people's channels are left out, in milliseconds.
    static let backlog: Int64 = 48 * 3_600_000

    let backlogLimit: Int
    /// By channel, in the order of the sequence.
    private(set) var channels: [String: [Sent]] = [:]
    /// The ids that each owner has acknowledged.
    private var acknowledged: [String: Set<String>] = [:]
    /// What the store has: the last confirmed sequence number.
    private(set) var cursors: [ReceiptKey: Int64] = [:]
    /// Where each device has started: it is not owed what is before.
    private var floors: [ReceiptKey: Int64] = [:]
    /// What each device has read completely.
    private var received: [ReceiptKey: Set<Int64>] = [:]
    /// What the gaps count that each device has read completely.
    private var announced: [ReceiptKey: Set<Int64>] = [:]

    init(backlogLimit: Int) { self.backlogLimit = backlogLimit }

    func last(of channel: String) -> Int64 { channels[channel]?.last?.sequence ?? 0 }

    // MARK: What happens

    /// - Returns: false if the sequence is not dense.
    mutating func add(_ notification: Notification, _ sequence: Int64) -> Bool {
        let isNext = sequence == last(of: notification.channel) + 1
        channels[notification.channel, default: []].append(
            Sent(
                sequence: sequence, id: notification.id, createdAt: notification.createdAt,
                expiresAt: notification.expiresAt))
        return isNext
    }

    mutating func acknowledge(_ id: String, by owner: String) { acknowledged[owner, default: []].insert(id) }

    mutating func receive(_ sequence: Int64, _ key: ReceiptKey) { received[key, default: []].insert(sequence) }

    mutating func receiveGap(_ sequences: [Int64], _ key: ReceiptKey) { announced[key, default: []].formUnion(sequences) }

    /// Stores where a device is.
    mutating func advance(_ key: ReceiptKey, to sequence: Int64) { cursors[key] = max(cursors[key] ?? 0, sequence) }

    /// A device subscribes.
    /// - Returns: its cursor.
    mutating func subscribe(_ key: ReceiptKey, at now: Int64) -> Int64 {
        if let cursor = cursors[key] { return cursor }
        let siblings = cursors.filter { $0.key.channel == key.channel && $0.key.owner == key.owner }
        let old = channels[key.channel, default: []].last { $0.createdAt < now - Self.backlog }
        let cursor = siblings.values.max() ?? (key.isForEveryDriver ? last(of: key.channel) : old?.sequence ?? 0)
        cursors[key] = cursor
        floors[key] = cursor
        return cursor
    }

    // MARK: What is owed

    /// Whether a device has received a notification.
    func hasReceived(_ sequence: Int64, _ key: ReceiptKey) -> Bool { received[key]?.contains(sequence) == true }

    /// The notifications of a channel that a device neither has, nor has to get: those behind `after`, up to and
    /// including `upTo`.
    func missing(_ key: ReceiptKey, after: Int64, upTo: Int64, at now: Int64) -> [Int64] {
        let start = max(after, floors[key] ?? 0)
        return pending(key, after: start, at: now).map(\.sequence).filter { sequence in
            sequence <= upTo && !hasReceived(sequence, key) && announced[key]?.contains(sequence) != true
        }
    }

    /// What the owner has not acknowledged, and has not expired.
    func pending(_ key: ReceiptKey, after: Int64, at now: Int64) -> [Sent] {
        channels[key.channel, default: []].dropFirst(Int(after)).filter { sent in
            acknowledged[key.owner]?.contains(sent.id) != true && (!key.isForEveryDriver || sent.expiresAt > now)
        }
    }

    /// The page of a replay, as the contract has it: the sequence numbers in it, and those that a gap in it counts.
    func page(_ request: ReplayRequest, at now: Int64) -> (sequences: [Int64], gap: [Sent]) {
        let key = request.key
        let pending = pending(key, after: request.after, at: now)
        guard request.isFirst else { return (pending.prefix(request.limit).map(\.sequence), []) }
        let young = pending.filter { key.isForEveryDriver || $0.createdAt >= now - Self.backlog }.suffix(backlogLimit)
        // A clock that is set back could make an older notification younger than a newer one; here it is never set back.
        let left = pending.prefix(pending.count - young.count)
        return (young.prefix(request.limit).map(\.sequence), Array(left))
    }
}
