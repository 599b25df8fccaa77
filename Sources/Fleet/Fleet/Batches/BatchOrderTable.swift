import JSON
import Primitives

/// The orders of batches.
struct BatchOrderTable {
    static let table = Table<BatchOrder>("batch_orders", key: ["batch_id", "id"], others: ["batch_id"])

    let database: Database

    /// The orders of a batch, by sequence number.
    func orders(of batch: ObjectID) throws(DatabaseError) -> [BatchOrder] {
        try database.all(Self.selectByBatch, .string(batch.text), as: BatchOrder.init(row:))
    }

    private static let selectByBatch = table.select("WHERE batch_id = ? ORDER BY sequence, id")

    // MARK: Changes

    /// Writes the orders of a batch that differ from the stored ones, and deletes those that it no longer has.
    func store(_ orders: [BatchOrder], over stored: [BatchOrder], of batch: ObjectID) throws(DatabaseError) {
        let before = Dictionary(stored.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        for order in orders where before[order.id] != order {
            try database.change(Self.table.upsert, Self.table.values(of: order, .string(batch.text)))
        }
        let after = Set(orders.map(\.id))
        for order in stored where !after.contains(order.id) {
            try database.change(
                "DELETE FROM batch_orders WHERE batch_id = ? AND id = ?", .string(batch.text), .string(order.id.text))
        }
    }

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

extension BatchOrder: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<BatchOrder>) throws(DatabaseError) -> BatchOrder {
        var order = try BatchOrder(
            id: column("id", \.id), orderNumber: column("order_number", \.orderNumber),
            sequenceNumber: column("sequence", \.sequenceNumber))
        try column("customer_id", \.customerID, in: &order)
        order.address = try column.part(\.address)
        try column("items", \.items, as: .json, in: &order)
        order.otp = try column.part(orNull: \.otp)
        order.assignment = try column.part(orNull: \.assignment)
        order.cancellation = try column.part(orNull: \.cancellation)
        return order
    }
}

extension DeliveryAddress: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<DeliveryAddress>) throws(DatabaseError) -> DeliveryAddress {
        var address = DeliveryAddress()
        try column("name", \.name, in: &address)
        try column("phone", \.phone, in: &address)
        try column("flat_number", \.flatNumber, in: &address)
        try column("street", \.street, in: &address)
        try column("landmark", \.landmark, in: &address)
        try column("area", \.area, in: &address)
        try column("city", \.city, in: &address)
        try column("state", \.state, in: &address)
        try column("pincode", \.pincode, in: &address)
        try column("instructions", \.instructions, in: &address)
        try column("latitude", \.latitude, in: &address)
        try column("longitude", \.longitude, in: &address)
        return address
    }
}

/// A sealed code. The digits of another one are not stored.
extension DeliveryOTP: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<DeliveryOTP>) throws(DatabaseError) -> DeliveryOTP {
        let digest = try column("otp_digest", of: { $0.sealed?.digest })
        return .sealed(digest: digest ?? [], keyID: try column("otp_key", of: { $0.sealed?.keyID }) ?? "")
    }

    private var sealed: (digest: [UInt8], keyID: String)? {
        if case .sealed(let digest, let keyID) = self { (digest, keyID) } else { nil }
    }
}

extension OrderAssignment: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<OrderAssignment>) throws(DatabaseError) -> OrderAssignment {
        var assignment = try OrderAssignment(
            id: column("assignment_id", \.id), assignedAt: column("assigned_at", \.assignedAt))
        try column("assignment", \.status, in: &assignment)
        try column("picked_up_at", \.pickedUpAt, in: &assignment)
        try column("en_route_at", \.enRouteAt, in: &assignment)
        try column("arrived_at", \.arrivedAt, in: &assignment)
        try column("delivered_at", \.deliveredAt, in: &assignment)
        try column("failed_at", \.failedAt, in: &assignment)
        try column("reported_by", \.reportedBy, in: &assignment)
        assignment.proof = try column.part(ifReadable: \.proof)
        try column("failure_reason", \.failureReason, in: &assignment)
        try column("notes", \.notes, in: &assignment)
        return assignment
    }
}

extension AssignmentStatus: ColumnValue {}
extension FailureReason: ColumnValue {}
extension OrderCancellation.Party: ColumnValue {}
extension ProofOfDelivery.Kind: ColumnValue {}

extension OrderCancellation: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<OrderCancellation>) throws(DatabaseError) -> OrderCancellation {
        try OrderCancellation(
            at: column("cancelled_at", \.at), by: column("cancelled_by", of: { Party?($0.by) }) ?? .admin,
            reason: column("cancel_reason", \.reason), isAfterPickup: column("cancelled_after_pickup", \.isAfterPickup))
    }
}

extension CheckedProof: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<CheckedProof>) throws(DatabaseError) -> CheckedProof {
        try CheckedProof(
            column.part(\.proof), isOTPVerified: column("proof_checked", \.isOTPVerified),
            verifiedAt: column("proof_at", \.verifiedAt))
    }
}

extension ProofOfDelivery: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<ProofOfDelivery>) throws(DatabaseError) -> ProofOfDelivery {
        let (kind, text) = (try column("proof_kind", \.kind), try column("proof", \.text, as: .present))
        switch kind {
        case .otp: return .otp(text)
        case .signature: return .signature(url: text)
        case .photo: return .photo(url: text)
        }
    }

    /// The code, or the address of the picture.
    private var text: String {
        switch self {
        case .otp(let text), .signature(let text), .photo(let text): text
        }
    }
}

extension ColumnForm<[OrderItem]> {
    fileprivate static var json: ColumnForm {
        ColumnForm(sqlValue: { .utf8($0.json) }, read: { [OrderItem](json: $0.bytes($1)) }, blank: [])
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
