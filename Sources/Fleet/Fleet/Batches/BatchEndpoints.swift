import Primitives
import PusherAPI

/// The endpoints of batches of orders, which exist while `accounts.enabled` is true.
enum BatchEndpoints {
    /// Of drivers.
    static let ofDrivers = EndpointGroup(
        "/api/delivery", roles: [.driver],
        [
            .query("/api/delivery/available-batches") { .batch(.available(try $0.batchListing()), $0.identity) },
            .query("/api/delivery/my-batch", writing: { _ in AcknowledgeBatch(.current) }) {
                .batch(.read(.current), $0.identity)
            },
            .query("/api/delivery/batches/{batchId}", writing: { AcknowledgeBatch(.details(try $0.batchID())) }) {
                .batch(.read(.details(try $0.batchID())), $0.identity)
            },
            .command(.post, "/api/delivery/batches/{batchId}/accept") { AcceptBatch(try $0.batchID()) },
            .command(.patch, "/api/delivery/batches/{batchId}/pickup") {
                PickUpBatch(try $0.batchID(), notes: try $0.body.driverNotes())
            },
            .command(.patch, "/api/delivery/batches/{batchId}/sequence") {
                ArrangeBatch(try $0.batchID(), try $0.body.sequenceEntries())
            },
            .command(.patch, "/api/delivery/batches/{batchId}/complete") {
                CompleteBatch(try $0.batchID(), notes: try $0.body.driverNotes())
            },
            .command(.patch, "/api/delivery/orders/{orderId}/status") {
                ReportDelivery(try $0.body.deliveryReport(), orderID: try $0.orderID())
            },
            .query("/api/delivery/summary") {
                .batch(
                    .summary(since: try $0.summaryStart(), currency: $0.router.summaries.currency), $0.identity)
            },
            .query("/api/delivery/availability") { .availability($0.identity) },
            .command(.put, "/api/delivery/availability") { SwitchAvailability(isOnline: try $0.body.isOnline()) },
        ])

    /// Of dispatchers, below `/api/admin`.
    static let ofAdmins: [Endpoint] = [
        .query("/api/admin/batches/{batchId}") { .batch(.one(try $0.batchID()), $0.identity) },
        .command(.put, "/api/admin/batches/{batchId}", body: .batchOfOrders) {
            EditBatch(try $0.batchID(), try $0.body.batchEdits())
        },
        .command(.post, "/api/admin/batches/{batchId}/ready") { ReadyBatch(try $0.batchID()) },
        .command(.post, "/api/admin/batches/{batchId}/reassign") {
            guard let driver = try $0.body.id("driverId").value else { throw $0.body.missing("driverId", "a string") }
            return ReassignBatch(try $0.batchID(), driverID: driver, reason: try $0.reason())
        },
        .command(.post, "/api/admin/batches/{batchId}/unassign") {
            UnassignBatch(try $0.batchID(), reason: try $0.reason())
        },
        .command(.post, "/api/admin/batches/{batchId}/cancel") { CancelBatch(try $0.batchID(), reason: try $0.reason()) },
        .command(.post, "/api/admin/batches/{batchId}/orders/{orderId}/cancel") {
            CancelBatchOrder(
                try $0.orderID(1), inBatch: try $0.batchID(), by: try $0.body.cancellingParty(), reason: try $0.reason())
        },
        .command(.post, "/api/admin/batches/{batchId}/orders/{orderId}/return") {
            ReturnBatchOrder(try $0.orderID(1), inBatch: try $0.batchID())
        },
    ]
}

extension EndpointRequest {
    /// The batch in the path. A segment that is no id names no batch.
    fileprivate func batchID() throws(APIError) -> ObjectID {
        guard let id = ObjectID(id) else { throw APIError(RuleError(.unknownBatch)) }
        return id
    }

    /// The order in the path.
    /// - Parameter index: of the segment among the path's parameters.
    fileprivate func orderID(_ index: Int = 0) throws(APIError) -> ObjectID {
        guard let id = ObjectID(parameters[index]) else { throw APIError(RuleError(.unknownBatchOrder)) }
        return id
    }

    fileprivate func reason() throws(APIError) -> String? { try body.text("reason").value }
}
