import Access
import JSON
import Primitives

/// Takes somebody out of what notifications say.
///
/// Whose name a notification bears, it says itself or not at all. A driver's: `driverId` or `driver_id` beside it; without
/// them (what customers hear of their job) who caused it, for drivers report what they do; or the channel, if it is his own.
/// A customer's: `customerId` beside it, the channel, or the booking: a reference of one of his orders, in the data or in
/// the channel's name. Correlation ids would tell less: a dispatcher's tool may give many deeds the same.
struct Redaction {
    private let person: Identity
    /// What he was called, beside what a notification itself says.
    private let names: [String]
    /// References of a customer's orders, and whether all of a reference's orders are over.
    private let bookings: [Identifier: Bool]

    init(of person: Identity, named names: [String], bookings: [(reference: String, isFinal: Bool)]) {
        self.person = person
        self.names = names
        self.bookings = Dictionary(bookings.map { (Identifier($0.reference), $0.isFinal) }) { $0 && $1 }
    }

    /// The data without him; nil when there is nothing to take out.
    func redacted(_ passage: NotificationTable.RedactionRow) -> [UInt8]? {
        guard let facts = Facts(passage.data) else { return nil }
        let fields = fields(passage, facts)
        if fields.isEmpty { return nil }
        let name = person.role == .driver ? facts.driverName : facts.customerName
        return NameRedaction.apply(to: passage.data, clearing: fields, names: names + (name.map { [$0] } ?? []))
    }

    /// A stored answer without him: each order and route in it says whose it is. Its addresses go, too, for nobody finds his
    /// way by an answer that is given again. Nil when there is nothing to take out.
    func redacted(answer: [UInt8]) -> [UInt8]? {
        let (id, role) = (person.id, person.role)
        return NameRedaction.apply(to: answer, clearing: [], names: []) { object in
            var isHis = false
            try JSONReader.object(object) { key, value in
                guard key.equals(role == .driver ? "driverId" : "customerId") else { return }
                isHis = value.string?.isSame(as: id) ?? false
            }
            return !isHis ? [] : role == .driver ? ["driverName"] : Self.all(true)
        }
    }

    private func fields(_ passage: NotificationTable.RedactionRow, _ facts: Facts) -> [StaticString] {
        let isOwn = passage.channel.isSame(as: person.channel)
        switch person.role {
        case .driver:
            let isHis = facts.driverID.map { $0.isSame(as: person.id) } ?? (isOwn || passage.actor.isSame(as: person.key))
            return isHis ? ["driverName"] : []
        case .customer:
            if let id = facts.customerID { return id.isSame(as: person.id) ? Self.all(isOver(passage, facts) ?? false) : [] }
            let isOver = isOver(passage, facts)
            return isOwn || isOver != nil ? Self.all(isOver ?? false) : []
        case .admin, .ops: return []
        }
    }

    private static func all(_ isOver: Bool) -> [StaticString] {
        isOver ? ["customerName", "pickupAddress", "dropoffAddress"] : ["customerName"]
    }

    /// Whether the booking that a notification is about is over; nil when it is none of his.
    private func isOver(_ passage: NotificationTable.RedactionRow, _ facts: Facts) -> Bool? {
        let prefixes = ["booking-", "tracking-"].filter { passage.channel.utf8.starts(with: $0.utf8) }
        let ofChannel = prefixes.map { String(Substring(passage.channel.utf8.dropFirst($0.utf8.count))) }
        return (facts.references + ofChannel).lazy.compactMap { bookings[Identifier($0)] }.first
    }

    /// What the members of a notification's data tell of whom it concerns.
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
                return nil  // what admins word is JSON too, so nobody wrote this
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
