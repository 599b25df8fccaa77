import JSON
import Primitives

/// A batch: orders that one driver takes from a kitchen to the customers' doors. Nil: not given, or not yet. Times are
/// milliseconds since 1970.
package struct Batch: Equatable, Sendable {
    package let id: ObjectID
    package var batchNumber: String?
    package var mealWindow: MealWindow?
    /// When the kitchen stops collecting orders, and the batch is offered to drivers.
    package var windowEndTime: Int64?
    /// What the driver earns, in the fleet's currency, as sent.
    package var estimatedEarnings: JSONNumber?
    package var kitchen: Kitchen?
    package var zone: Zone?
    /// By ``BatchOrder/sequenceNumber``.
    package var orders: [BatchOrder] = []
    package var status = BatchStatus.collecting
    /// The driver who has accepted the batch, also after its end. Nil before the first acceptance.
    package var driver: BatchDriver?
    /// 0 for a batch that is not stored yet, 1 once it is stored; each later change adds 1. Clients send the version back in
    /// `If-Match`.
    package var version = 0
    package let createdAt: Int64
    package var updatedAt: Int64
    /// When the present driver got the batch.
    package var driverAssignedAt: Int64?
    /// When a driver accepted the batch. A reassignment does not change it.
    package var dispatchedAt: Int64?
    package var pickedUpAt: Int64?
    /// When the batch became ``BatchStatus/completed`` or ``BatchStatus/partialComplete``.
    package var completedAt: Int64?
    /// When the driver said that the batch is complete, which it was then. The first time brings the driver's notes.
    package var closedAt: Int64?

    /// A batch without any fields, which collects orders.
    package init(id: ObjectID, createdAt: Int64) {
        self.id = id
        self.createdAt = createdAt
        updatedAt = createdAt
    }

    /// Delivered, failed and open orders.
    package var counts: BatchCounts { BatchCounts(orders) }

    /// The orders that answers for drivers contain: all but the cancelled ones.
    package var listedOrders: [BatchOrder] { orders.filter { $0.cancellation == nil } }

    /// How errors name the batch.
    var label: String { "Batch \(id.text)" }
}

/// The driver of a batch.
package struct BatchDriver: Equatable, Sendable {
    /// The id in answers about batches.
    package let accountID: ObjectID
    /// The id in channels, events and the audit log.
    package let personID: Identifier
    /// Nil: not known.
    package var name: String?

    package init(accountID: ObjectID, personID: Identifier, name: String? = nil) {
        self.accountID = accountID
        self.personID = personID
        self.name = name
    }
}

extension Batch {
    /// What a driver may see of a batch.
    package enum View: Sendable {
        /// All of it: the batch is, or was, the driver's.
        case whole
        /// All but the customers' names, phone numbers and flat numbers: the batch waits for a driver.
        case withoutCustomers
    }

    /// What the driver may see of the batch.
    /// - Throws: `.forbidden` (403) if it is another driver's, or is not offered yet.
    package func view(for account: ObjectID) throws(RuleError) -> View {
        if driver?.accountID == account { return .whole }
        guard status == .ready else { throw RuleError(.notAssigned) }
        return .withoutCustomers
    }

    /// Whether this driver reads the batch for the first time, so that ``BatchAction/acknowledge(by:)`` is due.
    package func needsAcknowledgement(by account: ObjectID) -> Bool {
        status == .dispatched && driver?.accountID == account && orders.contains { $0.assignment?.status == .assigned }
    }

    /// Whether the window has ended, so that ``BatchAction/open`` is due.
    package func isDue(at now: Int64) -> Bool {
        guard status == .collecting, let windowEndTime else { return false }
        return windowEndTime <= now
    }
}
