import Foundation
import JSON
import Primitives
import TestSupport
import Testing

@testable import Fleet
@testable import PusherAPI

/// The answers about batches, byte for byte: Golden/batches has them as the contract writes them.
@Suite struct BatchResponseTests {
    private static let start = Timestamp.milliseconds(iso8601: "2026-11-24T18:00:00Z") ?? 0

    private static func id(_ digit: Character) -> ObjectID { ObjectID(String(repeating: digit, count: 24))! }

    private static let driver = BatchDriver(accountID: id("d"), personID: Identifier("D7"), name: "Rahul")
    private static let account = Account(
        id: id("d"), uid: "U", personID: "D7", phone: "9179621765",
        Registration(
            name: "Rahul", email: nil, profileImage: nil, licenseNumber: "MH14", licenseImageURL: "https://i.example/l",
            licenseExpiryDate: nil, vehicleName: "Activa", vehicleNumber: "MH12AB1234", vehicleType: .scooter,
            vehicleDocuments: []), createdAt: start)

    /// A batch with three orders after these actions, a second apart.
    private func batch(after actions: BatchAction...) throws -> Batch {
        var random = SplitMix(seed: 1)
        var batch = Batch(id: Self.id("b"), createdAt: Self.start)
        for (index, action) in ([.edit(Self.edits)] + actions).enumerated() {
            batch = try batch.apply(action, at: Self.start + Int64(index) * 1_000, using: &random).batch
        }
        return batch
    }

    private static let edits: BatchEdits = {
        var kitchen = Kitchen(id: id("6"))
        (kitchen.name, kitchen.phone, kitchen.address.street) = ("Kitchen One", "+9122", "4 Mill Rd")
        (kitchen.address.latitude, kitchen.address.longitude) = (JSONNumber(text: "19.10"), JSONNumber(text: "72.8"))
        var zone = Zone(id: id("7"))
        (zone.name, zone.city) = ("West", "Mumbai")
        var edits = BatchEdits()
        edits.batchNumber = .set("BATCH-7")
        edits.mealWindow = .set(.dinner)
        edits.windowEndTime = .set(start + 1)
        edits.estimatedEarnings = .set(JSONNumber(text: "450.50"))
        (edits.kitchen, edits.zone) = (.set(kitchen), .set(zone))
        edits.orders = ["1", "2", "3"].map { digit in
            var order = EditedOrder(id: id(Character(digit)), orderNumber: "ORD-\(digit)")
            order.address.name = "Asha"
            (order.address.phone, order.address.flatNumber, order.address.street) = ("+9198", "B-12", "12 Lake View")
            if digit == "1" {
                var item = OrderItem(menuItemID: "m1")
                (item.name, item.quantity, item.price) = ("Thali", JSONNumber(text: "2"), JSONNumber(text: "149.50"))
                order.items = [item]
                order.otp = .sealed(digest: [1], keyID: "k")
            }
            return order
        }
        return edits
    }()

    private static let accept = BatchAction.accept(driver, activeBatch: nil)
    private static let pickup = BatchAction.pickup(by: driver.accountID, notes: nil)

    private static func report(
        _ digit: Character, _ outcome: DeliveryReport.Outcome, notes: String? = nil, otp: OTPVerdict = .notRequired
    ) -> BatchAction {
        .report(DeliveryReport(outcome, notes: notes), of: id(digit), by: driver.accountID, otp: otp)
    }

    private static let delivered = report("1", .delivered(.otp("1234")), otp: .matches)
    private static let failed = report("2", .failed(.other), notes: "Dog")
    private static let cancelled = BatchAction.cancelOrder(id("3"), by: .customer, reason: "Late")

    private func golden(_ name: String, _ body: [UInt8], _ location: SourceLocation = #_sourceLocation) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/batches/\(name).json")
        let expected = try String(contentsOf: file, encoding: .utf8)
        #expect(String(decoding: body, as: UTF8.self) + "\n" == expected, "\(name)", sourceLocation: location)
    }

    private func golden(_ name: String, _ response: BatchAnswer, _ location: SourceLocation = #_sourceLocation) throws {
        try golden(name, FleetResponses.body(of: .batch(response), correlationID: "c-1"), location)
    }

    private func golden(_ name: String, _ result: BatchResult, _ location: SourceLocation = #_sourceLocation) throws {
        try golden(name, FleetResponses.body(of: .batch(result)), location)
    }

    @Test func looking() throws {
        let ready = try batch(after: .ready)
        let waiting = BatchListing.Waiting(ready, orderCount: 3)
        let near = BatchListing(order: .nearest(latitude: 19.1, longitude: 72.9))
        try golden("available", .available(BatchListing().entries([waiting])))
        try golden("available-nearest", .available(near.entries([waiting])))
        try golden("available-none", .available([]))
        try golden("details-for-others", .read(.details(ready, .withoutCustomers, driver: nil)) as BatchResult)
    }

    @Test func driving() throws {
        let accepted = try batch(after: .ready, Self.accept)
        try golden("accepted", .accepted(accepted))
        try golden("my-batch-none", .read(.current(nil)) as BatchResult)
        let read = try batch(after: .ready, Self.accept, .acknowledge(by: Self.driver.accountID))
        try golden("my-batch", .read(.current(read)) as BatchResult)
        try golden("picked-up", .pickedUp(try batch(after: .ready, Self.accept, Self.pickup)))
        let entries = ["3", "2", "1"].enumerated().map {
            SequenceEntry(orderID: Self.id(Character($1)), sequenceNumber: $0 + 1)
        }
        try golden("sequence", .arranged(try batch(after: .ready, Self.accept, .sequence(entries, by: Self.driver.accountID))))
    }

    @Test func reporting() throws {
        let started: [BatchAction] = [.ready, Self.accept, Self.pickup]
        func after(_ actions: BatchAction...) throws -> Batch {
            var random = SplitMix(seed: 2)
            return try (started + actions).enumerated().reduce(batch()) {
                try $0.apply($1.element, at: Self.start + Int64($1.offset + 1) * 1_000, using: &random).batch
            }
        }
        try golden("report-en-route", .reported(try after(Self.report("1", .enRoute)), orderID: Self.id("1")))
        try golden("report-delivered", .reported(try after(Self.delivered), orderID: Self.id("1")))
        let photo = Self.report("1", .delivered(.photo(url: "https://p.example/1")))
        try golden("report-photo", .reported(try after(photo), orderID: Self.id("1")))
        try golden("report-failed", .reported(try after(Self.delivered, Self.failed), orderID: Self.id("2")))
        let underWay = try after(Self.delivered, Self.failed)
        try golden("my-batch-under-way", .read(.current(underWay)) as BatchResult)
        let ended = try after(Self.delivered, Self.failed, Self.cancelled)
        try golden("completed", .completed(ended))
        try golden("details", .read(.details(ended, .whole, driver: Self.account)) as BatchResult)
        try golden("admin", .changed("Order cancelled", ended, notificationIDs: ["N1"]))
        try golden("admin-get", .one(try batch()))
    }

    @Test func storedAnswersStayAsTheyAre() {
        let stored = Array(#"{"message":"Delivery status updated"}"#.utf8)
        #expect(FleetResponses.body(of: .batch(.reportedBefore(stored)), correlationID: "c-2") == stored)
    }

    @Test func summaryAndSwitch() throws {
        let batches = ["0.1", "0.2"].map {
            CompletedBatch(completedAt: 1, delivered: 1, failed: 1, earnings: JSONNumber(text: $0))
        }
        try golden("summary", .summary(DeliverySummary(batches, in: nil), currency: "INR"))
        try golden("summary-none", .summary(DeliverySummary([], in: nil), currency: ""))
        let switched = Availability(accountID: Self.id("d"), personID: "D7", isOnline: false, since: Self.start)
        let state = AvailabilityState(switched)
        try golden("availability", FleetResponses.body(of: .availability(AvailabilityState(nil))))
        try golden("availability-updated", FleetResponses.body(of: .availability(state), correlationID: "c-1"))
    }
}
