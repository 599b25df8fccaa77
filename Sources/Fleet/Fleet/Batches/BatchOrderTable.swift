import JSON
import Primitives

/// The orders of batches.
struct BatchOrderTable {
    let database: Database

    private static let columns = """
        id, order_number, sequence, customer_id, name, phone, flat_number, street, landmark, area, city, state, pincode, \
        latitude, longitude, items, otp_digest, otp_key, assignment_id, assignment, assigned_at, picked_up_at, \
        en_route_at, arrived_at, delivered_at, failed_at, reported_by, proof_kind, proof, proof_checked, proof_at, \
        failure_reason, notes, cancelled_at, cancelled_by, cancel_reason, cancelled_after_pickup, instructions
        """

    /// The orders of a batch, by sequence number.
    func orders(of batch: ObjectID) throws(DatabaseError) -> [BatchOrder] {
        try database.all(Self.selectByBatch, .string(batch.text), as: BatchOrder.init(row:))
    }

    private static let selectByBatch = SQL("SELECT \(columns) FROM batch_orders WHERE batch_id = ? ORDER BY sequence, id")

    // MARK: Changes

    /// Writes the orders of a batch that differ from the stored ones, and deletes those that it no longer has.
    func store(_ orders: [BatchOrder], over stored: [BatchOrder], of batch: ObjectID) throws(DatabaseError) {
        let before = Dictionary(stored.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for order in orders where before[order.id] != order { try store(order, of: batch) }
        let after = Set(orders.map(\.id))
        for order in stored where !after.contains(order.id) {
            try database.change(
                "DELETE FROM batch_orders WHERE batch_id = ? AND id = ?", .string(batch.text), .string(order.id.text))
        }
    }

    private func store(_ order: BatchOrder, of batch: ObjectID) throws(DatabaseError) {
        let (address, assignment, proof) = (order.address, order.assignment, order.assignment?.proof)
        var (digest, key): ([UInt8]?, String?) = (nil, nil)
        if case .sealed(let bytes, let id) = order.otp { (digest, key) = (bytes, id) }
        try database.change(
            Self.upsert, .string(batch.text), .string(order.id.text), .string(order.orderNumber),
            .integer(order.sequenceNumber), .string(order.customerID), .string(address.name), .string(address.phone),
            .string(address.flatNumber), .string(address.street), .string(address.landmark), .string(address.area),
            .string(address.city), .string(address.state), .string(address.pincode), .string(address.latitude?.text),
            .string(address.longitude?.text), .utf8(order.items.json), digest.map { .blob($0) } ?? .null, .string(key),
            .string(assignment?.id.text), .string(assignment?.status.rawValue), .integer(assignment?.assignedAt),
            .integer(assignment?.pickedUpAt), .integer(assignment?.enRouteAt), .integer(assignment?.arrivedAt),
            .integer(assignment?.deliveredAt), .integer(assignment?.failedAt), .string(assignment?.reportedBy?.text),
            .string(proof?.proof.kind.rawValue), .string(proof?.proof.text),
            .integer(proof?.isOTPVerified.map { $0 ? 1 : 0 }), .integer(proof?.verifiedAt),
            .string(assignment?.failureReason?.rawValue), .string(assignment?.notes), .integer(order.cancellation?.at),
            .string(order.cancellation?.by.rawValue), .string(order.cancellation?.reason),
            .integer(order.cancellation.map { $0.isAfterPickup ? 1 : 0 }),
            .string(address.instructions))
    }

    private static let upsert = SQL(
        """
        INSERT INTO batch_orders (batch_id, \(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (batch_id, id) DO UPDATE SET \
        \(columns.split(separator: ",").dropFirst().map { $0.drop { $0 == " " } }.map { "\($0) = excluded.\($0)" }
            .joined(separator: ", "))
        """)

    // MARK: Reports

    /// The response to the report of an order's present status; nil if there was none, or it was erased.
    func reportResponse(of order: ObjectID, in batch: ObjectID) throws(DatabaseError) -> [UInt8]? {
        try database.first(
            "SELECT report_response FROM batch_orders WHERE batch_id = ? AND id = ?", .string(batch.text),
            .string(order.text), as: { $0.optionalBytes(0) })
    }

    func store(reportResponse body: [UInt8], of order: ObjectID, in batch: ObjectID) throws(DatabaseError) {
        try database.change(
            "UPDATE batch_orders SET report_response = ? WHERE batch_id = ? AND id = ?", .utf8(body),
            .string(batch.text), .string(order.text))
    }

    /// The wrong codes for an order, in all its batches.
    func attempts(for order: ObjectID) throws(DatabaseError) -> OTPAttempts {
        let times = try database.first(
            "SELECT times FROM wrong_codes WHERE order_id = ?", .string(order.text), as: { $0.string(0) })
        return OTPAttempts(wrongAt: (times ?? "").split(separator: ",").compactMap { Int64($0) })
    }

    func store(_ attempts: OTPAttempts, for order: ObjectID, now: Int64) throws(DatabaseError) {
        try database.change(
            """
            INSERT INTO wrong_codes (order_id, times, updated_at) VALUES (?, ?, ?) \
            ON CONFLICT (order_id) DO UPDATE SET times = excluded.times, updated_at = excluded.updated_at
            """, .string(order.text), .string(attempts.wrongAt.map(String.init).joined(separator: ",")), .integer(now))
    }

    /// Deletes the times of at most `most` orders that got no wrong code since `cutoff`.
    /// - Returns: the number of these orders.
    func deleteAttempts(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM wrong_codes WHERE order_id IN (SELECT order_id FROM wrong_codes WHERE updated_at < ? \
            ORDER BY updated_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }

    // MARK: Erasure

    /// A customer's names and phone numbers in batches that are over.
    func texts(ofCustomer id: String) throws(DatabaseError) -> [String] {
        try database.all(
            """
            SELECT batch_orders.name, batch_orders.phone FROM batch_orders \
            JOIN batches AS batch ON batch.id = batch_orders.batch_id WHERE batch_orders.customer_id = ? \
            AND batch.status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED')
            """, .string(id), as: { [$0.optionalString(0), $0.optionalString(1)] }
        ).flatMap { $0.compactMap { $0 } }
    }

    /// Clears in batches that are over what tells who a customer is, where the customer lives and what was ordered. Of the
    /// address the area, the city, the state and the postal code remain. What the driver has noted goes, too.
    /// - Returns: the number of orders that named the customer, which they do no more.
    func clear(customer id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE batch_orders SET customer_id = NULL, name = NULL, phone = NULL, flat_number = NULL, street = NULL, \
            landmark = NULL, latitude = NULL, longitude = NULL, instructions = NULL, items = '[]', notes = NULL, report_response = NULL \
            WHERE (batch_id, id) IN (SELECT batch_id, id FROM batch_orders WHERE customer_id = ? \
            AND batch_id IN (SELECT id FROM batches WHERE status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED')) LIMIT ?)
            """, .string(id), .integer(most))
    }

    /// Clears what a driver has written about at most `most` orders.
    /// - Returns: the number of orders about which the driver had written something.
    func clearReports(ofAccount id: ObjectID, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE batch_orders SET notes = NULL, report_response = NULL WHERE (batch_id, id) IN (SELECT batch_id, id \
            FROM batch_orders WHERE reported_by = ? AND (notes IS NOT NULL OR report_response IS NOT NULL) LIMIT ?)
            """, .string(id.text), .integer(most))
    }

    /// Whether an order names the customer.
    func namesCustomer(_ id: String) throws(DatabaseError) -> Bool {
        try database.first(
            "SELECT 1 FROM batch_orders WHERE customer_id = ? LIMIT 1", .string(id), as: { _ in true }) ?? false
    }

    /// Whether a batch that is not over has an order of the customer, and existed at `moment`.
    func hasOpen(ofCustomer id: String, createdUntil moment: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM batch_orders JOIN batches AS batch ON batch.id = batch_orders.batch_id \
            WHERE batch_orders.customer_id = ? AND batch.created_at <= ? \
            AND batch.status NOT IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED') LIMIT 1
            """, .string(id), .integer(moment), as: { _ in true }) ?? false
    }

    /// Whether a batch that is over still names the customer, and existed at `moment`.
    func hasEndedToClear(ofCustomer id: String, createdUntil moment: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM batch_orders JOIN batches AS batch ON batch.id = batch_orders.batch_id \
            WHERE batch_orders.customer_id = ? AND batch.created_at <= ? \
            AND batch.status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED') LIMIT 1
            """, .string(id), .integer(moment), as: { _ in true }) ?? false
    }
}

extension BatchOrder {
    fileprivate init(row: Row) throws(DatabaseError) {
        guard let id = ObjectID(row.string(0)), let items = [OrderItem](json: row.bytes(15)) else {
            throw .unreadable("the order \(row.string(0)) of a batch", doing: row.sql)
        }
        self.init(id: id, orderNumber: row.string(1), sequenceNumber: Int(row.integer(2)))
        customerID = row.optionalString(3)
        address = DeliveryAddress(row: row, column: 4)
        address.instructions = row.optionalString(37)
        self.items = items
        if let digest = row.optionalBytes(16) { otp = .sealed(digest: digest, keyID: row.string(17)) }
        assignment = try OrderAssignment(row: row, column: 18)
        cancellation = row.cancellation(33)
    }
}

extension DeliveryAddress {
    fileprivate init(row: Row, column: Int32) {
        self.init()
        name = row.optionalString(column)
        phone = row.optionalString(column + 1)
        flatNumber = row.optionalString(column + 2)
        street = row.optionalString(column + 3)
        landmark = row.optionalString(column + 4)
        area = row.optionalString(column + 5)
        city = row.optionalString(column + 6)
        state = row.optionalString(column + 7)
        pincode = row.optionalString(column + 8)
        latitude = row.number(column + 9)
        longitude = row.number(column + 10)
    }
}

extension OrderAssignment {
    /// Nil if the order has none.
    fileprivate init?(row: Row, column: Int32) throws(DatabaseError) {
        guard let idText = row.optionalString(column) else { return nil }
        guard let id = ObjectID(idText), let status = AssignmentStatus(rawValue: row.string(column + 1)) else {
            throw .unreadable("the assignment \(idText)", doing: row.sql)
        }
        self.init(id: id, assignedAt: row.integer(column + 2))
        self.status = status
        pickedUpAt = row.optionalInteger(column + 3)
        enRouteAt = row.optionalInteger(column + 4)
        arrivedAt = row.optionalInteger(column + 5)
        deliveredAt = row.optionalInteger(column + 6)
        failedAt = row.optionalInteger(column + 7)
        reportedBy = row.optionalString(column + 8).flatMap { ObjectID($0) }
        if let proof = ProofOfDelivery(kind: row.optionalString(column + 9), text: row.optionalString(column + 10)) {
            self.proof = CheckedProof(
                proof, isOTPVerified: row.optionalInteger(column + 11).map { $0 == 1 }, verifiedAt: row.integer(column + 12))
        }
        failureReason = row.optionalString(column + 13).flatMap(FailureReason.init(rawValue:))
        notes = row.optionalString(column + 14)
    }
}

extension Row {
    /// Reads four columns; nil if the order is not cancelled.
    fileprivate func cancellation(_ column: Int32) -> OrderCancellation? {
        guard let at = optionalInteger(column) else { return nil }
        return OrderCancellation(
            at: at, by: OrderCancellation.Party(rawValue: string(column + 1)) ?? .admin, reason: optionalString(column + 2),
            isAfterPickup: integer(column + 3) == 1)
    }
}

extension ProofOfDelivery {
    /// The code, or the address of the picture.
    fileprivate var text: String {
        switch self {
        case .otp(let text), .signature(let text), .photo(let text): text
        }
    }

    /// Nil if there is no proof.
    fileprivate init?(kind: String?, text: String?) {
        guard let kind = kind.flatMap(Kind.init(rawValue:)), let text else { return nil }
        switch kind {
        case .otp: self = .otp(text)
        case .signature: self = .signature(url: text)
        case .photo: self = .photo(url: text)
        }
    }
}

extension [OrderItem] {
    fileprivate var json: [UInt8] {
        var json = JSONWriter()
        json.items(self)
        return json.bytes
    }

    /// Nil if the JSON is not of this table.
    fileprivate init?(json: [UInt8]) {
        guard let elements = StoredMembers.array(json) else { return nil }
        self = elements.compactMap { members in
            guard let id = members.text("menuItemId") else { return nil }
            var item = OrderItem(menuItemID: id)
            item.name = members.text("name")
            item.quantity = members.number("quantity")
            item.price = members.number("price")
            return item
        }
    }
}
