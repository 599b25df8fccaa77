import JSON
import Primitives
import PusherAPI

/// Parses the bodies of requests that change batches of orders, from admins.
extension JSONBody {
    /// The longest batch number and the longest name of a zone, in Unicode scalars: they are parts of events.
    private static let labelMax = 100
    /// The longest of the other texts.
    private static let textMax = 500
    private static let itemsMax = 100

    func batchEdits() throws(APIError) -> BatchEdits {
        var edits = BatchEdits()
        edits.batchNumber = try bounded("batchNumber", Self.labelMax)
        edits.mealWindow = try word("mealWindow")
        edits.windowEndTime = try milliseconds("windowEndTime")
        edits.estimatedEarnings = try number("estimatedEarnings")
        edits.kitchen = try nested("kitchen") { body throws(APIError) in try body.kitchen() }
        edits.zone = try nested("zone") { body throws(APIError) in try body.zone() }
        guard has("orders") else { return edits }
        guard self["orders"] != nil else { throw invalid("orders", "be an array") }
        edits.orders = try objects("orders", most: BatchEdits.ordersMax) { body throws(APIError) in
            try body.editedOrder()
        }
        return edits
    }

    private func kitchen() throws(APIError) -> Kitchen {
        var kitchen = Kitchen(id: try requiredID("_id"))
        kitchen.name = try boundedName("name", Self.textMax).value
        kitchen.phone = try bounded("phone", Self.textMax).value
        let address: Change<KitchenAddress> = try nested("address") { body throws(APIError) in try body.address() }
        if let address = address.value { kitchen.address = address }
        return kitchen
    }

    private func address<Address: PostalAddress>() throws(APIError) -> Address {
        var address = Address()
        for (name, path) in Address.texts {
            let name = name.description
            let text = name == "name" ? try boundedName(name, Self.textMax) : try bounded(name, Self.textMax)
            address[keyPath: path] = text.value
        }
        address.latitude = try degrees("latitude", max: 90).value
        address.longitude = try degrees("longitude", max: 180).value
        return address
    }

    private func zone() throws(APIError) -> Zone {
        var zone = Zone(id: try requiredID("_id"))
        zone.name = try boundedName("name", Self.labelMax).value
        zone.city = try bounded("city", Self.textMax).value
        return zone
    }

    private func editedOrder() throws(APIError) -> EditedOrder {
        let id = try requiredID("_id")
        guard let number = try bounded("orderNumber", Self.labelMax).value else { throw missing("orderNumber", "a string") }
        var order = EditedOrder(id: id, orderNumber: number)
        let address: Change<DeliveryAddress> = try nested("deliveryAddress") { body throws(APIError) in try body.address() }
        if let address = address.value { order.address = address }
        order.address.instructions = try bounded("deliveryInstructions", Self.textMax).value
        order.items = try objects("items", most: Self.itemsMax) { body throws(APIError) in try body.item() }
        if let digits = try text("deliveryOtp").value {
            guard digits.isDeliveryOTP else { throw invalid("deliveryOtp", "be 4 digits") }
            order.otp = .digits(digits)
        }
        order.sequenceNumber = try sequenceNumber()
        order.customerID = try name("customerId").value
        return order
    }

    private func item() throws(APIError) -> OrderItem {
        guard let id = try bounded("menuItemId", Self.labelMax).value else { throw missing("menuItemId", "a string") }
        var item = OrderItem(menuItemID: id)
        item.name = try boundedName("name", Self.textMax).value
        item.quantity = try number("quantity").value
        item.price = try number("price").value
        return item
    }

    /// `by` of a cancellation: who wants it.
    func cancellingParty() throws(APIError) -> OrderCancellation.Party {
        try word("by").value ?? .admin
    }

    // MARK: Members

    private func sequenceNumber() throws(APIError) -> Int? {
        guard let value = self["sequenceNumber"] else { return nil }
        guard let number = value.integer else { throw invalid("sequenceNumber", "be an integer") }
        return number
    }

    /// A text of 1 to `most` Unicode scalars.
    private func bounded(_ name: String, _ most: Int) throws(APIError) -> Change<String> {
        try bounded(try text(name), name, most)
    }

    /// The same for a name of a person or a thing.
    private func boundedName(_ name: String, _ most: Int) throws(APIError) -> Change<String> {
        try bounded(try displayText(name), name, most)
    }

    private func bounded(_ change: Change<String>, _ name: String, _ most: Int) throws(APIError) -> Change<String> {
        if let text = change.value, !(1...most).contains(text.unicodeScalars.count) {
            throw invalid(name, "have 1 to \(most) characters")
        }
        return change
    }

    /// One of an enumeration's words.
    private func word<Word: CaseIterable & RawRepresentable<String> & Equatable & Sendable>(
        _ name: String
    ) throws(APIError) -> Change<Word> {
        switch try text(name) {
        case .keep: return .keep
        case .clear: return .clear
        case .set(let text):
            guard let word = Word(word: text) else {
                throw invalid(name, "be one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return .set(word)
        }
    }

    private func milliseconds(_ name: String) throws(APIError) -> Change<Int64> {
        switch try time(name) {
        case .keep: .keep
        case .clear: .clear
        // `time` has checked it.
        case .set(let text): .set(Timestamp.milliseconds(iso8601: text) ?? 0)
        }
    }

    private func requiredID(_ name: String) throws(APIError) -> ObjectID {
        guard let text = try text(name).value else { throw missing(name, "an id of 24 hexadecimal digits") }
        guard let id = ObjectID(text) else { throw invalid(name, "be 24 lower-case hexadecimal digits") }
        return id
    }

    /// A member that is an object.
    private func nested<Value>(
        _ name: String, _ read: (JSONBody) throws(APIError) -> Value
    ) throws(APIError) -> Change<Value> {
        guard has(name) else { return .keep }
        guard let bytes = try object(name) else { return .clear }
        return .set(try read(try JSONBody(bytes, of: label(name))))
    }

    /// A member that is an array of objects; empty if absent or null.
    private func objects<Value>(
        _ name: String, most: Int, _ read: (JSONBody) throws(APIError) -> Value
    ) throws(APIError) -> [Value] {
        guard let value = self[name] else { return [] }
        guard value.kind == .array else { throw invalid(name, "be an array") }
        var elements: [JSONSlice] = []
        try APIError.mappingJSONErrors { try JSONReader.array(value.raw) { elements.append($0) } }
        guard elements.count <= most else { throw invalid(name, "contain at most \(most) elements; found \(elements.count)") }
        var values: [Value] = []
        for (index, element) in elements.enumerated() {
            let path = "\(label(name))[\(index)]"
            guard element.kind == .object else { throw .invalid(path, "be an object") }
            values.append(try read(try JSONBody(element.raw, of: path)))
        }
        return values
    }
}
