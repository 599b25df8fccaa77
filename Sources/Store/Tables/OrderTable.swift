import Access
import FleetRules
import JSON

/// The orders, as they were last decided.
struct OrderTable {
    private static let columns = """
        code, status, driver_id, driver_name, version, booking_id, booking_reference, customer_id, customer_name, \
        pickup_address, dropoff_address, scheduled_at, total_gbp
        """

    private let selectCode: Statement
    private let selectBooking: Statement
    private let selectOpen: Statement
    private let selectDriver: Statement
    private let upsert: Statement
    private let deleteFinal: Statement
    private let clearDriver: Statement
    private let clearCustomer: Statement
    private let clearAddresses: Statement
    private let selectCustomer: Statement
    private let selectDriverNames: Statement
    private let selectCustomerNames: Statement
    private let hasOpenOfDriver: Statement
    private let hasOpenOfCustomer: Statement
    private let hasRest: Statement

    init(_ database: Database) throws(DatabaseError) {
        let select = "SELECT \(Self.columns), created_at FROM orders"
        selectCode = try Statement("\(select) WHERE code = ?", on: database)
        // Several orders may be of one booking: his own comes first, then what is open, then what is newest.
        selectBooking = try Statement(
            """
            \(select) WHERE booking_id = ? ORDER BY CASE WHEN driver_id = ? THEN 0 ELSE 1 END, \
            CASE WHEN status IN ('completed', 'cancelled') THEN 1 ELSE 0 END, \
            created_at DESC, code DESC LIMIT 1
            """, on: database)
        let open = "status NOT IN ('completed', 'cancelled') ORDER BY created_at, code"
        selectOpen = try Statement("\(select) WHERE \(open)", on: database)
        selectDriver = try Statement("\(select) WHERE driver_id = ? AND \(open)", on: database)
        upsert = try Statement(Self.upsert, on: database)
        deleteFinal = try Statement(
            """
            DELETE FROM orders WHERE code IN (SELECT code FROM orders WHERE status IN ('completed', 'cancelled') \
            AND updated_at < ? ORDER BY updated_at LIMIT ?)
            """, on: database)
        clearDriver = try Statement(Self.clearDriver, on: database)
        clearCustomer = try Statement(
            "UPDATE orders SET customer_name = NULL WHERE customer_id = ? AND customer_name IS NOT NULL", on: database)
        clearAddresses = try Statement(
            """
            UPDATE orders SET pickup_address = NULL, dropoff_address = NULL WHERE customer_id = ? \
            AND status IN ('completed', 'cancelled')
            """, on: database)
        selectCustomer = try Statement(Self.ofCustomer, on: database)
        selectDriverNames = try Statement(
            "SELECT DISTINCT driver_name FROM orders WHERE driver_id = ? AND driver_name IS NOT NULL", on: database)
        selectCustomerNames = try Statement(
            "SELECT DISTINCT customer_name FROM orders WHERE customer_id = ? AND customer_name IS NOT NULL", on: database)
        let hasOpen = "created_at <= ? AND status NOT IN ('completed', 'cancelled') LIMIT 1"
        hasOpenOfDriver = try Statement("SELECT 1 FROM orders WHERE driver_id = ? AND \(hasOpen)", on: database)
        hasOpenOfCustomer = try Statement("SELECT 1 FROM orders WHERE customer_id = ? AND \(hasOpen)", on: database)
        hasRest = try Statement(
            """
            SELECT 1 FROM orders WHERE customer_id = ? AND created_at <= ? AND status IN ('completed', 'cancelled') \
            AND COALESCE(customer_name, pickup_address, dropoff_address) IS NOT NULL LIMIT 1
            """, on: database)
    }

    static let clearDriver = "UPDATE orders SET driver_name = NULL WHERE driver_id = ? AND driver_name IS NOT NULL"
    static let ofCustomer = "SELECT COALESCE(booking_reference, code), status FROM orders WHERE customer_id = ?"

    private static let upsert = """
        INSERT INTO orders (\(columns), created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
        ON CONFLICT (code) DO UPDATE SET status = excluded.status, driver_id = excluded.driver_id, \
        driver_name = excluded.driver_name, version = excluded.version, booking_id = excluded.booking_id, \
        booking_reference = excluded.booking_reference, customer_id = excluded.customer_id, \
        customer_name = excluded.customer_name, pickup_address = excluded.pickup_address, \
        dropoff_address = excluded.dropoff_address, scheduled_at = excluded.scheduled_at, \
        total_gbp = excluded.total_gbp, updated_at = excluded.updated_at
        """

    func order(code: String) throws(DatabaseError) -> Order? {
        try selectCode.first(.string(code)) { row throws(DatabaseError) in try Self.order(row) }
    }

    /// A driver's app knows a job by its order's code or by its booking; a code wins.
    func order(job id: String, driverID: String) throws(DatabaseError) -> Order? {
        if let order = try order(code: id) { return order }
        return try selectBooking.first(.string(id), .string(driverID)) { row throws(DatabaseError) in try Self.order(row) }
    }

    /// Those that may still change, oldest first.
    func eachOpen(_ each: (Order) -> Void) throws(DatabaseError) {
        try selectOpen.each { row throws(DatabaseError) in each(try Self.order(row)) }
    }

    /// A driver's open ones with the time they became known, oldest first.
    func open(driverID: String) throws(DatabaseError) -> [(order: Order, createdAt: Int64)] {
        try selectDriver.all(.string(driverID)) { row throws(DatabaseError) in (try Self.order(row), row.integer(13)) }
    }

    func store(_ order: Order, now: Int64) throws(DatabaseError) {
        try upsert.run(
            .string(order.code), .string(order.status.rawValue), .string(order.driverID), .string(order.driverName),
            .integer(order.version), .string(order.bookingID), .string(order.bookingReference), .string(order.customerID),
            .string(order.customerName), .string(order.pickupAddress), .string(order.dropoffAddress),
            .string(order.scheduledAt), .string(order.totalGBP?.text), .integer(now), .integer(now))
    }

    /// Forgets those that are over and untouched since `cutoff`; answers how many.
    func deleteExpired(before cutoff: Int64, most: Int) throws(DatabaseError) -> Int {
        try deleteFinal.change(.integer(cutoff), .integer(most))
    }

    // MARK: Erasing

    /// Forgets a driver's name; answers in how many orders it was.
    func clearName(ofDriver id: String) throws(DatabaseError) -> Int { try clearDriver.change(.string(id)) }

    /// Forgets a customer's name, and the addresses of what is over; answers in how many orders the name was.
    func clearName(ofCustomer id: String) throws(DatabaseError) -> Int {
        let count = try clearCustomer.change(.string(id))
        try clearAddresses.run(.string(id))
        return count
    }

    func names(of person: Identity) throws(DatabaseError) -> [String] {
        let select = person.role == .driver ? selectDriverNames : selectCustomerNames
        return try select.all(.string(person.id)) { row throws(DatabaseError) in row.string(0) }
    }

    /// Whether something of his that was there at a moment is still open.
    func hasOpen(of person: Identity, since moment: Int64) throws(DatabaseError) -> Bool {
        let select = person.role == .driver ? hasOpenOfDriver : hasOpenOfCustomer
        return try select.first(.string(person.id), .integer(moment)) { _ throws(DatabaseError) in true } ?? false
    }

    /// Whether something of a customer's that was there at a moment is over and still tells of him.
    func hasRest(ofCustomer id: String, since moment: Int64) throws(DatabaseError) -> Bool {
        try hasRest.first(.string(id), .integer(moment)) { _ throws(DatabaseError) in true } ?? false
    }

    /// The references of a customer's orders, and whether each is over.
    func references(ofCustomer id: String) throws(DatabaseError) -> [(reference: String, isFinal: Bool)] {
        try selectCustomer.all(.string(id)) { row throws(DatabaseError) in (row.string(0), try row.status(1).isFinal) }
    }

    private static func order(_ row: Row) throws(DatabaseError) -> Order {
        var order = Order(code: row.string(0))
        order.status = try row.status(1)
        order.driverID = row.optionalString(2)
        order.driverName = row.optionalString(3)
        order.version = Int(row.integer(4))
        order.bookingID = row.optionalString(5)
        order.bookingReference = row.optionalString(6)
        order.customerID = row.optionalString(7)
        order.customerName = row.optionalString(8)
        order.pickupAddress = row.optionalString(9)
        order.dropoffAddress = row.optionalString(10)
        order.scheduledAt = row.optionalString(11)
        order.totalGBP = row.number(12)
        return order
    }
}

extension Row {
    func status(_ column: Int32) throws(DatabaseError) -> JobStatus {
        guard let status = JobStatus(rawValue: string(column)) else {
            throw .misread("the status '\(string(column))'", doing: sql)
        }
        return status
    }

    func optionalStatus(_ column: Int32) throws(DatabaseError) -> JobStatus? { isNull(column) ? nil : try status(column) }

    func number(_ column: Int32) -> JSONNumber? { optionalString(column).map(JSONNumber.init) }
}
