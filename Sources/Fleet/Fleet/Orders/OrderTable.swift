import Access
import JSON
import Primitives

/// The orders in their current state.
struct OrderTable {
    static let table = Table<Order>(
        "orders", key: ["code"], others: ["created_at", "updated_at"], constant: ["created_at"])

    let database: Database

    func order(code: String) throws(DatabaseError) -> Order? {
        try database.first(Self.selectByCode, .string(code), as: Order.init(row:))
    }

    func prefetch(code: String) throws(DatabaseError) { try database.prefetch(Self.selectByCode, .string(code)) }

    private static let selectByCode = table.select("WHERE code = ?")

    /// Finds the order for a job id that an app of the driver `driverID` sent. The id is an order's code or a booking's
    /// id. If an order has this code, the booking's orders are ignored.
    func order(job id: String, driverID: String) throws(DatabaseError) -> Order? {
        if let order = try order(code: id) { return order }
        return try database.first(Self.selectByBooking, .string(id), .string(driverID), as: Order.init(row:))
    }

    // A booking may have several orders. The query returns the first when they are sorted like this: those of the
    // driver before others, then open before ended, then newer before older.
    private static let selectByBooking = table.select(
        """
        WHERE booking_id = ? ORDER BY CASE WHEN driver_id = ? THEN 0 ELSE 1 END, \
        CASE WHEN status IN ('completed', 'cancelled') THEN 1 ELSE 0 END, \
        created_at DESC, code DESC LIMIT 1
        """)

    /// The most codes that an error names.
    private static let namedMax = 10

    /// The codes of a driver's open orders of a booking, at most ``namedMax``.
    func openCodes(booking id: String, driverID: String) throws(DatabaseError) -> [String] {
        try database.all(
            Self.selectOpenOfBooking, .string(id), .string(driverID), .integer(Self.namedMax), as: { $0.string(0) }
        ).sorted()
    }

    private static let selectOpenOfBooking = SQL(
        """
        SELECT code FROM orders WHERE booking_id = ? AND driver_id = ? AND status NOT IN ('completed', 'cancelled') LIMIT ?
        """)

    /// At most `most` open orders, those that were changed longest ago first, after a position.
    func idle(after position: IdlePosition, most: Int) throws(DatabaseError) -> [(order: Order, position: IdlePosition)] {
        try database.all(
            Self.selectIdle, .integer(position.changedAt), .string(position.id), .integer(most),
            as: { row throws(DatabaseError) in
                let order = try Order(row: row)
                return (order, IdlePosition(changedAt: row.integer(Self.table.end), id: order.code))
            })
    }

    private static let selectIdle = table.select(
        "WHERE status NOT IN ('completed', 'cancelled') AND (updated_at, code) > (?, ?) ORDER BY updated_at, code LIMIT ?",
        and: "updated_at")

    /// The most open orders of a driver that are listed. A backend that never ends its orders leaves ever more of them open.
    static let listedMax = 500

    /// A driver's open orders with their creation times, the newest ``listedMax``, oldest first.
    func open(driverID: String) throws(DatabaseError) -> [(order: Order, createdAt: Int64)] {
        try database.all(
            Self.selectOpenByDriver, .string(driverID), .integer(Self.listedMax),
            as: { row throws(DatabaseError) in (try Order(row: row), row.integer(Self.table.end)) }
        ).reversed()
    }

    private static let selectOpenByDriver = table.select(
        "WHERE driver_id = ? AND status NOT IN ('completed', 'cancelled') ORDER BY created_at DESC, code DESC LIMIT ?",
        and: "created_at")

    /// The newest order with a reference, that is, the one that was changed last; nil if there is none.
    func newest(reference: String) throws(DatabaseError) -> Order? {
        try database.first(Self.selectByReference, .string(reference), as: Order.init(row:))
    }

    private static let selectByReference = table.select(
        "WHERE COALESCE(booking_reference, code) = ? ORDER BY updated_at DESC, code DESC LIMIT 1")

    /// True if the driver has an order under way.
    func hasUnderWay(ofDriver id: String) throws(DatabaseError) -> Bool {
        try database.first(Self.selectUnderWay, .string(id), as: { _ in true }) ?? false
    }

    private static let selectUnderWay = SQL(
        """
        SELECT 1 FROM orders WHERE driver_id = ? AND status NOT IN ('completed', 'cancelled') \
        AND status IN ('en_route', 'arrived', 'loading', 'in_transit', 'unloading') LIMIT 1
        """)

    /// Inserts or updates an order.
    func store(_ order: Order, now: Int64) throws(DatabaseError) {
        try database.change(Self.table.upsert, Self.table.values(of: order, .integer(now), .integer(now)))
    }

    /// Deletes at most `most` orders that have ended and were not updated since `cutoff`.
    /// - Returns: the number of deleted orders.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            DELETE FROM orders WHERE code IN (SELECT code FROM orders WHERE status IN ('completed', 'cancelled') \
            AND updated_at < ? ORDER BY updated_at LIMIT ?)
            """, .integer(cutoff), .integer(most))
    }

    // MARK: Erasure

    /// Clears a driver's name.
    /// - Returns: the number of orders that contained it.
    func clearName(ofDriver id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE orders SET driver_name = NULL, trip_driver_name = NULL WHERE code IN (\
            SELECT code FROM orders WHERE driver_id = ? AND driver_name IS NOT NULL \
            UNION ALL SELECT code FROM orders WHERE driver_id = ? AND trip_driver_name IS NOT NULL LIMIT ?)
            """, .string(id), .string(id), .integer(most))
    }

    /// Clears a customer's name in at most `most` orders.
    /// - Returns: the number of orders that contained the name.
    func clearName(ofCustomer id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE orders SET customer_name = NULL WHERE code IN (SELECT code FROM orders WHERE customer_id = ? \
            AND customer_name IS NOT NULL LIMIT ?)
            """, .string(id), .integer(most))
    }

    /// Clears the addresses and coordinates of at most `most` of a customer's orders that have ended.
    /// - Returns: the number of orders that contained one of these.
    func clearPlaces(ofCustomer id: String, most: Int) throws(DatabaseError) -> Int {
        try database.changeCountingRows(
            """
            UPDATE orders SET pickup_address = NULL, dropoff_address = NULL, pickup_latitude = NULL, \
            pickup_longitude = NULL, dropoff_latitude = NULL, dropoff_longitude = NULL WHERE code IN (SELECT code FROM orders \
            WHERE customer_id = ? AND status IN ('completed', 'cancelled') AND (pickup_address IS NOT NULL \
            OR dropoff_address IS NOT NULL OR pickup_latitude IS NOT NULL OR pickup_longitude IS NOT NULL \
            OR dropoff_latitude IS NOT NULL OR dropoff_longitude IS NOT NULL) LIMIT ?)
            """, .string(id), .integer(most))
    }

    /// The names that orders contain for a driver or customer.
    func names(of person: Identity) throws(DatabaseError) -> [String] {
        if person.role == .driver {
            return try database.all(
                """
                SELECT driver_name FROM orders WHERE driver_id = ? AND driver_name IS NOT NULL \
                UNION SELECT trip_driver_name FROM orders WHERE driver_id = ? AND trip_driver_name IS NOT NULL
                """, .string(person.id), .string(person.id), as: { $0.string(0) })
        }
        return try database.all(
            "SELECT DISTINCT customer_name FROM orders WHERE customer_id = ? AND customer_name IS NOT NULL",
            .string(person.id), as: { $0.string(0) })
    }

    /// The addresses of a customer's orders, by whether an order with this address is open.
    func addresses(ofCustomer id: String) throws(DatabaseError) -> (open: Set<String>, ended: Set<String>) {
        var addresses: (open: Set<String>, ended: Set<String>) = ([], [])
        try database.each(
            "SELECT status, pickup_address, dropoff_address FROM orders WHERE customer_id = ?", .string(id)
        ) { row throws(DatabaseError) in
            let both = [row.optionalString(1), row.optionalString(2)].compactMap { $0 }
            let status: JobStatus = try row.value(0, "status")
            if status.isFinal { addresses.ended.formUnion(both) } else { addresses.open.formUnion(both) }
        }
        addresses.ended.subtract(addresses.open)
        return addresses
    }

    /// True if the person has an open order that was created at `moment` or earlier.
    func hasOpen(of person: Identity, createdUntil moment: Int64) throws(DatabaseError) -> Bool {
        if person.role == .driver {
            return try database.first(
                """
                SELECT 1 FROM orders WHERE driver_id = ? AND created_at <= ? \
                AND status NOT IN ('completed', 'cancelled') LIMIT 1
                """, .string(person.id), .integer(moment), as: { _ in true }) ?? false
        }
        return try database.first(
            """
            SELECT 1 FROM orders WHERE customer_id = ? AND created_at <= ? \
            AND status NOT IN ('completed', 'cancelled') LIMIT 1
            """, .string(person.id), .integer(moment), as: { _ in true }) ?? false
    }

    /// True if an ended order that was created at `moment` or earlier still contains the customer's name, an address or
    /// coordinates.
    func hasEndedOrderToClear(ofCustomer id: String, createdUntil moment: Int64) throws(DatabaseError) -> Bool {
        try database.first(
            """
            SELECT 1 FROM orders WHERE customer_id = ? AND created_at <= ? AND status IN ('completed', 'cancelled') \
            AND COALESCE(customer_name, pickup_address, dropoff_address, pickup_latitude, dropoff_latitude) IS NOT NULL \
            LIMIT 1
            """, .string(id), .integer(moment), as: { _ in true }) ?? false
    }

    /// The booking references of a customer's open orders, newest first. An order without reference has its code instead.
    func openReferences(ofCustomer id: String, most: Int) throws(DatabaseError) -> [String] {
        try database.all(
            """
            SELECT COALESCE(booking_reference, code) FROM orders WHERE customer_id = ? \
            AND status NOT IN ('completed', 'cancelled') ORDER BY created_at DESC LIMIT ?
            """, .string(id), .integer(most), as: { $0.string(0) })
    }

    /// Whether an order names this customer.
    func namesCustomer(_ id: String) throws(DatabaseError) -> Bool {
        try database.first("SELECT 1 FROM orders WHERE customer_id = ? LIMIT 1", .string(id), as: { _ in true }) ?? false
    }

    /// The booking reference of each of a customer's orders (the order's code if it has no reference), and whether the
    /// order has ended.
    func references(ofCustomer id: String) throws(DatabaseError) -> [(reference: String, isFinal: Bool)] {
        try database.all(
            "SELECT COALESCE(booking_reference, code), status FROM orders WHERE customer_id = ?", .string(id),
            as: { row throws(DatabaseError) in
                let status: JobStatus = try row.value(1, "status")
                return (row.string(0), status.isFinal)
            })
    }
}

/// A commit's record keeps orders with the same columns (``CommitRecord``). Nodes of other versions read it, so further ones go
/// to the end. The same applies to cards and positions.
extension Order: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Order>) throws(DatabaseError) -> Order {
        var order = Order(code: try column("code", \.code))
        order.assignment = try column.part(\.assignment)
        try column("booking_id", \.bookingID, in: &order)
        try column("booking_reference", \.bookingReference, in: &order)
        try column("customer_id", \.customerID, in: &order)
        try column("customer_name", \.customerName, in: &order)
        try column("pickup_address", \.pickupAddress, in: &order)
        try column("dropoff_address", \.dropoffAddress, in: &order)
        try column("scheduled_at", \.scheduledAt, in: &order)
        try column("total_gbp", \.totalGBP, in: &order)
        order.pickupCoordinates = try column.part(ifReadable: \.pickupCoordinates) { "pickup_\($0)" }
        order.dropoffCoordinates = try column.part(ifReadable: \.dropoffCoordinates) { "dropoff_\($0)" }
        order.trip = try column.part(\.trip)
        return order
    }
}

extension JobStatus: ColumnValue {}

extension Assignment: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Assignment>) throws(DatabaseError) -> Assignment {
        try Assignment(
            status: column("status", \.status), driver: column.part(orNull: \.driver), version: column("version", \.version))
    }
}

extension Assignment.Driver: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Self>) throws(DatabaseError) -> Self {
        try Self(id: column("driver_id", \.id), name: column("driver_name", \.name))
    }
}

extension Coordinates: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<Coordinates>) throws(DatabaseError) -> Coordinates {
        try Coordinates(latitude: column("latitude", \.latitude), longitude: column("longitude", \.longitude))
    }
}

extension TripRecord: RowRecord {
    static func columns(_ column: inout some ColumnVisitor<TripRecord>) throws(DatabaseError) -> TripRecord {
        var trip = TripRecord()
        try column("trip_started_at", \.startedAt, in: &trip)
        try column("arrived_at", \.arrivedAt, in: &trip)
        try column("arrived_by_position", \.isArrivedByPosition, in: &trip)
        try column("departed_at", \.departedAt, in: &trip)
        try column("completed_at", \.completedAt, in: &trip)
        try column("nearby_told_at", \.nearbyToldAt, in: &trip)
        try column("waiting_told_at", \.waitingToldAt, in: &trip)
        try column("destination_near_told_at", \.destinationNearToldAt, in: &trip)
        try column("trip_driver_name", \.driverName, in: &trip)
        try column("corrected_at", \.correctedAt, in: &trip)
        try column("left_at", \.leftAt, in: &trip)
        return trip
    }
}
