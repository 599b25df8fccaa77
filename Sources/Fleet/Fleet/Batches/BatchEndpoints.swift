import Primitives
import PusherAPI

/// The endpoints of batches of orders, which exist while `accounts.enabled` is true.
enum BatchEndpoints {
    /// Of drivers.
    static let ofDrivers = EndpointGroup(
        "/api/delivery", roles: [.driver],
        [
            .query("/api/delivery/available-batches") { .batch(.available(try $0.batchListing()), $0.identity) },
            .query("/api/delivery/my-batch") {
                .batch(.read(.current, correlationID: $0.http.correlationID), $0.identity)
            },
            .query("/api/delivery/batches/{batchId}") {
                .batch(.read(.details(try $0.batchID()), correlationID: $0.http.correlationID), $0.identity)
            },
            .command(.post, "/api/delivery/batches/{batchId}/accept") { .batch(.accept(try $0.batchID())) },
            .command(.patch, "/api/delivery/batches/{batchId}/pickup") {
                .batch(.pickUp(try $0.batchID(), notes: try $0.body.driverNotes()))
            },
            .command(.patch, "/api/delivery/batches/{batchId}/sequence") {
                .batch(.arrange(try $0.batchID(), try $0.body.sequenceEntries()))
            },
            .command(.patch, "/api/delivery/batches/{batchId}/complete") {
                .batch(.complete(try $0.batchID(), notes: try $0.body.driverNotes()))
            },
            .command(.patch, "/api/delivery/orders/{orderId}/status") {
                .batch(.report(try $0.body.deliveryReport(), orderID: try $0.orderID()))
            },
            .query("/api/delivery/summary") {
                .batch(
                    .summary(since: try $0.summaryStart(), currency: $0.router.summaries.currency), $0.identity)
            },
            .query("/api/delivery/availability") { .availability($0.identity) },
            .command(.put, "/api/delivery/availability") { .switchAvailability(isOnline: try $0.body.isOnline()) },
        ])

    /// Of dispatchers, below `/api/admin`.
    static let ofAdmins: [Endpoint] = [
        .query("/api/admin/batches/{batchId}") { .batch(.one(try $0.batchID()), $0.identity) },
        .command(.put, "/api/admin/batches/{batchId}", body: .batchOfOrders) {
            .batch(.edit(try $0.batchID(), try $0.body.batchEdits()))
        },
        .command(.post, "/api/admin/batches/{batchId}/ready") { .batch(.ready(try $0.batchID())) },
        .command(.post, "/api/admin/batches/{batchId}/reassign") {
            guard let driver = try $0.body.id("driverId").value else { throw $0.body.missing("driverId", "a string") }
            return .batch(.reassign(try $0.batchID(), driverID: driver, reason: try $0.reason()))
        },
        .command(.post, "/api/admin/batches/{batchId}/unassign") {
            .batch(.unassign(try $0.batchID(), reason: try $0.reason()))
        },
        .command(.post, "/api/admin/batches/{batchId}/cancel") { .batch(.cancel(try $0.batchID(), reason: try $0.reason())) },
        .command(.post, "/api/admin/batches/{batchId}/orders/{orderId}/cancel") {
            .batch(
                .cancelOrder(
                    try $0.orderID(1), inBatch: try $0.batchID(), by: try $0.body.cancellingParty(), reason: try $0.reason()))
        },
        .command(.post, "/api/admin/batches/{batchId}/orders/{orderId}/return") {
            .batch(.returnOrder(try $0.orderID(1), inBatch: try $0.batchID()))
        },
    ]
}

extension EndpointRequest {
    /// The batch in the path. A segment that is no id names no batch.
    fileprivate func batchID() throws(APIError) -> ObjectID {
        guard let id = ObjectID(id) else { throw APIError(.unknownBatch) }
        return id
    }

    /// The order in the path.
    /// - Parameter index: of the segment among the path's parameters.
    fileprivate func orderID(_ index: Int = 0) throws(APIError) -> ObjectID {
        guard let id = ObjectID(parameters[index]) else { throw APIError(.unknownOrder) }
        return id
    }

    fileprivate func reason() throws(APIError) -> String? { try body.text("reason").value }
}
