import JSON
import Primitives
import Testing

@testable import Fleet

extension ObjectID {
    static func sample(_ number: Int) -> ObjectID {
        let digits = String(number, radix: 16)
        return ObjectID(String(repeating: "0", count: 24 - digits.count) + digits)!
    }
}

extension Batch {
    /// A batch with all fields. Its first order has all fields too, its second none that may be missing.
    static func sample(_ number: Int = 1, status: BatchStatus = .inProgress) -> Batch {
        var batch = Batch(id: .sample(number), createdAt: noon)
        batch.batchNumber = "BATCH-\(number)"
        batch.mealWindow = .dinner
        batch.windowEndTime = noon + 1
        batch.estimatedEarnings = JSONNumber(text: "450.50")
        var kitchen = Kitchen(id: .sample(70))
        (kitchen.name, kitchen.phone) = ("Kitchen \"One\"", "+9122")
        kitchen.address = .sample
        batch.kitchen = kitchen
        var zone = Zone(id: .sample(80))
        (zone.name, zone.city) = ("West", "Mumbai")
        batch.zone = zone
        batch.status = status
        batch.driver = BatchDriver(accountID: .sample(90), personID: Identifier("42"), name: "Dana")
        batch.version = 3
        (batch.updatedAt, batch.driverAssignedAt, batch.dispatchedAt) = (noon + 2, noon + 3, noon + 4)
        (batch.pickedUpAt, batch.completedAt, batch.closedAt) = (noon + 5, noon + 6, noon + 7)
        batch.orders = [
            .sample(number * 1_000 + 1), BatchOrder(id: .sample(number * 1_000 + 2), orderNumber: "2", sequenceNumber: 2),
        ]
        return batch
    }
}

extension KitchenAddress {
    fileprivate static var sample: KitchenAddress {
        var address = KitchenAddress()
        (address.street, address.area, address.city) = ("4 Mill Rd", "Andheri", "Mumbai")
        (address.state, address.pincode) = ("MH", "400053")
        (address.latitude, address.longitude) = (JSONNumber(text: "19.10"), JSONNumber(text: "-72.5"))
        return address
    }
}

extension BatchOrder {
    fileprivate static func sample(_ number: Int) -> BatchOrder {
        var order = BatchOrder(id: .sample(number), orderNumber: "ORD-\(number)", sequenceNumber: 1)
        var address = DeliveryAddress()
        (address.name, address.phone, address.flatNumber) = ("Asha", "+9198", "B-12")
        (address.street, address.landmark, address.area) = ("12 Lake", "Park", "Andheri")
        (address.city, address.state, address.pincode) = ("Mumbai", "MH", "400058")
        address.instructions = "gate 4711, second bell"
        (address.latitude, address.longitude) = (JSONNumber(text: "1e1"), JSONNumber(text: "2"))
        order.address = address
        var item = OrderItem(menuItemID: "m1")
        (item.name, item.quantity, item.price) = ("Thali", JSONNumber(text: "2"), JSONNumber(text: "9.50"))
        order.items = [item, OrderItem(menuItemID: "m2")]
        order.otp = .sealed(digest: [1, 2, 3], keyID: "k1")
        order.customerID = "7"
        var assignment = OrderAssignment(id: .sample(50), assignedAt: noon + 1)
        assignment.status = .delivered
        (assignment.pickedUpAt, assignment.enRouteAt, assignment.arrivedAt) = (noon + 2, noon + 3, noon + 4)
        (assignment.deliveredAt, assignment.failedAt) = (noon + 5, noon + 6)
        assignment.reportedBy = .sample(90)
        assignment.proof = CheckedProof(.otp("1234"), isOTPVerified: false, verifiedAt: noon + 5)
        (assignment.failureReason, assignment.notes) = (.wrongAddress, "At the back")
        order.assignment = assignment
        order.cancellation = OrderCancellation(at: noon + 7, by: .customer, reason: "Late", isAfterPickup: true)
        return order
    }
}

@Suite struct BatchTableTests {
    private let store = TemporaryStore()
    private let batches: BatchTable

    init() throws {
        batches = BatchTable(
            database: try Database.open(store.address, durability: .normal, now: noon, migrations: Migrations()))
    }

    private func keep(_ batch: Batch, over stored: Batch? = nil) throws {
        try batches.store(BatchChange(stored: stored, batch: batch))
    }

    @Test(arguments: BatchStatus.allCases) func keepsEveryField(_ status: BatchStatus) throws {
        let batch = Batch.sample(status: status)
        try keep(batch)
        #expect(try batches.batch(batch.id) == batch)
        let empty = Batch(id: .sample(2), createdAt: noon)
        try keep(empty)
        #expect(try batches.batch(empty.id) == empty)
    }

    @Test(arguments: [ProofOfDelivery.otp("0000"), .signature(url: "https://s.example/1"), .photo(url: "https://p.example/1")])
    func keepsEveryProof(_ proof: ProofOfDelivery) throws {
        var batch = Batch.sample()
        for isVerified in [true, false, nil] {
            let before = batch
            batch.orders[0].assignment?.proof = CheckedProof(proof, isOTPVerified: isVerified, verifiedAt: noon)
            try keep(batch, over: isVerified == true ? nil : before)
            #expect(try batches.batch(batch.id) == batch)
        }
    }

    @Test func writesOnlyOrdersThatChanged() throws {
        let batch = Batch.sample()
        try keep(batch)
        var changed = batch
        changed.orders[1].sequenceNumber = 9
        let before = batches.database.totalChangedRows
        try keep(changed, over: batch)
        #expect(batches.database.totalChangedRows - before == 2, "the batch, and one order")
        #expect(try batches.batch(batch.id) == changed)
    }

    @Test func deletesOrdersThatWereLeftOut() throws {
        let batch = Batch.sample()
        try keep(batch)
        var without = batch
        without.orders.removeLast()
        try keep(without, over: batch)
        #expect(try batches.batch(batch.id) == without)
    }

    @Test func findsTheBatchOfAnOrder() throws {
        let ended = Batch.sample(1, status: .cancelled)
        var open = Batch.sample(2, status: .collecting)
        open.orders = ended.orders
        let order = ended.orders[0].id
        try keep(ended)
        #expect(try batches.batch(ofOrder: order)?.id == ended.id)
        #expect(try batches.orderElsewhere([order], than: .sample(3)) == nil)
        try keep(open)
        #expect(try batches.batch(ofOrder: order)?.id == open.id)
        #expect(try batches.orderElsewhere([.sample(5), order], than: .sample(3)) == order)
        #expect(try batches.orderElsewhere([order], than: open.id) == nil)
        #expect(try batches.batch(ofOrder: .sample(77)) == nil)
    }

    @Test func findsTheDriversBatch() throws {
        for (number, status) in BatchStatus.allCases.enumerated() {
            try keep(Batch.sample(number + 1, status: status))
            let active = try batches.active(of: .sample(90))
            #expect((active?.id == .sample(number + 1)) == status.isActive)
            if status.isActive {
                var ended = try #require(active)
                ended.status = .completed
                try keep(ended, over: active)
            }
        }
        #expect(try batches.active(of: .sample(91)) == nil)
    }

    @Test func findsWindowsThatHaveEnded() throws {
        for (number, status) in BatchStatus.allCases.enumerated() { try keep(Batch.sample(number + 1, status: status)) }
        #expect(try batches.due(at: noon, most: 9).isEmpty)
        #expect(try batches.due(at: noon + 1, most: 9) == [.sample(1)], "only the one that collects")
    }

    @Test func listsWaitingBatchesByTheEndOfTheirWindows() throws {
        for number in 1...3 {
            var batch = Batch.sample(number, status: .ready)
            batch.windowEndTime = noon - Int64(number)
            try keep(batch)
        }
        var without = Batch.sample(4, status: .ready)
        without.windowEndTime = nil
        try keep(without)
        #expect(try batches.waiting(most: 4).last?.batch.id == without.id)
        #expect(try batches.waiting(most: 2).map(\.batch.id) == [.sample(3), .sample(2)])
        #expect(try batches.waiting(most: 1)[0].orderCount == 1, "one of the two is cancelled")
    }

    @Test func sumsWhatADriverHasCompleted() throws {
        for (number, status) in BatchStatus.allCases.enumerated() {
            var batch = Batch.sample(number + 1, status: status)
            batch.orders[0].cancellation = nil
            batch.completedAt = noon + Int64(number)
            try keep(batch)
        }
        let completed = try batches.completed(of: .sample(90), since: 0)
        #expect(completed.count == 2 && completed.allSatisfy { $0.delivered == 1 && $0.earnings?.text == "450.50" })
        #expect(try batches.completed(of: .sample(90), since: noon + 5).count == 1)
        #expect(try batches.completed(of: .sample(91), since: 0).isEmpty)
    }

    @Test func deletesOldBatchesThatHaveEnded() throws {
        for (number, status) in BatchStatus.allCases.enumerated() { try keep(Batch.sample(number + 1, status: status)) }
        #expect(try batches.deleteExpired(before: noon + 2, most: 9) == 0)
        #expect(try batches.deleteExpired(before: noon + 3, most: 9) == 3)
        #expect(try batches.database.dump("SELECT COUNT(*) FROM batches") == ["4"])
        #expect(try batches.database.dump("SELECT COUNT(*) FROM batch_orders") == ["8"])
    }

    @Test func erasesACustomerOnlyInBatchesThatAreOver() throws {
        let (open, ended) = (Batch.sample(1), Batch.sample(2, status: .completed))
        try keep(open)
        try keep(ended)
        #expect(try batches.orders.hasOpen(ofCustomer: "7", createdUntil: noon))
        #expect(try !batches.orders.hasOpen(ofCustomer: "7", createdUntil: noon - 1))
        #expect(try batches.orders.hasEndedToClear(ofCustomer: "7", createdUntil: noon))
        #expect(try batches.orders.texts(ofCustomer: "7").sorted() == ["+9198", "Asha"])
        #expect(try batches.orders.clear(customer: "7", most: 9) == 1)
        #expect(try batches.batch(open.id) == open)
        let address = try #require(try batches.batch(ended.id)?.orders[0].address)
        var kept = ended.orders[0].address.withoutCustomer
        (kept.street, kept.landmark, kept.latitude, kept.longitude) = (nil, nil, nil, nil)
        #expect(address == kept)
        #expect(try !batches.orders.hasEndedToClear(ofCustomer: "7", createdUntil: noon))
    }

    @Test func aDamagedRowIsAnError() throws {
        let batch = Batch.sample()
        try keep(batch)
        for column in ["status", "id"] {
            try batches.database.run("UPDATE batches SET \(column) = 'x'")
            #expect(throws: DatabaseError.self) {
                _ = try (batches.waiting(most: 1), batches.batch(batch.id))
            }
            try batches.database.run(
                "UPDATE batches SET \(column) = '\(column == "status" ? "READY_FOR_DISPATCH" : batch.id.text)'")
        }
        try batches.database.run("UPDATE batch_orders SET items = '{'")
        #expect(throws: DatabaseError.self) { try batches.batch(batch.id) }
    }
}
