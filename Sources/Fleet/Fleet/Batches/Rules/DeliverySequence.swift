import Primitives

/// An order's new place in the driver's tour.
package struct SequenceEntry: Equatable, Sendable {
    package let orderID: ObjectID
    /// From 1.
    package let sequenceNumber: Int

    package init(orderID: ObjectID, sequenceNumber: Int) {
        self.orderID = orderID
        self.sequenceNumber = sequenceNumber
    }

    static let lowestText = "Sequence numbers must be at least 1"
    static let uniqueText = "Sequence numbers must be unique"
}

extension Batch {
    /// Changes the driver's tour. Orders that are over need not be named; they keep their numbers then.
    mutating func arrange(_ entries: [SequenceEntry], by account: ObjectID) throws(RuleError) -> Effect {
        try checkDriver(account)
        switch status {
        case .dispatched, .inProgress:
            if let problem = problem(of: entries) { throw RuleError(fields: [.init("sequence", problem)]) }
            let numbers = Dictionary(uniqueKeysWithValues: entries.map { ($0.orderID, $0.sequenceNumber) })
            for index in orders.indices {
                if let number = numbers[orders[index].id] { orders[index].sequenceNumber = number }
            }
            orders = orders.inSequence
            return .done("Delivery sequence updated")
        case .collecting, .ready, .completed, .partialComplete, .cancelled:
            throw RuleError(.notActive, status.rawValue)
        }
    }

    /// What is wrong with a sequence; nil: nothing.
    private func problem(of entries: [SequenceEntry]) -> String? {
        let known = Set(orders.map(\.id))
        var named: Set<ObjectID> = []
        for entry in entries {
            guard known.contains(entry.orderID) else { return "Unknown order \(entry.orderID.text)" }
            guard named.insert(entry.orderID).inserted else { return "Order \(entry.orderID.text) is named more than once" }
        }
        guard entries.allSatisfy({ $0.sequenceNumber >= 1 }) else { return SequenceEntry.lowestText }
        guard Set(entries.map(\.sequenceNumber)).count == entries.count else { return SequenceEntry.uniqueText }
        guard orders.allSatisfy({ !$0.isOpen || named.contains($0.id) }) else { return "All orders in batch must be included" }
        return nil
    }
}

extension [BatchOrder] {
    /// By sequence number. An order that is over can have the number of an open one; the id decides then.
    var inSequence: [BatchOrder] {
        sorted { ($0.sequenceNumber, $0.id.text) < ($1.sequenceNumber, $1.id.text) }
    }
}
