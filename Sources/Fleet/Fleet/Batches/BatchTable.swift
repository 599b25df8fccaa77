import JSON
import Primitives

/// Batches of orders in their current state. ``BatchOrderTable`` has their orders.
struct BatchTable {
    static let table = Table<Batch>(
        "batches", key: ["id"], others: ["delivered", "failed", "order_count"], constant: ["created_at"])

    let database: Database
    let orders: BatchOrderTable

    init(database: Database) {
        self.database = database
        orders = BatchOrderTable(database: database)
    }

    // MARK: One batch

    func batch(_ id: ObjectID) throws(DatabaseError) -> Batch? {
        try withOrders(try database.first(Self.selectByID, .string(id.text), as: Batch.init(row:)))
    }

    private static let selectByID = table.select("WHERE id = ?")

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

    private static let selectActive = table.select(
        "WHERE account_id = ? AND status IN ('DISPATCHED', 'IN_PROGRESS') LIMIT 1")

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
                BatchListing.Waiting(try Batch(row: row), orderCount: Int(row.integer(Self.table.end)))
            })
    }

    private static let selectWaiting = table.select(
        """
        WHERE status = 'READY_FOR_DISPATCH' \
        ORDER BY CASE WHEN window_ends_at IS NULL THEN 1 ELSE 0 END, window_ends_at, id LIMIT ?
        """, and: "order_count")

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
                    earnings: row.optionalString(3).map(JSONNumber.init))
            })
    }

    // MARK: Changes

    /// Writes a batch, and those of its orders that have changed.
    func store(_ change: BatchChange) throws(DatabaseError) {
        let batch = change.batch
        let counts = batch.counts
        try database.change(
            Self.table.upsert,
            Self.table.values(of: batch, .integer(counts.delivered), .integer(counts.failed), .integer(counts.total)))
        try orders.store(batch.orders, over: change.stored?.orders ?? [], of: batch.id)
    }

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

/// A batch without its orders.
extension Batch: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Batch>) throws(DatabaseError) -> Batch {
        var batch = try Batch(id: column("id", \.id), createdAt: column("created_at", \.createdAt))
        try column("status", \.status, in: &batch)
        try column("version", \.version, in: &batch)
        try column("batch_number", \.batchNumber, in: &batch)
        try column("meal_window", \.mealWindow, in: &batch)
        try column("window_ends_at", \.windowEndTime, in: &batch)
        try column("estimated_earnings", \.estimatedEarnings, in: &batch)
        try column("kitchen", \.kitchen, as: .json, in: &batch)
        batch.zone = try column.part(ifReadable: \.zone)
        batch.driver = try column.part(ifReadable: \.driver)
        try column("updated_at", \.updatedAt, in: &batch)
        try column("assigned_at", \.driverAssignedAt, in: &batch)
        try column("dispatched_at", \.dispatchedAt, in: &batch)
        try column("picked_up_at", \.pickedUpAt, in: &batch)
        try column("completed_at", \.completedAt, in: &batch)
        try column("closed_at", \.closedAt, in: &batch)
        return batch
    }
}

extension BatchStatus: ColumnValue {}
extension MealWindow: ColumnValue {}

extension Zone: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Zone>) throws(DatabaseError) -> Zone {
        var zone = Zone(id: try column("zone_id", \.id))
        try column("zone_name", \.name, in: &zone)
        try column("zone_city", \.city, in: &zone)
        return zone
    }
}

extension BatchDriver: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<BatchDriver>) throws(DatabaseError) -> BatchDriver {
        try BatchDriver(
            accountID: column("account_id", \.accountID), personID: column("driver_id", \.personID),
            name: column("driver_name", \.name))
    }
}

extension ColumnForm<Kitchen?> {
    fileprivate static var json: ColumnForm {
        ColumnForm(
            sqlValue: { .utf8($0?.json) }, read: { row, column in .some(row.optionalBytes(column).flatMap(Kitchen.init(json:))) },
            blank: nil)
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
        for (name, path) in KitchenAddress.texts { address[keyPath: path] = members.text(name.description) }
        address.latitude = members.number("latitude")
        address.longitude = members.number("longitude")
    }
}
