/// The queue of each push lane (``PushLane``): the next jobs, due retries, expired jobs. Each query uses an index.
extension PushJobTable {
    // MARK: Next jobs

    /// A queued job with everything that sending needs, except the badge. `notification` is nil if the notification has
    /// been deleted since the job was created.
    struct Candidate {
        let number: Int64
        let notificationID: String
        let deviceID: String
        let recipient: String
        let entity: PushIntent.Entity?
        let attempts: Int
        let turn: Int64
        let expiresAt: Int64
        let notification: Notification?
        let device: DeviceLookup
        /// The recipient's stored preferences in JSON; nil if there are none.
        let preferences: [UInt8]?
        let isSuperseded: Bool
        /// Why a `fallback` push is needless: `confirmed` or `acknowledged`. A job that was being sent at that moment, and
        /// whose result is lost, is queued again. Nil if the push is needed.
        let arrival: String?
        /// Whether the job is of a reminder, not of the notification's first push.
        var isReminder: Bool { round > 0 }
        fileprivate let round: Int64

        enum DeviceLookup {
            case found(Device)
            /// The device was removed or has another owner.
            case gone
            /// The device's row contains values that Fleetwire does not write.
            case unreadable
        }

        struct Device {
            let provider: PushProvider
            let platform: DeviceToken.Platform?
            let environment: DeviceToken.Environment?
            let sealed: [UInt8]
            let keyID: String
            let lastSeenAt: Int64
        }
    }

    /// At most `most` queued jobs of a lane, in the order in which the lane sends them: by turn (``FairQueueing``). A
    /// job is left out while another push of the same order or route is on its way to the same device: neither HTTP/2
    /// streams nor several connections keep an order, so the device could show the older of the two in the end. Jobs
    /// of quarantined devices are left out, too.
    func next(_ lane: PushLane, most: Int) throws(DatabaseError) -> [Candidate] {
        try database.all(Self.next, .string(lane.rawValue), .integer(most), as: Candidate.init(row:))
    }

    private static let next = SQL(
        """
        SELECT \(Candidate.columnList) FROM push_jobs AS job \
        LEFT JOIN devices ON devices.id = job.device_id LEFT JOIN notifications ON notifications.id = job.notification_id \
        LEFT JOIN preferences ON preferences.owner = job.recipient \
        WHERE job.lane = ? AND job.state = 'queued' AND devices.quarantined_at IS NULL \
        AND NOT EXISTS (SELECT 1 FROM push_jobs AS sibling WHERE sibling.device_id = job.device_id \
        AND sibling.collapse_key = job.collapse_key AND sibling.state = 'sending') ORDER BY job.turn, job.number LIMIT ?
        """)

    /// An SQL condition: a newer job may supersede this job although the job is still queued. Usually a job is
    /// cancelled as soon as a newer one is queued (``PushJobTable/supersede(of:_:before:now:most:onCancel:)``). The exceptions are jobs
    /// that were on their way to the provider then, and jobs created later than their notification (broadcasts). The
    /// query searches for newer jobs only in these cases.
    fileprivate static let mayBeOvertaken = """
        job.attempts > 0 OR job.reason IS NOT NULL OR job.queued_at > notifications.created_at
        """

    /// Leases a job to its lane, and counts an attempt. The attempt is subtracted again if the lane reports a result
    /// that does not count as an attempt (``PushOutcome/wasTried``).
    func lease(_ number: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE push_jobs SET state = 'sending', attempts = attempts + 1 WHERE number = ?", .integer(number))
    }

    /// Ends a queued job without sending it.
    func drop(_ number: Int64, _ state: PushState, reason: String?, now: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE push_jobs SET state = ?, reason = ?, settled_at = ? WHERE number = ?",
            .string(state.rawValue), .string(reason), .integer(now), .integer(number))
    }

    /// Makes a queued job wait.
    func postpone(_ number: Int64, until moment: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE push_jobs SET state = 'waiting', turn = 0, due_at = ? WHERE number = ?", .integer(moment), .integer(number))
    }

    // MARK: Expiry and retries

    /// Ends at most `most` unsent jobs of a lane whose notifications have expired.
    /// - Returns: the number of jobs that ended.
    func expire(_ lane: PushLane, now: Int64, most: Int) throws(DatabaseError) -> Int {
        // Jobs that are being sent do not expire here. The index that finds expired jobs contains them, too: they are
        // too few to justify another index.
        try database.changeCountingRows(
            """
            UPDATE push_jobs SET state = 'expired', settled_at = ? WHERE number IN (SELECT number FROM push_jobs \
            WHERE lane = ? AND settled_at IS NULL AND expires_at <= ? AND state IN ('queued', 'waiting') \
            ORDER BY expires_at LIMIT ?)
            """, .integer(now), .string(lane.rawValue), .integer(now), .integer(most))
    }

    /// At most `most` jobs of a lane whose retry is due, the earliest due time first.
    func due(_ lane: PushLane, now: Int64, most: Int) throws(DatabaseError) -> [(number: Int64, recipient: String)] {
        try database.all(
            """
            SELECT number, recipient FROM push_jobs WHERE lane = ? AND state = 'waiting' AND due_at <= ? \
            ORDER BY due_at, number LIMIT ?
            """, .string(lane.rawValue), .integer(now), .integer(most), as: { row in (row.integer(0), row.string(1)) })
    }

    /// Sets the due times of a lane's retries that are after `moment` to `moment`. Used when the clock was set back.
    /// - Returns: their number, at most `most`.
    func limitDueTimes(_ lane: PushLane, to moment: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE push_jobs SET due_at = ? WHERE number IN (SELECT number FROM push_jobs WHERE lane = ? \
            AND state = 'waiting' AND due_at > ? LIMIT ?)
            """, .integer(moment), .string(lane.rawValue), .integer(moment), .integer(most))
    }

    /// Queues a job whose retry is due.
    func queueRetry(_ number: Int64, turn: Int64) throws(DatabaseError) {
        try database.change(
            "UPDATE push_jobs SET state = 'queued', turn = ?, due_at = NULL WHERE number = ?",
            .integer(turn), .integer(number))
    }

    /// When the lane's next retry is due; nil if no job waits for a retry.
    func nextDueAt(_ lane: PushLane) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT due_at FROM push_jobs WHERE lane = ? AND state = 'waiting' ORDER BY due_at, number LIMIT 1",
            .string(lane.rawValue), as: { $0.integer(0) })
    }

    /// The turn of the next job of a lane; nil if no job is queued.
    func firstTurn(_ lane: PushLane) throws(DatabaseError) -> Int64? {
        try database.first(
            "SELECT turn FROM push_jobs WHERE lane = ? AND state = 'queued' ORDER BY turn, number LIMIT 1",
            .string(lane.rawValue), as: { $0.integer(0) })
    }

    // MARK: Depth

    /// A lane's queued and waiting jobs. The time that this takes is proportional to the number of jobs: it reads an
    /// index entry for each job, a million in about 50 ms. So only ``StoreReader`` calls it.
    func unsent(_ lane: PushLane) throws(DatabaseError) -> PushQueue {
        var depth = 0
        var oldest: Int64?
        let add: (Row) throws(DatabaseError) -> Void = { row in
            depth += Int(row.integer(0))
            if let number = row.optionalInteger(1) { oldest = min(number, oldest ?? number) }
        }
        // Not one statement for both states: SQLite would use an index for neither.
        try database.each(
            "SELECT COUNT(*), MIN(number) FROM push_jobs WHERE lane = ? AND state = 'queued'",
            .string(lane.rawValue), body: add)
        try database.each(
            "SELECT COUNT(*), MIN(number) FROM push_jobs WHERE lane = ? AND state = 'waiting'",
            .string(lane.rawValue), body: add)
        guard let oldest else { return PushQueue(depth: depth, oldestAt: nil) }
        let oldestAt = try database.first(
            "SELECT queued_at FROM push_jobs WHERE number = ?", .integer(oldest), as: { $0.integer(0) })
        return PushQueue(depth: depth, oldestAt: oldestAt)
    }
}

extension PushJobTable.Candidate: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        let expiresAt = try column("job.expires_at", \.expiresAt)
        return try Self(
            number: column("job.number", \.number), notificationID: column("job.notification_id", \.notificationID),
            deviceID: column("job.device_id", \.deviceID), recipient: column("job.recipient", \.recipient),
            entity: column("job.entity", \.entity), attempts: column("job.attempts", \.attempts),
            turn: column("job.turn", \.turn), expiresAt: expiresAt, notification: notification(&column, expiresAt),
            device: column.part(\.device), preferences: column("preferences.json", \.preferences, as: .utf8),
            isSuperseded: column(
                "CASE WHEN (\(PushJobTable.mayBeOvertaken)) AND \(PushJobTable.isSuperseded("job")) THEN 1 ELSE 0 END",
                \.isSuperseded),
            arrival: column(
                """
                CASE WHEN job.fallback = 0 THEN NULL WHEN notifications.confirmed_at IS NOT NULL THEN 'confirmed' \
                WHEN \(NotificationTable.isAcknowledged) THEN 'acknowledged' END
                """, \.arrival),
            round: column("job.round", \.round))
    }

    private static func notification(
        _ column: inout some ColumnVisitor<Self>, _ expiresAt: Int64
    ) throws(DatabaseError) -> Notification? {
        let id: String? = try column(reading: "notifications.id")
        let channel: String = try column(reading: "notifications.channel")
        let event: String = try column(reading: "notifications.event")
        let data: [UInt8] = try column(reading: "notifications.data")
        let correlationID: [UInt8] = try column(reading: "notifications.correlation_id")
        let createdAt: Int64 = try column(reading: "notifications.created_at")
        let collapseKey: String? = try column(reading: "notifications.collapse_key")
        return id.map { id in
            Notification(
                id: id, channel: channel, event: event,
                data: PackedData.unpack(data, id: id, correlationID: PackedText.unpack(correlationID)), createdAt: createdAt,
                expiresAt: expiresAt, collapseKey: collapseKey.map(PackedWord.unpack) ?? id)
        }
    }
}

extension PushJobTable.Candidate.DeviceLookup: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        let isRecipients: Bool = try column(reading: "CASE WHEN devices.owner = job.recipient THEN 1 ELSE 0 END")
        let provider: PushProvider? = try column(reading: "devices.provider")
        let platform: DeviceToken.Platform? = try column(reading: "devices.platform")
        let environment: String? = try column(reading: "devices.environment")
        let sealed: [UInt8] = try column(reading: "devices.sealed")
        let keyID: String = try column(reading: "devices.key_id")
        let lastSeenAt: Int64 = try column(reading: "devices.last_seen_at")
        guard isRecipients else { return .gone }
        let known = environment.flatMap(DeviceToken.Environment.init)
        guard let provider, (known == nil) == (environment == nil) else { return .unreadable }
        return .found(
            PushJobTable.Candidate.Device(
                provider: provider, platform: platform, environment: known, sealed: sealed, keyID: keyID,
                lastSeenAt: lastSeenAt))
    }
}
