import Fleet
import JSON
import PusherAPI
import Testing

/// The fields of a batch of orders in a dispatcher's request (`PUT /api/admin/batches/{batchId}`).
@Suite struct BatchFieldsTests {
    private static let id = "0123456789abcdef01234567"
    private static let order = #""_id":"\#(id)","orderNumber":"O-1""#

    /// Batches exist while accounts do.
    private let router = Router(
        apps: [.example()], metricsToken: "",
        fleet: .example(
            [.example()], issuers: [FleetCall.issuer], accounts: AccountCheck(countryCode: "+91", entry: { _ in nil })))

    private func call(_ body: String) -> FleetCall { FleetCall(.put, "/api/admin/batches/\(Self.id)", body) }

    private func edits(_ body: String) -> BatchEdits? {
        guard case .command(let command)? = call(body).apiAction(router).ofFleet,
            case .batch(.edit(_, let edits)) = command.action
        else { return nil }
        return edits
    }

    @Test("fields that are absent are kept, null clears") func keepAndClear() throws {
        #expect(edits("{}") == BatchEdits())
        let names = ["batchNumber", "mealWindow", "windowEndTime", "estimatedEarnings", "kitchen", "zone"]
        let body = "{" + names.map { #""\#($0)":null"# }.joined(separator: ",") + "}"
        let cleared = try #require(self.edits(body))
        #expect(cleared.batchNumber == .clear && cleared.mealWindow == .clear && cleared.windowEndTime == .clear)
        #expect(cleared.estimatedEarnings == .clear && cleared.kitchen == .clear && cleared.zone == .clear)
        #expect(cleared.orders == nil)
    }

    @Test("all fields are read") func allFields() throws {
        let address = #"{"name":"A","phone":"1","flatNumber":"2","street":"S","area":"N","latitude":90,"longitude":-180}"#
        let item = #"{"menuItemId":"m","name":"Soup","quantity":2,"price":4.50}"#
        let body = """
            {"batchNumber":"B-1","mealWindow":"LUNCH","windowEndTime":"2026-11-28T12:00:00Z","estimatedEarnings":12.50,
            "kitchen":{"_id":"\(Self.id)","name":"K","phone":"3","address":{"street":"T"}},
            "zone":{"_id":"\(Self.id)","name":"Z","city":"Y"},
            "orders":[{\(Self.order),"deliveryAddress":\(address),"items":[\(item)],"deliveryOtp":"0042","sequenceNumber":2,
            "customerId":"c1","deliveryInstructions":"second bell"}]}
            """
        let edits = try #require(self.edits(body))
        #expect(edits.batchNumber == .set("B-1") && edits.mealWindow == .set(.lunch))
        #expect(edits.windowEndTime == .set(1_795_867_200_000))
        #expect(edits.estimatedEarnings == .set(JSONNumber(text: "12.50")))
        var (kitchen, zone): (Kitchen?, Zone?) = (nil, nil)
        edits.kitchen.apply(to: &kitchen)
        edits.zone.apply(to: &zone)
        #expect(kitchen?.id.text == Self.id && kitchen?.name == "K" && kitchen?.phone == "3" && kitchen?.address.street == "T")
        #expect(zone?.id.text == Self.id && zone?.name == "Z" && zone?.city == "Y")
        let order = try #require(edits.orders?.first)
        #expect(order.id.text == Self.id && order.orderNumber == "O-1" && order.sequenceNumber == 2 && order.customerID == "c1")
        #expect(order.otp == .digits("0042"))
        var wanted = DeliveryAddress()
        (wanted.name, wanted.phone, wanted.flatNumber, wanted.street, wanted.area) = ("A", "1", "2", "S", "N")
        wanted.instructions = "second bell"
        (wanted.latitude, wanted.longitude) = (JSONNumber(text: "90"), JSONNumber(text: "-180"))
        #expect(order.address == wanted)
        var soup = OrderItem(menuItemID: "m")
        (soup.name, soup.quantity, soup.price) = ("Soup", JSONNumber(text: "2"), JSONNumber(text: "4.50"))
        #expect(order.items == [soup])
    }

    /// Each row: a member, and the beginning of the error.
    private static let invalid: [(member: String, problem: String)] = [
        (#""mealWindow":"BRUNCH""#, #"Expected "mealWindow" to be one of "#), (#""mealWindow":1"#, #"Expected "mealWindow""#),
        (#""windowEndTime":"tomorrow""#, #"Expected "windowEndTime""#), (#""windowEndTime":5"#, #"Expected "windowEndTime""#),
        (#""estimatedEarnings":"1""#, #"Expected "estimatedEarnings" to be a number"#),
        (#""estimatedEarnings":1e400"#, #"Expected "estimatedEarnings""#),
        (#""batchNumber":5"#, #"Expected "batchNumber""#),
        (#""orders":[{\#(order),"deliveryInstructions":5}]"#, #"Expected "orders[0].deliveryInstructions" to be a string"#),
        (#""batchNumber":"""#, #"Expected "batchNumber" to have 1 to 100 characters"#),
        (#""batchNumber":"\#(String(repeating: "ü", count: 101))""#, #"Expected "batchNumber" to have 1 to 100 characters"#),
        (#""kitchen":{"_id":"k"}"#, #"Expected "kitchen._id" to be 24 lower-case hexadecimal digits"#),
        (#""kitchen":{}"#, #"Expected "kitchen._id": an id of 24 hexadecimal digits is required"#),
        (#""kitchen":[]"#, #"Expected "kitchen""#),
        (#""zone":{"_id":"\#(String(repeating: "Z", count: 24))"}"#, #"Expected "zone._id""#),
        (#""orders":{}"#, #"Expected "orders" to be an array"#), (#""orders":null"#, #"Expected "orders" to be an array"#),
        (#""orders":[1]"#, #"Expected "orders[0]" to be an object"#),
        (#""orders":[{"_id":"x","orderNumber":"1"}]"#, #"Expected "orders[0]._id""#),
        (#""orders":[{"_id":"\#(String(repeating: "A", count: 24))","orderNumber":"1"}]"#, #"Expected "orders[0]._id""#),
        (#""orders":[{"_id":"\#(id)"}]"#, #"Expected "orders[0].orderNumber""#),
        (#""orders":[{\#(order)},{\#(order),"deliveryOtp":"123"}]"#, #"Expected "orders[1].deliveryOtp" to be 4 digits"#),
        (#""orders":[{\#(order),"deliveryOtp":"12345"}]"#, #"Expected "orders[0].deliveryOtp" to be 4 digits"#),
        (#""orders":[{\#(order),"deliveryOtp":"12x4"}]"#, #"Expected "orders[0].deliveryOtp" to be 4 digits"#),
        (#""orders":[{\#(order),"deliveryOtp":1234}]"#, #"Expected "orders[0].deliveryOtp""#),
        (#""orders":[{\#(order),"sequenceNumber":"1"}]"#, #"Expected "orders[0].sequenceNumber" to be an integer"#),
        (#""orders":[{\#(order),"sequenceNumber":1.5}]"#, #"Expected "orders[0].sequenceNumber" to be an integer"#),
        (#""orders":[{\#(order),"items":"x"}]"#, #"Expected "orders[0].items" to be an array"#),
        (#""orders":[{\#(order),"items":[{"name":"Soup"}]}]"#, #"Expected "orders[0].items[0].menuItemId""#),
        (#""orders":[{\#(order),"items":[{"menuItemId":"m","quantity":"2"}]}]"#, #"Expected "orders[0].items[0].quantity""#),
        (#""orders":[{\#(order),"deliveryAddress":{"latitude":91}}]"#, #"Expected "orders[0].deliveryAddress.latitude""#),
        (#""orders":[{\#(order),"deliveryAddress":{"longitude":-181}}]"#, #"Expected "orders[0].deliveryAddress.longitude""#),
        (#""orders":[{\#(order),"deliveryAddress":{"street":1}}]"#, #"Expected "orders[0].deliveryAddress.street""#),
    ]

    @Test("other values are refused with the field's name", arguments: invalid)
    func refused(_ row: (member: String, problem: String)) {
        let refusal = call("{\(row.member)}").refusal(router) ?? "none"
        #expect(refusal.hasPrefix("400 " + row.problem), "\(refusal)")
    }

    @Test("lists have limits") func limits() {
        let orders = Array(repeating: "{\(Self.order)}", count: BatchEdits.ordersMax)
        #expect(edits(#"{"orders":[\#(orders.joined(separator: ","))]}"#)?.orders?.count == BatchEdits.ordersMax)
        let more = orders + orders.prefix(1)
        let refusal = call(#"{"orders":[\#(more.joined(separator: ","))]}"#).refusal(router)
        #expect(refusal == #"400 Expected "orders" to contain at most 200 elements; found 201"#)
        func body(items count: Int) -> String {
            let items = Array(repeating: #"{"menuItemId":"m"}"#, count: count).joined(separator: ",")
            return #"{"orders":[{\#(Self.order),"items":[\#(items)]}]}"#
        }
        #expect(self.edits(body(items: 100))?.orders?.first?.items.count == 100)
        #expect(
            call(body(items: 101)).refusal(router)
                == #"400 Expected "orders[0].items" to contain at most 100 elements; found 101"#)
    }
}
