import Primitives

/// The events of batches. Existing apps parse those on drivers' channels.
extension BatchNews {
    /// The event of ``available``.
    static let availableEvent = "new-batch-available"

    /// The event.
    /// - Parameters:
    ///   - batch: after the action.
    ///   - action: what caused the news.
    func draft(_ batch: Batch, _ action: BatchAction) -> EventDraft {
        switch self {
        case .available:
            EventDraft(
                .drivers, Self.availableEvent,
                ["batchId": .text(batch.id.text), "batchNumber": .text(batch.batchNumber)] + batch.zoneAndCount)
        case .taken: EventDraft(.drivers, "batch-taken", ["batchId": .text(batch.id.text)])
        case .reassigned(let driver):
            EventDraft(
                .driver(driver.personID.text), "batch-reassigned",
                [
                    "batchId": .text(batch.id.text), "batchNumber": .text(batch.batchNumber),
                    "reason": .text(action.reason),
                ])
        case .assigned(let driver):
            EventDraft(
                .driver(driver.personID.text), "batch-assigned",
                [
                    "batchId": .text(batch.id.text), "routeId": .text(batch.id.text),
                    "batchNumber": .text(batch.batchNumber),
                ] + batch.zoneAndCount + ["message": "New batch assigned to you"])
        case .cancelled(let driver, let reason):
            EventDraft(
                .driver(driver.personID.text), "batch-cancelled",
                [
                    "batchId": .text(batch.id.text), "batchNumber": .text(batch.batchNumber), "reason": .text(reason),
                    "message": "Batch has been cancelled by admin",
                ])
        case .orderCancelled(let driver, let id, let number, let party):
            EventDraft(
                .driver(driver.personID.text), "order-cancelled",
                [
                    "orderId": .text(id.text), "batchId": .text(batch.id.text), "orderNumber": .text(number),
                    "cancelledBy": .text(party.rawValue),
                ])
        case .accepted: EventDraft(.admin, "batch-accepted", batch.progressFields)
        case .pickedUp: EventDraft(.admin, "batch-picked-up", batch.progressFields)
        case .progress:
            EventDraft(.admin, "batch-progress", batch.progressFields + batch.reportFields(action.orderID))
        case .completed:
            EventDraft(.admin, "batch-completed", batch.progressFields + ["status": .text(batch.status.rawValue)])
        }
    }
}

extension Batch {
    fileprivate var zoneAndCount: EventFields { ["zone": .text(zone?.name), "orderCount": .integer(counts.total)] }

    /// What dispatchers are told of a batch under way.
    fileprivate var progressFields: EventFields {
        let counts = counts
        return [
            "batchId": .text(id.text), "batchNumber": .text(batchNumber), "driverId": .text(driver?.personID.text),
            "totalOrders": .integer(counts.total), "delivered": .integer(counts.delivered),
            "failed": .integer(counts.failed), "pending": .integer(counts.pending),
        ]
    }

    /// - Parameter orderID: the order that the driver has reported.
    fileprivate func reportFields(_ orderID: ObjectID?) -> EventFields {
        guard let order = orders.first(where: { $0.id == orderID }) else { return [:] }
        return ["orderId": .text(order.id.text), "status": .text(order.statusWord)]
    }
}
