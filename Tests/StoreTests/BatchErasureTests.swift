import JSON
import Primitives
import Testing

@testable import Fleet

/// What an erasure removes from batches of orders.
@Suite struct BatchErasureTests {
    private let store = TemporaryStore()
    private let executor: CommandExecutor
    private let account = Account.active(1)
    private static let id = ObjectID.sample(1)

    init() throws {
        executor = try store.pushing()
        try executor.accounts.store(account)
        try executor.runBackgroundTasks()
    }

    private var everything: String {
        get throws {
            let tables = try executor.database.tableNames()
            return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
        }
    }

    private func run(_ request: any Command, byDriver: Bool = true, key: String? = nil) throws {
        let actor = byDriver ? driver(account.personID) : admin
        #expect(try executor.commit(command(request, by: actor, key: key)).status == 200, "\(request.name)")
    }

    /// A batch with an order of customer 7 and one of customer 8, in the hands of the driver.
    private func start() throws {
        var edits = BatchEdits()
        edits.orders = ["7", "8"].map { customer in
            var order = EditedOrder(id: .sample(Int(customer) ?? 0), orderNumber: "ORD-\(customer)")
            order.customerID = customer
            (order.address.name, order.address.phone) = ("Customer Qwerty\(customer)", "+9198\(customer)")
            (order.address.flatNumber, order.address.street) = ("Flat \(customer)04", "1\(customer) Lake View")
            (order.address.landmark, order.address.city) = ("behind the mill \(customer)", "Pune")
            order.address.instructions = "door code 471\(customer)"
            order.address.latitude = JSONNumber(text: "18.52043\(customer)")
            order.address.longitude = JSONNumber(text: "73.85674\(customer)")
            var item = OrderItem(menuItemID: "item-\(customer)")
            item.name = "Thali \(customer)"
            order.items = [item]
            return order
        }
        try run(EditBatch(Self.id, edits), byDriver: false, key: "edit")
        try run(ReadyBatch(Self.id), byDriver: false)
        try run(AcceptBatch(Self.id), key: "accept")
        try run(PickUpBatch(Self.id, notes: "Dana Zyxwv has it"))
    }

    /// What must be gone after an erasure of customer 7, and nothing of customer 8.
    private static let personal = [
        "Qwerty7", "+91987", "Flat 704", "17 Lake View", "behind the mill 7", "18.520437", "73.856747", "item-7", "Thali 7",
        "door code 4717",
    ]
    /// What the driver has noted about the order.
    private static let note = "Left with the aunt of"
    private static let kept = [
        "Qwerty8", "+91988", "Flat 804", "18 Lake View", "behind the mill 8", "18.520438", "73.856748", "item-8", "Thali 8",
        "ORD-7", "Pune",
    ]

    private func expectErased() throws {
        let rest = try everything
        for text in Self.personal { #expect(!rest.contains(text), "\(text)") }
        #expect(
            try executor.database.dump("SELECT notes FROM batch_orders ORDER BY order_number") == ["-", "\(Self.note) 8"])
        for text in Self.kept { #expect(rest.contains(text), "\(text)") }
        #expect(try executor.database.dump("SELECT customer_id FROM batch_orders ORDER BY order_number") == ["-", "8"])
    }

    private func deliver(_ order: Int) throws {
        let report = DeliveryReport(.delivered(.photo(url: "https://p.example/1")), notes: "Left with the aunt of \(order)")
        try run(ReportDelivery(report, orderID: .sample(order)))
    }

    /// What an erased driver has written about very many orders is cleared in slices, although the account has gone.
    @Test func aDriversReportsAreClearedInSlices() throws {
        let most = CommandExecutor.clearedMax
        try executor.database.run(
            """
            INSERT INTO batch_orders (batch_id, id, order_number, sequence, items, cancelled_after_pickup, reported_by, notes) \
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(2 * most + 9)) \
            SELECT 'b', 'o' || i, 'O', 1, '[]', 0, '\(account.id.text)', 'Dog' FROM n
            """)
        executor.backgroundTasks = []
        func left() throws -> Int {
            try executor.database.dump("SELECT 1 FROM batch_orders WHERE notes IS NOT NULL").count
        }
        _ = try executor.commit(command(Erase(.driver, id: account.personID)))
        #expect(try left() == most + 9 && executor.accounts.account(id: account.id) == nil)
        _ = try executor.runBackgroundSlice(at: noon)
        #expect(try left() == 9)
        try executor.runBackgroundTasks()
        #expect(try left() == 0 && executor.count("erasures") == 0)
    }

    @Test func aCustomerIsErasedWhenTheBatchIsOver() throws {
        try start()
        _ = try executor.commit(command(Erase(.customer, id: "7")))
        try executor.runBackgroundTasks()
        let address = try #require(try executor.batches.batch(Self.id)?.orders[0].address)
        #expect(address.name == "Customer Qwerty7" && address.street == "17 Lake View", "the driver still needs it")
        try deliver(7)
        try deliver(8)
        try executor.transaction { () throws(DatabaseError) in try executor.resumeErasures() }
        try executor.runBackgroundTasks()
        try expectErased()
        #expect(try executor.count("erasures") == 0)
    }

    @Test func aBatchThatIsOverIsClearedAtOnce() throws {
        try start()
        try deliver(7)
        try deliver(8)
        let reply = try executor.commit(command(Erase(.customer, id: "7")))
        #expect(String(decoding: reply.body, as: UTF8.self).contains(#""orders":1"#))
        try executor.runBackgroundTasks()
        try expectErased()
    }

    @Test func aDriversNameNotesAndSwitchAreErased() throws {
        try start()
        let report = DeliveryReport(.failed(.other), notes: "Dana Zyxwv found nobody")
        for order in [7, 8] { try run(ReportDelivery(report, orderID: .sample(order))) }
        try run(ReturnBatchOrder(.sample(8), inBatch: Self.id), byDriver: false)
        try run(CompleteBatch(Self.id, notes: "Dana Zyxwv is done"))
        _ = try executor.commit(command(SwitchAvailability(isOnline: true), by: driver(account.personID)))
        #expect(try everything.contains("Zyxwv") && everything.contains("Rahul"))
        _ = try executor.commit(command(Erase(.driver, id: account.personID)))
        try executor.runBackgroundTasks()
        let rest = try everything
        for text in ["Zyxwv", "Rahul"] { #expect(!rest.contains(text), "\(text)") }
        #expect(try executor.count("driver_availability") == 0)
        #expect(try executor.batches.batch(Self.id)?.driver?.personID == Identifier(account.personID), "the id stays")
    }
}
