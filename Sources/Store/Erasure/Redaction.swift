import Access
import JSON
import Primitives

/// Redacts a person's data in notifications and stored responses.
///
/// A notification that contains a person's name also shows who the person is:
/// - A driver is identified by `driverId` or `driver_id` in the data. If the data has neither member (as in
///   notifications to customers), the driver is the actor, because drivers report their own progress, or the owner of
///   the channel.
/// - A customer is identified by `customerId` in the data, as the owner of the channel, or by the reference of one of
///   the customer's orders in the data or in the channel's name.
///
/// Correlation ids are not used: a dispatcher's tool may send one id with actions that concern different people.
struct Redaction {
    private let person: Identity
    /// The person's known names. A notification is redacted with these names and with the name that it contains itself.
    private let names: [String]
    /// For each booking reference of the customer's orders: whether all orders with this reference have ended.
    private let bookings: [Identifier: Bool]

    init(of person: Identity, named names: [String], bookings: [(reference: String, isFinal: Bool)]) {
        self.person = person
        self.names = names
        self.bookings = Dictionary(bookings.map { (Identifier($0.reference), $0.isFinal) }) { $0 && $1 }
    }

    /// - Returns: the redacted data; nil if nothing changes.
    func redacted(_ row: NotificationTable.RedactionRow) -> [UInt8]? {
        guard let facts = Facts(row.data) else { return nil }
        let fields = fields(row, facts)
        if fields.isEmpty { return nil }
        let name = person.role == .driver ? facts.driverName : facts.customerName
        return NameRedaction.apply(to: row.data, clearing: fields, names: names + (name.map { [$0] } ?? []))
    }

    /// Redacts a stored response. Each order and route in the response contains the id of its driver, and each order
    /// that of its customer. The addresses of open orders are cleared, too: a stored response is not what the driver's
    /// app navigates by.
    /// - Returns: the redacted response; nil if nothing changes.
    func redacted(response: [UInt8]) -> [UInt8]? {
        let (id, role) = (person.id, person.role)
        return NameRedaction.apply(to: response, clearing: [], names: []) { object in
            var concernsPerson = false
            try JSONReader.object(object) { key, value in
                guard key.equals(role == .driver ? "driverId" : "customerId") else { return }
                concernsPerson = value.string?.isSame(as: id) ?? false
            }
            return !concernsPerson ? [] : role == .driver ? ["driverName"] : Self.customerFields(hasEnded: true)
        }
    }

    /// The members to set to null; empty if the notification does not concern the person.
    private func fields(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> [StaticString] {
        let isOwnChannel = row.channel.isSame(as: person.channel)
        switch person.role {
        case .driver:
            let concernsPerson =
                facts.driverID.map { $0.isSame(as: person.id) } ?? (isOwnChannel || row.actor.isSame(as: person.key))
            return concernsPerson ? ["driverName"] : []
        case .customer:
            if let id = facts.customerID {
                return id.isSame(as: person.id) ? Self.customerFields(hasEnded: hasEnded(row, facts) ?? false) : []
            }
            let hasEnded = hasEnded(row, facts)
            return isOwnChannel || hasEnded != nil ? Self.customerFields(hasEnded: hasEnded ?? false) : []
        case .admin, .ops: return []
        }
    }

    /// The members to set to null in a customer's data. Addresses stay until the order has ended, because the driver
    /// needs them.
    private static func customerFields(hasEnded: Bool) -> [StaticString] {
        hasEnded ? ["customerName", "pickupAddress", "dropoffAddress"] : ["customerName"]
    }

    /// Whether the booking of a notification has ended; nil if the booking is not one of the customer's.
    private func hasEnded(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> Bool? {
        let prefixes = ["booking-", "tracking-"].filter { row.channel.utf8.starts(with: $0.utf8) }
        let ofChannel = prefixes.map { String(Substring(row.channel.utf8.dropFirst($0.utf8.count))) }
        return (facts.references + ofChannel).lazy.compactMap { bookings[Identifier($0)] }.first
    }

    /// The members of a notification's data that show which people it concerns.
    private struct Facts {
        private(set) var driverID: String?
        private(set) var customerID: String?
        private(set) var driverName: String?
        private(set) var customerName: String?
        private(set) var references: [String] = []

        init?(_ data: [UInt8]) {
            do {
                try data.withUnsafeBytes { bytes in
                    try JSONReader.object(bytes) { key, value in add(key, value) }
                }
            } catch {
                return nil  // does not occur: the data of every notification, also of announcements, is a JSON object
            }
        }

        private mutating func add(_ key: JSONSlice, _ value: JSONSlice) {
            guard value.kind != .null else { return }
            if key.equals("driverId") || key.equals("driver_id") {
                driverID = value.string
            } else if key.equals("customerId") {
                customerID = value.string
            } else if key.equals("bookingReference") || key.equals("orderRef") || key.equals("reference") {
                if let reference = value.string { references.append(reference) }
            } else if key.equals("driverName") {
                driverName = value.string
            } else if key.equals("customerName") {
                customerName = value.string
            }
        }
    }
}
