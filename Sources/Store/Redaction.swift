import FleetRules
import PusherProtocol

/// Takes somebody out of what notifications say.
///
/// Whose name a notification bears, it says itself or not at all. A driver's: `driverId` or `driver_id` beside it; without
/// them (what customers hear of their job) who caused it, for drivers report what they do; or the channel, if it is his own.
/// A customer's: `customerId` beside it, the channel, or the booking: a reference of one of his orders, in the data or in
/// the channel's name. Correlation ids would tell less: a dispatcher's tool may give many deeds the same.
struct Redaction {
    private let person: Identity
    /// References of a customer's orders, and whether all of a reference's orders are over.
    private let bookings: [UserID: Bool]

    init(of person: Identity, bookings: [(reference: String, isFinal: Bool)]) {
        self.person = person
        self.bookings = Dictionary(bookings.map { (UserID($0.reference), $0.isFinal) }) { $0 && $1 }
    }

    /// The data without him; nil when there is nothing to take out.
    func redacted(_ passage: NotificationTable.Passage) -> [UInt8]? {
        guard let facts = Facts(passage.data) else { return nil }
        let fields = fields(passage, facts)
        return fields.isEmpty || !facts.hasAny(of: fields) ? nil : Self.clear(fields, in: passage.data)
    }

    private func fields(_ passage: NotificationTable.Passage, _ facts: Facts) -> [StaticString] {
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
    private func isOver(_ passage: NotificationTable.Passage, _ facts: Facts) -> Bool? {
        let prefixes = ["booking-", "tracking-"].filter { passage.channel.utf8.starts(with: $0.utf8) }
        let ofChannel = prefixes.map { String(Substring(passage.channel.utf8.dropFirst($0.utf8.count))) }
        return (facts.references + ofChannel).lazy.compactMap { bookings[UserID($0)] }.first
    }

    /// What the members of a notification's data tell of whom it concerns.
    private struct Facts {
        private(set) var driverID: String?
        private(set) var customerID: String?
        private(set) var references: [String] = []
        private var filled: [[UInt8]] = []

        init?(_ data: [UInt8]) {
            do {
                try data.withUnsafeBytes { bytes in
                    try JSONReader.object(bytes) { key, value in note(key, value) }
                }
            } catch {
                return nil  // what admins word is JSON too, so nobody wrote this
            }
        }

        private mutating func note(_ key: JSONSlice, _ value: JSONSlice) {
            guard value.kind != .null else { return }
            if key.equals("driverId") || key.equals("driver_id") {
                driverID = value.string
            } else if key.equals("customerId") {
                customerID = value.string
            } else if key.equals("bookingReference") || key.equals("orderRef") || key.equals("reference") {
                if let reference = value.string { references.append(reference) }
            } else if let name = key.string {
                filled.append(Array(name.utf8))
            }
        }

        /// Whether one of them is there, and is not null.
        func hasAny(of fields: [StaticString]) -> Bool {
            fields.contains { field in filled.contains { $0.elementsEqual(field.description.utf8) } }
        }
    }

    /// The object with null for these members.
    private static func clear(_ fields: [StaticString], in data: [UInt8]) -> [UInt8]? {
        var json = JSONWriter(capacity: data.count)
        json.raw("{")
        var isFirst = true
        do {
            try data.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { key, value in
                    if !isFirst { json.raw(",") }
                    isFirst = false
                    json.raw(key.raw)
                    json.raw(":")
                    if fields.contains(where: key.equals) { json.raw("null") } else { json.raw(value.raw) }
                }
            }
        } catch {
            return nil
        }
        json.raw("}")
        return json.bytes
    }
}
