import Access
import JSON
import Primitives

/// Redacts a person's data in the logs and in stored responses.
///
/// A notification can show by ids which person it concerns:
/// - A driver is identified by `driverId` or `driver_id` in the data. If the data has neither member (as in
///   notifications to customers), the driver is the actor, because drivers report their own progress, or the owner of
///   the channel.
/// - A customer is identified by `customerId` in the data, as the owner of the channel, or by the reference of one of
///   the customer's orders in the data or in the channel's name.
///
/// In a notification that concerns the person, the person's fields are cleared, and the known texts (names and
/// addresses) are replaced wherever they occur. Everywhere else, such as in a dispatcher's words to others, whole words
/// are replaced; the fields of other people stay, who may have the same name or address.
///
/// Correlation ids are not used: a dispatcher's tool may send one id with actions that concern different people.
struct Redaction {
    private static let driverFields: [StaticString] = ["driverName", "license_plate"]
    /// Cleared together with a driver's fields. They are words that everybody uses, so they are not searched for elsewhere.
    private static let vehicleFields: [StaticString] = ["vehicle_make", "vehicle_model", "vehicle_color"]
    private static let customerFields: [StaticString] = ["customerName", "pickupAddress", "dropoffAddress"]
    /// The members of a driver's card in a stored response.
    private static let cardFields: [StaticString] = [
        "name", "phoneNumber", "vehicleMake", "vehicleModel", "vehicleColor", "licensePlate",
    ]
    /// The members of an order's address in a batch that identify the customer, or the exact place.
    private static let recipientFields: [StaticString] = [
        "name", "phone", "flatNumber", "street", "landmark", "latitude", "longitude",
    ]
    /// The members of an order in a batch that tell about the customer.
    private static let batchOrderFields: [StaticString] = ["deliveryInstructions", "items"]
    /// Cleared together with a customer's addresses. They are numbers, so they are not searched for elsewhere.
    private static let coordinateFields: [StaticString] = [
        "pickupLatitude", "pickupLongitude", "dropoffLatitude", "dropoffLongitude",
    ]

    private let person: Identity
    private let texts: [String]
    private let search: TextSearch
    /// A customer's bookings.
    var bookings = Bookings([])
    /// The addresses of a customer's open orders.
    var kept: Set<String> = []

    /// - Parameter texts: the person's known names and addresses.
    init(of person: Identity, texts: [String]) {
        self.person = person
        self.texts = texts
        search = TextSearch(texts)
    }

    /// The booking references of a customer's orders.
    struct Bookings {
        /// For each reference: whether all orders with it have ended.
        private let hasEnded: [Identifier: Bool]

        init(_ orders: [(reference: String, isFinal: Bool)]) {
            hasEnded = Dictionary(orders.map { (Identifier($0.reference), $0.isFinal) }) { $0 && $1 }
        }

        /// Nil if no order has the reference.
        func hasEnded(_ reference: String) -> Bool? { hasEnded[Identifier(reference)] }
    }

    // MARK: Notifications

    /// Redacts a notification's data.
    /// - Returns: the redacted data, or nil if nothing changes; and the names and addresses that were cleared and are to
    ///   be replaced elsewhere, but are not among the known texts.
    func redacted(_ row: NotificationTable.RedactionRow) -> (data: [UInt8]?, found: [String]) {
        guard let facts = Facts(row.data) else { return (nil, []) }
        let fields = fields(row, facts)
        if fields.isEmpty { return (redactedForOthers(row, facts), []) }
        let found = facts.personal.filter { field in fields.contains { $0.description == field.name } }.map(\.value)
            .filter { text in !kept.contains(text) && !texts.contains { $0.hasSameBytes(as: text) } }
        let search = found.isEmpty ? search : TextSearch(texts + found)
        return (JSONRedaction.apply(to: row.data, search, JSONRedaction.Rules(cleared: fields)), found)
    }

    /// Redacts the data of a notification that does not concern the person.
    private func redactedForOthers(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> [UInt8]? {
        // Most notifications contain none of the texts. Without escapes, their bytes show it.
        if !row.data.contains(UInt8(ascii: "\\")), search.replacing(in: row.data, wholeWords: true) == nil { return nil }
        let ofDrivers = Self.driverFields + Self.vehicleFields
        var skipped = person.role == .driver ? Self.customerFields : ofDrivers
        if identifiesAnother(row, facts) { skipped += person.role == .driver ? ofDrivers : Self.customerFields }
        return JSONRedaction.apply(to: row.data, search, JSONRedaction.Rules(skipped: skipped, wholeWords: true))
    }

    /// Whether ids show another person of the same role, whose fields the data then contains.
    private func identifiesAnother(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> Bool {
        let channels = person.role == .driver ? ["driver-"] : ["customer-", "booking-", "tracking-"]
        if channels.contains(where: { row.channel.utf8.starts(with: $0.utf8) }) { return true }
        return person.role == .driver
            ? facts.driverID != nil || row.actor.utf8.starts(with: "driver:".utf8)
            : facts.customerID != nil || !facts.references.isEmpty
    }

    /// The members to set to null; empty if the notification does not concern the person.
    private func fields(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> [StaticString] {
        let isOwnChannel = row.channel.hasSameBytes(as: person.channel)
        switch person.role {
        case .driver:
            let concernsPerson =
                facts.driverID.map { $0.hasSameBytes(as: person.id) } ?? (isOwnChannel || row.actor.hasSameBytes(as: person.key))
            return concernsPerson ? Self.driverFields + Self.vehicleFields : []
        case .customer:
            if let id = facts.customerID {
                return id.hasSameBytes(as: person.id) ? Self.customerFields(hasEnded: hasEnded(row, facts) ?? false) : []
            }
            let hasEnded = hasEnded(row, facts)
            return isOwnChannel || hasEnded != nil ? Self.customerFields(hasEnded: hasEnded ?? false) : []
        case .admin, .ops: return []
        }
    }

    /// The members to set to null in a customer's data. Addresses and coordinates stay until the order has ended,
    /// because the driver needs them.
    private static func customerFields(hasEnded: Bool) -> [StaticString] {
        hasEnded ? customerFields + coordinateFields : ["customerName"]
    }

    /// Whether the booking of a notification has ended; nil if the booking is not one of the customer's.
    private func hasEnded(_ row: NotificationTable.RedactionRow, _ facts: Facts) -> Bool? {
        let prefixes = ["booking-", "tracking-"].filter { row.channel.utf8.starts(with: $0.utf8) }
        let ofChannel = prefixes.map { String(Substring(row.channel.utf8.dropFirst($0.utf8.count))) }
        return (facts.references + ofChannel).lazy.compactMap(bookings.hasEnded).first
    }

    // MARK: Other texts

    /// Redacts a stored response. Each order and route in the response contains the id of its driver, each order that of
    /// its customer, and each driver's card the driver's own. An order in a batch may have no id of its customer: it and its
    /// address are recognised by the customer's name or phone. The addresses and coordinates of open orders are cleared, too:
    /// a driver's app does not navigate by a stored response.
    /// - Returns: the redacted response; nil if nothing changes.
    func redacted(response: [UInt8]) -> [UInt8]? {
        let (person, texts) = (person, texts)
        let skipped = Self.driverFields + Self.customerFields + Self.cardFields
        let rules = JSONRedaction.Rules(skipped: skipped, wholeWords: true) { try Self.fields(of: person, texts, in: $0) }
        return JSONRedaction.apply(to: response, search, rules)
    }

    /// The members to set to null in an order, a route, a driver's card or an address.
    private static func fields(
        of person: Identity, _ texts: [String], in object: UnsafeRawBufferPointer
    ) throws -> [StaticString] {
        if person.role == .customer, try isAddress(of: texts, object) { return recipientFields }
        var (isPersons, hasID, isCard, isForPerson) = (false, false, false, false)
        try JSONReader.object(object) { key, value in
            let isSame = value.string?.hasSameBytes(as: person.id) ?? false
            if key.equals(person.role == .driver ? "driverId" : "customerId") {
                isPersons = isSame
            } else if key.equals("id") {
                hasID = isSame
            } else if key.equals("licensePlate") {
                isCard = true
            } else if key.equals("deliveryAddress"), value.kind == .object {
                isForPerson = try isAddress(of: texts, value.raw)
            }
        }
        guard person.role == .driver else {
            let ofBatchOrder = isPersons || isForPerson ? batchOrderFields : []
            return (isPersons ? customerFields(hasEnded: true) : []) + ofBatchOrder
        }
        return isPersons ? driverFields : hasID && isCard ? cardFields : []
    }

    /// Whether an object is the address of an order in a batch with one of these names or phone numbers.
    private static func isAddress(of texts: [String], _ object: UnsafeRawBufferPointer) throws -> Bool {
        var (isAddress, isRecipient) = (false, false)
        try JSONReader.object(object) { key, value in
            if key.equals("flatNumber") {
                isAddress = true
            } else if key.equals("name") || key.equals("phone"), let text = value.string {
                isRecipient = isRecipient || texts.contains { $0.hasSameBytes(as: text) }
            }
        }
        return isAddress && isRecipient
    }

    /// Redacts the details of other people's reports: of an audit entry or a notification's step.
    /// - Returns: the redacted object; nil if nothing changes.
    func redacted(details: [UInt8]) -> [UInt8]? {
        JSONRedaction.apply(to: details, search, JSONRedaction.Rules(wholeWords: true))
    }

    /// Redacts a dispatcher's words.
    /// - Returns: nil if nothing changes.
    func redacted(text: String) -> String? {
        search.replacing(in: Array(text.utf8), wholeWords: true).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The members of a notification's data that show which people it concerns.
    private struct Facts {
        private(set) var driverID: String?
        private(set) var customerID: String?
        private(set) var references: [String] = []
        /// The values of the members that may have to be cleared.
        private(set) var personal: [(name: String, value: String)] = []

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
            guard let text = value.string else { return }
            if key.equals("driverId") || key.equals("driver_id") {
                driverID = text
            } else if key.equals("customerId") {
                customerID = text
            } else if key.equals("bookingReference") || key.equals("orderRef") || key.equals("reference") {
                references.append(text)
            } else if let field = (driverFields + customerFields).first(where: key.equals) {
                personal.append((field.description, text))
            }
        }
    }
}
