import JSON
import Primitives
import Testing

@testable import Fleet

@Suite struct BatchEditsTests {
    private typealias Fixture = BatchFixture

    private func order(_ number: Int, _ sequence: Int? = nil) -> EditedOrder {
        var order = EditedOrder(id: Fixture.id(number), orderNumber: "ORD-\(number)")
        order.sequenceNumber = sequence
        return order
    }

    private func edits(_ orders: EditedOrder...) -> BatchAction {
        var edits = BatchEdits()
        edits.orders = orders
        return .edit(edits)
    }

    @Test func mergesTheFieldsThatAreGiven() throws {
        var batch = Fixture.empty()
        var edits = BatchEdits()
        edits.batchNumber = .set("B-1")
        edits.mealWindow = .set(.dinner)
        edits.windowEndTime = .set(77)
        edits.estimatedEarnings = .set(JSONNumber(text: "450.50"))
        edits.kitchen = .set(Kitchen(id: Fixture.id(1)))
        edits.zone = .set(Zone(id: Fixture.id(2)))
        #expect(try batch.perform(.edit(edits)).message == "Batch created")
        let full = batch
        #expect(full.batchNumber == "B-1" && full.mealWindow == .dinner && full.windowEndTime == 77 && full.version == 1)
        #expect(full.estimatedEarnings?.text == "450.50" && full.kitchen?.id == Fixture.id(1) && full.zone?.id == Fixture.id(2))
        #expect(edits.presentFields.count == 6 && BatchEdits().presentFields.isEmpty)
        var change = BatchEdits()
        change.mealWindow = .clear
        #expect(try batch.perform(.edit(change), at: Fixture.start + 1).message == "Batch updated")
        var expected = full
        (expected.mealWindow, expected.version, expected.updatedAt) = (nil, 2, Fixture.start + 1)
        #expect(batch == expected && change.presentFields == ["mealWindow"])
    }

    @Test func missingNumbersAreTheLowestFreeOnesInOrder() throws {
        var batch = Fixture.empty()
        try batch.perform(edits(order(5), order(4, 2), order(3), order(2, 9), order(1)))
        #expect(batch.orders.map(\.sequenceNumber) == [1, 2, 3, 4, 9])
        #expect(batch.orders.map(\.id) == [5, 4, 3, 1, 2].map { Fixture.id($0) })
    }

    @Test func replacesTheListButKeepsCancellations() throws {
        var batch = try Fixture.batch(.ready)
        try batch.perform(.cancelOrder(Fixture.orderA, by: .customer, reason: nil))
        var kept = EditedOrder(id: Fixture.orderA, orderNumber: "A2")
        kept.otp = .digits("1234")
        kept.customerID = "c"
        kept.address.city = "Pune"
        kept.items = [OrderItem(menuItemID: "m")]
        try batch.perform(edits(kept, order(3)))
        let replaced = try #require(batch.order(Fixture.orderA))
        #expect(batch.orders.map(\.id) == [Fixture.orderA, Fixture.id(3)])
        #expect(replaced.cancellation != nil && replaced.orderNumber == "A2" && replaced.otp == .digits("1234"))
        #expect(replaced.customerID == "c" && replaced.address.city == "Pune" && replaced.items.count == 1)
        // An offered batch keeps an order to deliver.
        #expect(batch.refusal(of: edits(kept))?.status == 409)
        #expect(batch.refusal(of: edits())?.status == 409)
        var collecting = try Fixture.batch(.collecting)
        try collecting.perform(edits())
        #expect(collecting.orders.isEmpty)
    }

    @Test func aRefusedListChangesNoField() throws {
        var change = Fixture.edits(orders: [Fixture.id(1)])
        change.batchNumber = .set("new")
        let batch = try Fixture.batch(.dispatched)
        let error = try #require(batch.refusal(of: .edit(change)))
        #expect(error.status == 409 && error.text.contains("DISPATCHED"))
        change.orders = nil
        #expect(batch.refusal(of: .edit(change)) == nil)
    }

    @Test func namesAllWrongFields() throws {
        var edits = BatchEdits()
        edits.estimatedEarnings = .set(JSONNumber(text: "-1"))
        edits.orders = [order(1, 1), order(1, 1), order(2, 0), order(3, 1)]
        let error = try #require(Fixture.empty().refusal(of: .edit(edits)))
        #expect(error.status == 400)
        #expect(
            error.fields.map(\.path) == [
                "estimatedEarnings", "orders[1]._id", "orders[1].sequenceNumber", "orders[2].sequenceNumber",
                "orders[3].sequenceNumber",
            ])
        #expect(error.fields[2].text == "Sequence numbers must be unique")
    }

    @Test func hasAtMost200Orders() throws {
        func refusal(_ count: Int) -> RuleError? {
            Fixture.empty().refusal(of: .edit(Fixture.edits(orders: (1...count).map { Fixture.id($0) })))
        }
        #expect(refusal(200) == nil && refusal(201)?.fields.map(\.path) == ["orders"])
    }
}
