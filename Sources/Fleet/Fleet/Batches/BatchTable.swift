import JSON
import Primitives

/// Batches of orders in their current state. ``BatchOrderTable`` has their orders.
struct BatchTable {
    let database: Database
    let orders: BatchOrderTable

    init(database: Database) {
        self.database = database
        orders = BatchOrderTable(database: database)
    }

    private static let columns = """
        id, status, version, batch_number, meal_window, window_ends_at, estimated_earnings, kitchen, zone_id, zone_name, \
        zone_city, account_id, driver_id, driver_name, created_at, updated_at, assigned_at, dispatched_at, picked_up_at, \
        completed_at, closed_at
        """
    private static let select = "SELECT \(columns) FROM batches"

    // MARK: One batch

    func batch(_ id: ObjectID) throws(DatabaseError) -> Batch? {
        try withOrders(try database.first(Self.selectByID, .string(id.text), as: Batch.init(row:)))
    }

    private static let selectByID = SQL("\(select) WHERE id = ?")

    /// The batch that has an order: the one that is not over, else the newest.
    func batch(ofOrder id: ObjectID) throws(DatabaseError) -> Batch? {
        let batchID = try database.first(
            """
            SELECT batch.id FROM batch_orders JOIN batches AS batch ON batch.id = batch_orders.batch_id \
            WHERE batch_orders.id = ? \
            ORDER BY CASE WHEN batch.status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED') THEN 1 ELSE 0 END, \
            batch.updated_at DESC LIMIT 1
            """, .string(id.text), as: { ObjectID($0.string(0)) })
        guard let batchID else { return nil }
        return try batch(batchID)
    }

    /// The batch that occupies a driver.
    func active(of account: ObjectID) throws(DatabaseError) -> Batch? {
        try withOrders(try database.first(Self.selectActive, .string(account.text), as: Batch.init(row:)))
    }

    private static let selectActive = SQL(
        "\(select) WHERE account_id = ? AND status IN ('DISPATCHED', 'IN_PROGRESS') LIMIT 1")

    /// The first of these orders that another batch has which is not over; nil if there is none.
    func orderElsewhere(_ ids: [ObjectID], than batch: ObjectID) throws(DatabaseError) -> ObjectID? {
        for id in ids {
            let isElsewhere = try database.first(
                """
                SELECT 1 FROM batch_orders JOIN batches AS batch ON batch.id = batch_orders.batch_id \
                WHERE batch_orders.id = ? AND batch.id <> ? \
                AND batch.status NOT IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED') LIMIT 1
                """, .string(id.text), .string(batch.text), as: { _ in true })
            if isElsewhere == true { return id }
        }
        return nil
    }

    private func withOrders(_ batch: Batch?) throws(DatabaseError) -> Batch? {
        guard var batch else { return nil }
        batch.orders = try orders.orders(of: batch.id)
        return batch
    }

    // MARK: Several batches

    /// The batches that wait for a driver, without their orders, the earliest end of the window first, at most `most`.
    func waiting(most: Int) throws(DatabaseError) -> [BatchListing.Waiting] {
        try database.all(
            Self.selectWaiting, .integer(most),
            as: { row throws(DatabaseError) in
                BatchListing.Waiting(try Batch(row: row), orderCount: Int(row.integer(21)))
            })
    }

    private static let selectWaiting = SQL(
        """
        SELECT \(columns), order_count FROM batches WHERE status = 'READY_FOR_DISPATCH' \
        ORDER BY CASE WHEN window_ends_at IS NULL THEN 1 ELSE 0 END, window_ends_at, id LIMIT ?
        """)

    /// The batches whose windows have ended, at most `most`.
    func due(at now: Int64, most: Int) throws(DatabaseError) -> [ObjectID] {
        try database.all(
            "SELECT id FROM batches WHERE status = 'COLLECTING' AND window_ends_at <= ? ORDER BY window_ends_at LIMIT ?",
            .integer(now), .integer(most), as: { ObjectID($0.string(0)) }
        ).compactMap { $0 }
    }

    /// A driver's batches that were completed at `since` or later.
    func completed(of account: ObjectID, since: Int64) throws(DatabaseError) -> [CompletedBatch] {
        try database.all(
            """
            SELECT completed_at, delivered, failed, estimated_earnings FROM batches WHERE account_id = ? \
            AND status IN ('COMPLETED', 'PARTIAL_COMPLETE') AND completed_at >= ?
            """, .string(account.text), .integer(since),
            as: { row in
                CompletedBatch(
                    completedAt: row.integer(0), delivered: Int(row.integer(1)), failed: Int(row.integer(2)),
                    earnings: row.number(3))
            })
    }

    // MARK: Changes

    /// Writes a batch, and those of its orders that have changed.
    func store(_ change: BatchChange) throws(DatabaseError) {
        let batch = change.batch
        let counts = batch.counts
        try database.change(
            Self.upsert, .string(batch.id.text), .string(batch.status.rawValue), .integer(batch.version),
            .string(batch.batchNumber), .string(batch.mealWindow?.rawValue), .integer(batch.windowEndTime),
            .string(batch.estimatedEarnings?.text), .utf8(batch.kitchen?.json), .string(batch.zone?.id.text),
            .string(batch.zone?.name), .string(batch.zone?.city), .string(batch.driver?.accountID.text),
            .string(batch.driver?.personID.text), .string(batch.driver?.name), .integer(batch.createdAt),
            .integer(batch.updatedAt), .integer(batch.driverAssignedAt), .integer(batch.dispatchedAt),
            .integer(batch.pickedUpAt), .integer(batch.completedAt), .integer(batch.closedAt), .integer(counts.delivered),
            .integer(counts.failed), .integer(counts.total))
        try orders.store(batch.orders, over: change.stored?.orders ?? [], of: batch.id)
    }

    private static let upsert = SQL(
        """
        INSERT INTO batches (\(columns), delivered, failed, order_count) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET \
        status = excluded.status, version = excluded.version, batch_number = excluded.batch_number, \
        meal_window = excluded.meal_window, window_ends_at = excluded.window_ends_at, \
        estimated_earnings = excluded.estimated_earnings, kitchen = excluded.kitchen, zone_id = excluded.zone_id, \
        zone_name = excluded.zone_name, zone_city = excluded.zone_city, account_id = excluded.account_id, \
        driver_id = excluded.driver_id, driver_name = excluded.driver_name, updated_at = excluded.updated_at, \
        assigned_at = excluded.assigned_at, dispatched_at = excluded.dispatched_at, \
        picked_up_at = excluded.picked_up_at, completed_at = excluded.completed_at, closed_at = excluded.closed_at, \
        delivered = excluded.delivered, failed = excluded.failed, order_count = excluded.order_count
        """)

    // MARK: Retention

    /// Deletes at most `most` batches that have ended and were not updated since `cutoff`, with their orders.
    /// - Returns: the number of deleted batches.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        let ids = try database.all(
            """
            SELECT id FROM batches WHERE status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED') AND updated_at < ? \
            ORDER BY updated_at LIMIT ?
            """, .integer(cutoff), .integer(most), as: { $0.string(0) })
        for id in ids {
            try database.change("DELETE FROM batch_orders WHERE batch_id = ?", .string(id))
            try database.change("DELETE FROM batches WHERE id = ?", .string(id))
        }
        return ids.count
    }

    // MARK: Erasure

    /// Clears a driver's name.
    /// - Returns: the number of batches that contained it.
    func clearName(ofDriver id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE batches SET driver_name = NULL WHERE id IN (SELECT id FROM batches WHERE driver_id = ? \
            AND driver_name IS NOT NULL LIMIT ?)
            """, .string(id), .integer(most))
    }
}

extension Batch {
    /// A batch without its orders.
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let id = ObjectID(row.string(0)), let status = BatchStatus(rawValue: row.string(1)) else {
            throw .unreadable("the batch \(row.string(0))", doing: row.sql)
        }
        self.init(id: id, createdAt: row.integer(14))
        self.status = status
        version = Int(row.integer(2))
        batchNumber = row.optionalString(3)
        mealWindow = row.optionalString(4).flatMap(MealWindow.init(rawValue:))
        windowEndTime = row.optionalInteger(5)
        estimatedEarnings = row.number(6)
        kitchen = row.optionalBytes(7).flatMap { Kitchen(json: $0) }
        zone = row.optionalString(8).flatMap { ObjectID($0) }.map { Zone(id: $0) }
        zone?.name = row.optionalString(9)
        zone?.city = row.optionalString(10)
        if let account = row.optionalString(11).flatMap({ ObjectID($0) }) {
            driver = BatchDriver(
                accountID: account, personID: Identifier(row.string(12)), name: row.optionalString(13))
        }
        updatedAt = row.integer(15)
        driverAssignedAt = row.optionalInteger(16)
        dispatchedAt = row.optionalInteger(17)
        pickedUpAt = row.optionalInteger(18)
        completedAt = row.optionalInteger(19)
        closedAt = row.optionalInteger(20)
    }
}

extension Kitchen {
    fileprivate var json: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("_id", id.text)
            $0.member("name", name)
            $0.member("phone", phone)
            address.writeMembers(to: &$0)
        }
        return json.bytes
    }

    /// Nil if the JSON is not of this table.
    fileprivate init?(json: [UInt8]) {
        guard let members = StoredMembers(json), let id = members.text("_id").flatMap({ ObjectID($0) }) else { return nil }
        self.init(id: id)
        name = members.text("name")
        phone = members.text("phone")
        address.street = members.text("street")
        address.area = members.text("area")
        address.city = members.text("city")
        address.state = members.text("state")
        address.pincode = members.text("pincode")
        address.latitude = members.number("latitude")
        address.longitude = members.number("longitude")
    }
}
