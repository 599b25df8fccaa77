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
        for (_, reply) in commit.replies {
            switch reply {
            case .committed(let result): append(result.notifications, result.sequences, result.effects, to: &rows, &lanes)
            case .deferred(let result): append([], [], result.effects, to: &rows, &lanes)
            case .replayed, .rejected, .unavailable, .failed: break
            }
        }
        for device in commit.removed { rows.append(Kind.removed.rawValue, device.values) }
        for update in commit.updates { rows.append(Kind.update.rawValue, [.blob(update.data)]) }
        for lane in lanes.sorted(by: { $0.rawValue < $1.rawValue }) { rows.append(Kind.lane.rawValue, [.string(lane.rawValue)]) }
        return rows.bytes.isEmpty ? nil : rows.bytes
    }

    /// Appends what one command has changed. Its lanes are in the record of the whole commit.
    private static func append(
        _ notifications: [Notification], _ sequences: [Int64], _ effects: [CommitEffect], to rows: inout RowWriter,
        _ lanes: inout Set<PushLane>
    ) {
        let length = rows.bytes.count
        for (notification, sequence) in zip(notifications, sequences) {
            rows.append(
                Kind.notification.rawValue,
                [
                    .string(notification.id), .string(notification.channel), .string(notification.event),
                    .utf8(notification.data), .integer(notification.createdAt), .integer(notification.expiresAt),
                    .string(notification.collapseKey), .integer(sequence),
                ])
        }
        // In the order of their kinds, as they have always been.
        var changes: [(kind: Kind, values: [SQLValue])] = []
        for effect in effects {
            switch effect {
            case .orderChanged(let order): changes.append((.order, OrderTable.table.values(of: order)))
            case .cardShown(let card): changes.append((.card, DriverTable.table.values(of: card)))
            case .positionReported(let position): changes.append((.position, DriverPositionTable.table.values(of: position)))
            case .accountChanged(let change): changes.append((.account, change.values))
            case .tokensEnded(let ended): changes.append((.ended, EndedTokenTable.table.values(of: ended)))
            case .personErased(let person): changes.append((.erased, [.string(person.key)]))
            case .deviceRemoved(let device): changes.append((.removed, device.values))
            case .lanesWoken(let woken): lanes.formUnion(woken)
            case .codeToSend: break
            }
        }
        if changes.count > 1 { changes.sort { $0.kind.rawValue < $1.kind.rawValue } }
        for change in changes { rows.append(change.kind.rawValue, change.values) }
        if rows.bytes.count > length { rows.append(Kind.end.rawValue, []) }
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
        if !parts.effects.isEmpty { results.append(parts.result) }
    }

    /// What one command has changed, as far as it is read.
    private struct Parts {
        var notifications: [Notification] = []
        var sequences: [Int64] = []
        var effects: [CommitEffect] = []

        mutating func add(_ kind: Kind, _ row: Row) throws(DatabaseError) {
            switch kind {
            case .notification:
                notifications.append(
                    Notification(
                        id: row.string(0), channel: row.string(1), event: row.string(2), data: row.bytes(3),
                        createdAt: row.integer(4), expiresAt: row.integer(5), collapseKey: row.string(6)))
                sequences.append(row.integer(7))
            case .order: effects.append(.orderChanged(try Order(row: row)))
            case .card: effects.append(.cardShown(try DriverCard(row: row)))
            case .position: if let position = try? DriverPosition(row: row) { effects.append(.positionReported(position)) }
            case .account: effects.append(.accountChanged(try AccountChange(row: row)))
            case .ended: effects.append(.tokensEnded(try EndedTokens(row: row)))
            case .erased: if let person = Identity(key: row.string(0)) { effects.append(.personErased(person)) }
            case .removed: if let device = RemovedDevice(row: row) { effects.append(.deviceRemoved(device)) }
            case .end, .update, .lane: break
            }
        }

        var result: CommandResult {
            CommandResult(body: [], notifications: notifications, sequences: sequences, effects: effects)
        }
    }
}

extension RemovedDevice {
    fileprivate var values: [SQLValue] {
        [.string(id), .string(owner), .string(provider.rawValue), .string(maskedToken), .string(reason)]
    }

    /// Nil if the provider is one of a newer node.
    fileprivate init?(row: Row) {
        guard let provider = PushProvider(rawValue: row.string(2)) else { return nil }
        self.init(
            id: row.string(0), owner: row.string(1), provider: provider, maskedToken: row.string(3), reason: row.string(4))
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
