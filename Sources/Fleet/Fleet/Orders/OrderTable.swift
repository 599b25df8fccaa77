import Access
import JSON
import Primitives

/// The orders in their current state.
struct OrderTable {
    private static let columns = """
        code, status, driver_id, driver_name, version, booking_id, booking_reference, customer_id, customer_name, \
        pickup_address, dropoff_address, scheduled_at, total_gbp, pickup_latitude, pickup_longitude, dropoff_latitude, \
        dropoff_longitude, trip_started_at, arrived_at, arrived_by_position, departed_at, completed_at, nearby_told_at, \
        waiting_told_at, destination_near_told_at, trip_driver_name, corrected_at, left_at
        """
    private static let select = "SELECT \(columns), created_at FROM orders"

    let database: Database

    func order(code: String) throws(DatabaseError) -> Order? {
        try database.first(Self.selectByCode, .string(code), as: Order.init(row:))
    }

    func prefetch(code: String) throws(DatabaseError) { try database.prefetch(Self.selectByCode, .string(code)) }

    private static let selectByCode = SQL("\(select) WHERE code = ?")

    /// Finds the order for a job id that an app of the driver `driverID` sent. The id is an order's code or a booking's
    /// id. If an order has this code, the booking's orders are ignored.
    func order(job id: String, driverID: String) throws(DatabaseError) -> Order? {
        if let order = try order(code: id) { return order }
        return try database.first(Self.selectByBooking, .string(id), .string(driverID), as: Order.init(row:))
    }

    // A booking may have several orders. The query returns the first when they are sorted like this: those of the
    // driver before others, then open before ended, then newer before older.
    private static let selectByBooking = SQL(
        """
        \(select) WHERE booking_id = ? ORDER BY CASE WHEN driver_id = ? THEN 0 ELSE 1 END, \
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
                return (order, IdlePosition(changedAt: row.integer(29), id: order.code))
            })
    }

    private static let selectIdle = SQL(
        """
        SELECT \(columns), created_at, updated_at FROM orders WHERE status NOT IN ('completed', 'cancelled') \
        AND (updated_at, code) > (?, ?) \
        ORDER BY updated_at, code LIMIT ?
        """)

    /// The most open orders of a driver that are listed. A backend that never ends its orders leaves ever more of them open.
    static let listedMax = 500

    /// A driver's open orders with their creation times, the newest ``listedMax``, oldest first.
    func open(driverID: String) throws(DatabaseError) -> [(order: Order, createdAt: Int64)] {
        try database.all(
            Self.selectOpenByDriver, .string(driverID), .integer(Self.listedMax),
            as: { row throws(DatabaseError) in (try Order(row: row), row.integer(28)) }
        ).reversed()
    }

    private static let selectOpenByDriver = SQL(
        """
        \(select) WHERE driver_id = ? AND status NOT IN ('completed', 'cancelled') ORDER BY created_at DESC, code DESC LIMIT ?
        """)

    /// The newest order with a reference, that is, the one that was changed last; nil if there is none.
    func newest(reference: String) throws(DatabaseError) -> Order? {
        try database.first(Self.selectByReference, .string(reference), as: Order.init(row:))
    }

    private static let selectByReference = SQL(
        "\(select) WHERE COALESCE(booking_reference, code) = ? ORDER BY updated_at DESC, code DESC LIMIT 1")

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
        try database.change(Self.upsert, order.values + [.integer(now), .integer(now)])
    }

    private static let upsert = SQL(
        """
        INSERT INTO orders (\(columns), created_at, updated_at) \
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (code) DO UPDATE SET status = excluded.status, driver_id = excluded.driver_id, \
        driver_name = excluded.driver_name, version = excluded.version, booking_id = excluded.booking_id, \
        booking_reference = excluded.booking_reference, customer_id = excluded.customer_id, \
        customer_name = excluded.customer_name, pickup_address = excluded.pickup_address, \
        dropoff_address = excluded.dropoff_address, scheduled_at = excluded.scheduled_at, \
        total_gbp = excluded.total_gbp, pickup_latitude = excluded.pickup_latitude, \
        pickup_longitude = excluded.pickup_longitude, dropoff_latitude = excluded.dropoff_latitude, \
        dropoff_longitude = excluded.dropoff_longitude, \
        trip_started_at = excluded.trip_started_at, \
        arrived_at = excluded.arrived_at, \
        arrived_by_position = excluded.arrived_by_position, \
        departed_at = excluded.departed_at, \
        completed_at = excluded.completed_at, \
        nearby_told_at = excluded.nearby_told_at, \
        waiting_told_at = excluded.waiting_told_at, \
        destination_near_told_at = excluded.destination_near_told_at, \
        trip_driver_name = excluded.trip_driver_name, \
        corrected_at = excluded.corrected_at, \
        left_at = excluded.left_at, \
        updated_at = excluded.updated_at
        """)

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
            if try row.status(0).isFinal { addresses.ended.formUnion(both) } else { addresses.open.formUnion(both) }
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
            as: { row throws(DatabaseError) in (row.string(0), try row.status(1).isFinal) })
    }
}

extension JobStatus: ColumnValue {}

extension Order {
    /// The values of ``OrderTable/columns``.
    var values: [SQLValue] {
        [
            .string(code), .string(assignment.status.rawValue), .string(assignment.driver?.id.text),
            .string(assignment.driver?.name), .integer(assignment.version), .string(bookingID), .string(bookingReference),
            .string(customerID), .string(customerName), .string(pickupAddress), .string(dropoffAddress),
            .string(scheduledAt), .string(totalGBP?.text), .string(pickupCoordinates?.latitude.text),
            .string(pickupCoordinates?.longitude.text), .string(dropoffCoordinates?.latitude.text),
            .string(dropoffCoordinates?.longitude.text), .integer(trip.startedAt), .integer(trip.arrivedAt),
            .integer(trip.isArrivedByPosition ? 1 : 0), .integer(trip.departedAt), .integer(trip.completedAt),
            .integer(trip.nearbyToldAt), .integer(trip.waitingToldAt), .integer(trip.destinationNearToldAt),
            .string(trip.driverName), .integer(trip.correctedAt), .integer(trip.leftAt),
        ]
    }

    init(row: Row) throws(DatabaseError) {
        self.init(code: row.string(0))
        assignment = try row.assignment(1)
        bookingID = row.optionalString(5)
        bookingReference = row.optionalString(6)
        customerID = row.optionalString(7)
        customerName = row.optionalString(8)
        pickupAddress = row.optionalString(9)
        dropoffAddress = row.optionalString(10)
        scheduledAt = row.optionalString(11)
        totalGBP = row.number(12)
        pickupCoordinates = row.coordinates(13)
        dropoffCoordinates = row.coordinates(15)
        trip = TripRecord(row: row, column: 17)
    }
}

extension TripRecord {
    /// Reads eleven columns, from `column` on.
    fileprivate init(row: Row, column: Int32) {
        self.init()
        startedAt = row.optionalInteger(column)
        arrivedAt = row.optionalInteger(column + 1)
        isArrivedByPosition = row.integer(column + 2) == 1
        departedAt = row.optionalInteger(column + 3)
        completedAt = row.optionalInteger(column + 4)
        nearbyToldAt = row.optionalInteger(column + 5)
        waitingToldAt = row.optionalInteger(column + 6)
        destinationNearToldAt = row.optionalInteger(column + 7)
        driverName = row.optionalString(column + 8)
        correctedAt = row.optionalInteger(column + 9)
        leftAt = row.optionalInteger(column + 10)
    }
}

extension Row {
    /// - Throws: ``DatabaseError`` of kind `damaged` if the status is unknown.
    func status(_ column: Int32) throws(DatabaseError) -> JobStatus {
        guard let status = JobStatus(rawValue: string(column)) else {
            throw .unreadable("the status '\(string(column))'", doing: sql)
        }
        return status
    }

    /// Reads four columns: status, driver's id, driver's name, version.
    func assignment(_ column: Int32) throws(DatabaseError) -> Assignment {
        let (id, name) = (optionalString(column + 1), optionalString(column + 2))
        return Assignment(
            status: try status(column), driver: id.map { Assignment.Driver(id: Identifier($0), name: name) },
            version: Int(integer(column + 3)))
    }

    /// Reads a number that is stored as JSON text.
    func number(_ column: Int32) -> JSONNumber? { optionalString(column).map(JSONNumber.init) }

    /// Reads two columns: latitude, longitude.
    func coordinates(_ column: Int32) -> Coordinates? {
        guard let latitude = number(column), let longitude = number(column + 1) else { return nil }
        return Coordinates(latitude: latitude, longitude: longitude)
    }
}
