import JSON
import Primitives

/// A request's changes to a batch. Fields that the request does not contain are kept; a given kitchen, zone or list of
/// orders replaces the old one as a whole.
package struct BatchEdits: Equatable, Sendable {
    package var batchNumber = Change<String>.keep
    package var mealWindow = Change<MealWindow>.keep
    /// Milliseconds since 1970.
    package var windowEndTime = Change<Int64>.keep
    package var estimatedEarnings = Change<JSONNumber>.keep
    package var kitchen = Change<Kitchen>.keep
    package var zone = Change<Zone>.keep
    /// Nil: the orders are kept.
    package var orders: [EditedOrder]?

    package init() {}

    /// The most orders of a batch.
    package static let ordersMax = 200

    /// The names of the fields that the request sets or clears, for the audit log.
    package var presentFields: [String] {
        [
            batchNumber.isPresent ? "batchNumber" : nil, mealWindow.isPresent ? "mealWindow" : nil,
            windowEndTime.isPresent ? "windowEndTime" : nil, estimatedEarnings.isPresent ? "estimatedEarnings" : nil,
            kitchen.isPresent ? "kitchen" : nil, zone.isPresent ? "zone" : nil, orders == nil ? nil : "orders",
        ].compactMap(\.self)
    }

    /// Sets and clears the fields other than the orders.
    func applyFields(to batch: inout Batch) {
        batchNumber.apply(to: &batch.batchNumber)
        mealWindow.apply(to: &batch.mealWindow)
        windowEndTime.apply(to: &batch.windowEndTime)
        estimatedEarnings.apply(to: &batch.estimatedEarnings)
        kitchen.apply(to: &batch.kitchen)
        zone.apply(to: &batch.zone)
    }
}

/// An order in a request that replaces the orders of a batch.
package struct EditedOrder: Equatable, Sendable {
    package let id: ObjectID
    package var orderNumber: String
    package var address = DeliveryAddress()
    package var items: [OrderItem] = []
    package var otp: DeliveryOTP?
    /// Nil: the order gets the lowest number that is free.
    package var sequenceNumber: Int?
    package var customerID: String?

    package init(id: ObjectID, orderNumber: String) {
        self.id = id
        self.orderNumber = orderNumber
    }
}

extension BatchEdits {
    /// Checks what a single field's type cannot say.
    /// - Throws: `.invalid` (400) with all wrong fields.
    package func check() throws(RuleError) {
        var wrong: [RuleError.Field] = []
        if case .set(let earnings) = estimatedEarnings, Money(earnings).map({ $0 < .zero }) != false {
            wrong.append(.init("estimatedEarnings", "Earnings must be an amount from 0 with at most 6 decimals"))
        }
        if let orders { wrong += Self.problems(of: orders) }
        guard wrong.isEmpty else { throw RuleError(fields: wrong) }
    }

    private static func problems(of orders: [EditedOrder]) -> [RuleError.Field] {
        guard orders.count <= ordersMax else {
            return [.init("orders", "A batch can have at most \(ordersMax) orders")]
        }
        var wrong: [RuleError.Field] = []
        var ids: Set<ObjectID> = []
        var numbers: Set<Int> = []
        for (index, order) in orders.enumerated() {
            if !ids.insert(order.id).inserted { wrong.append(.init("orders[\(index)]._id", "Order ids must be unique")) }
            guard let number = order.sequenceNumber else { continue }
            let path = "orders[\(index)].sequenceNumber"
            if number < 1 {
                wrong.append(.init(path, SequenceEntry.lowestText))
            } else if !numbers.insert(number).inserted {
                wrong.append(.init(path, SequenceEntry.uniqueText))
            }
        }
        return wrong
    }

    /// The orders of a batch after a replacement of its list, by sequence number. An order that is in both lists stays
    /// cancelled if it was: a backend that sends its whole list again does not know better.
    static func orders(_ edited: [EditedOrder], replacing old: [BatchOrder]) -> [BatchOrder] {
        let known = Dictionary(old.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let given = Set(edited.compactMap(\.sequenceNumber))
        var free = (1...).lazy.filter { !given.contains($0) }.makeIterator()
        let new = edited.map { edit in
            var order = BatchOrder(
                id: edit.id, orderNumber: edit.orderNumber, sequenceNumber: edit.sequenceNumber ?? free.next()!)
            (order.address, order.items, order.otp) = (edit.address, edit.items, edit.otp)
            order.customerID = edit.customerID
            order.cancellation = known[edit.id]?.cancellation
            return order
        }
        return new.inSequence
    }
}
