import Access
import Primitives

/// What a transaction has changed that other nodes have in memory, or publish. It is stored in the cluster's log with the
/// transaction, and travels over the bus, where it is faster.
package struct CommitRecord {
    /// What the commands have changed. Their responses are not in the record.
    package private(set) var results: [CommandResult] = []
    /// The data of events `delivery-updated`.
    package private(set) var updates: [[UInt8]] = []
    /// The push lanes that have new jobs.
    package private(set) var lanes: Set<PushLane> = []

    /// The kinds of rows. Rows of unknown kinds are of newer nodes, and ignored.
    private enum Kind: UInt8 {
        case notification = 1
        case order = 2
        case card = 3
        case position = 4
        case account = 5
        case ended = 6
        case erased = 7
        case removed = 8
        /// Ends what one command has changed.
        case end = 9
        case update = 10
        case lane = 11
    }

    // MARK: Writing

    /// The bytes of a commit's record; nil if it has nothing for others.
    static func bytes(of commit: Commit) -> [UInt8]? {
        var rows = RowWriter()
        var lanes = commit.wake
        for case (_, .committed(let result)) in commit.replies {
            append(result, to: &rows)
            lanes.formUnion(result.lanes)
        }
        append(commit.removed, to: &rows)
        for update in commit.updates { rows.append(Kind.update.rawValue, [.blob(update.data)]) }
        for lane in lanes.sorted(by: { $0.rawValue < $1.rawValue }) { rows.append(Kind.lane.rawValue, [.string(lane.rawValue)]) }
        return rows.bytes.isEmpty ? nil : rows.bytes
    }

    private static func append(_ result: CommandResult, to rows: inout RowWriter) {
        let length = rows.bytes.count
        for (notification, sequence) in zip(result.notifications, result.sequences) {
            rows.append(
                Kind.notification.rawValue,
                [
                    .string(notification.id), .string(notification.channel), .string(notification.event),
                    .utf8(notification.data), .integer(notification.createdAt), .integer(notification.expiresAt),
                    .string(notification.collapseKey), .integer(sequence),
                ])
        }
        if let order = result.order { rows.append(Kind.order.rawValue, order.values) }
        if let card = result.card { rows.append(Kind.card.rawValue, card.values) }
        if let position = result.position { rows.append(Kind.position.rawValue, position.values) }
        if let change = result.account { rows.append(Kind.account.rawValue, change.values) }
        if let ended = result.codes.ended { rows.append(Kind.ended.rawValue, [.string(ended.key), .integer(ended.until)]) }
        if let person = result.erased { rows.append(Kind.erased.rawValue, [.string(person.key)]) }
        append(result.removed, to: &rows)
        if rows.bytes.count > length { rows.append(Kind.end.rawValue, []) }
    }

    private static func append(_ devices: [RemovedDevice], to rows: inout RowWriter) {
        for device in devices {
            rows.append(
                Kind.removed.rawValue,
                [
                    .string(device.id), .string(device.owner), .string(device.provider.rawValue), .string(device.maskedToken),
                    .string(device.reason),
                ])
        }
    }

    // MARK: Reading

    /// - Throws: an error of kind `damaged` if the bytes are no record.
    package init(_ bytes: [UInt8]) throws(DatabaseError) {
        var reader = RowReader(bytes)
        var parts = Parts()
        while let (kind, row) = try reader.next() {
            switch Kind(rawValue: kind) {
            case .update?: updates.append(row.bytes(0))
            case .lane?: if let lane = PushLane(rawValue: row.string(0)) { lanes.insert(lane) }
            case .end?:
                results.append(parts.result)
                parts = Parts()
            case let kind?: try parts.add(kind, row)
            case nil: break
            }
        }
        // Devices that retention has removed belong to no command.
        if !parts.removed.isEmpty { results.append(parts.result) }
    }

    /// What one command has changed, as far as it is read.
    private struct Parts {
        var notifications: [Notification] = []
        var sequences: [Int64] = []
        var order: Order?
        var card: DriverCard?
        var position: DriverPosition?
        var account: AccountChange?
        var ended: EndedTokens?
        var erased: Identity?
        var removed: [RemovedDevice] = []

        mutating func add(_ kind: Kind, _ row: Row) throws(DatabaseError) {
            switch kind {
            case .notification:
                notifications.append(
                    Notification(
                        id: row.string(0), channel: row.string(1), event: row.string(2), data: row.bytes(3),
                        createdAt: row.integer(4), expiresAt: row.integer(5), collapseKey: row.string(6)))
                sequences.append(row.integer(7))
            case .order: order = try Order(row: row)
            case .card: card = DriverCard(row: row)
            case .position: position = DriverPosition(row: row)
            case .account: account = try AccountChange(row: row)
            case .ended: ended = EndedTokens(key: row.string(0), until: row.integer(1))
            case .erased: erased = Identity(key: row.string(0))
            case .removed:
                guard let provider = PushProvider(rawValue: row.string(2)) else { return }
                removed.append(
                    RemovedDevice(
                        id: row.string(0), owner: row.string(1), provider: provider, maskedToken: row.string(3),
                        reason: row.string(4)))
            case .end, .update, .lane: break
            }
        }

        var result: CommandResult {
            var result = CommandResult(body: [], notifications: notifications, sequences: sequences, order: order)
            (result.card, result.position, result.account) = (card, position, account)
            result.codes.ended = ended
            (result.erased, result.removed) = (erased, removed)
            return result
        }
    }
}

extension AccountChange {
    fileprivate var values: [SQLValue] {
        [
            .string(uid), .string(driverID), .string(formerDriverID), .string(entry?.id.text), .string(entry?.personID),
            .string(entry?.status.rawValue), .string(entry?.reason),
        ]
    }

    fileprivate init(row: Row) throws(DatabaseError) {
        var entry: AccountEntry?
        if let id = row.optionalString(3) {
            guard let id = ObjectID(id), let status = AccountStatus(rawValue: row.string(5)) else { throw RowReader.damaged }
            entry = AccountEntry(id: id, personID: row.string(4), status: status, reason: row.optionalString(6))
        }
        self.init(uid: row.string(0), driverID: row.string(1), formerDriverID: row.optionalString(2), entry: entry)
    }
}
