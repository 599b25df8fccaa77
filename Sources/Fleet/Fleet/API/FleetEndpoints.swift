import Access
import HTTP

/// The endpoints of the fleet's API (docs/api.md, "Fleet"), by prefix.
enum FleetEndpoints {
    /// Roles that may read the gateway's state.
    static let opsRoles: [Role] = [.admin, .ops]
    /// Roles that have devices and notifications of their own.
    private static let recipientRoles: [Role] = [.driver, .customer]

    /// ``groups`` with the endpoints of accounts and of batches, for a gateway that keeps accounts.
    static let groupsWithAccounts =
        groups.map { group in
            switch group.path {
            case "/api/auth": group.adding(AccountEndpoints.ofDrivers)
            case "/api/admin": group.adding(AccountEndpoints.ofAdmins + BatchEndpoints.ofAdmins)
            default: group
            }
        } + [BatchEndpoints.ofDrivers]

    static let groups: [EndpointGroup] = [
        EndpointGroup(
            "/pusher",
            [
                .authorization("/pusher/auth") {
                    .fleet(.authorize(try ChannelAuthorization($0.http, $0.identity, $0.router)))
                }.admitting(.any),
                .authorization("/pusher/user-auth") {
                    .fleet(.authenticate(try UserAuthentication($0.http, $0.identity, $0.router.app)))
                }.admitting(.any),
            ]),
        EndpointGroup(
            "/api/admin", roles: [.admin],
            [
                .query("/api/admin/orders/{code}") { .order(try $0.id("code")) },
                .command(.put, "/api/admin/orders/{code}") { .order(try $0.body.orderAction($0.id, .update)) },
                .command(.post, "/api/admin/orders/{code}/assign-driver") { .order(try $0.body.orderAssignment($0.id)) },
                .command(.post, "/api/admin/orders/{code}/unassign") { .order(try $0.body.orderAction($0.id, .unassign)) },
                .command(.post, "/api/admin/orders/{code}/cancel-enhanced") { .order(try $0.body.orderAction($0.id, .cancel)) },
                .command(.post, "/api/admin/orders/{code}/remove-driver") {
                    .order(try $0.body.orderAction($0.id, .removeDriver))
                },
                .command(.post, "/api/admin/orders/{code}/correct") {
                    .correctArrival(try $0.id("code"), reason: try $0.body.correctionReason())
                },
                .query("/api/admin/routes/{routeId}") { .route(try $0.id("routeId")) },
                .command(.put, "/api/admin/routes/{routeId}") { .route(try $0.body.routeAction($0.id, .update)) },
                .command(.post, "/api/admin/routes/{routeId}/assign-driver") { .route(try $0.body.routeAssignment($0.id)) },
                .command(.post, "/api/admin/routes/{routeId}/unassign") { .route(try $0.body.routeAction($0.id, .unassign)) },
                .command(.post, "/api/admin/routes/{routeId}/cancel") { .route(try $0.body.routeAction($0.id, .cancel)) },
                .command(.post, "/api/admin/routes/{routeId}/drops/{dropId}/remove") {
                    .route(try $0.body.routeAction($0.id, .removeDrop($0.parameters[1])))
                },
                .action(.get, "/api/admin/drivers/positions") { _ in .fleet(.driverPositions) },
                .query("/api/admin/drivers/{id}") { .driver(try JSONBody.checkedDriverID($0.id)) },
                .command(.put, "/api/admin/drivers/{id}") {
                    .driverCard(driverID: try JSONBody.checkedDriverID($0.id), try $0.body.driverCardChanges())
                },
                .command(.post, "/api/admin/notifications", body: .listAndEventData) {
                    .announce(try $0.body.announcement(isKnown: $0.router.isCatalogued))
                },
                .command(.post, "/api/admin/notifications/{id}/remind") {
                    .remind(notificationID: try $0.id("notification id"))
                },
                .command(.delete, "/api/admin/people/driver/{id}") { .erase(.driver, id: try $0.id("id")) },
                .command(.delete, "/api/admin/people/customer/{id}") { .erase(.customer, id: try $0.id("id")) },
            ]),
        EndpointGroup(
            "/api/driver", roles: [.driver],
            [
                .query("/api/driver/jobs") { .jobs(driverID: $0.identity.id) },
                .command(.post, "/api/driver/jobs/{id}/accept") { .acceptJob(try $0.id("id")) },
                .command(.put, "/api/driver/jobs/{id}/progress") {
                    .progress(try $0.id("id"), try $0.body.progressReport())
                },
                .location("/api/driver/location") { .fleet(.locate(try $0.body.positions(), $0.identity)) },
                .command(.post, "/api/driver/routes/{id}/accept") { .acceptRoute(try $0.id("id")) },
            ] + recipientEndpoints("/api/driver")),
        EndpointGroup("/api/customer", roles: [.customer], recipientEndpoints("/api/customer")),
        EndpointGroup(
            "/app-trip-status",
            [.action(.get, "/app-trip-status") { .fleet(.tripStatus(reference: try $0.reference(), $0.identity)) }]),
        EndpointGroup(
            "/api/auth",
            [
                // Registrations ignore an idempotency key: executing one again has the same effect, and a stored
                // response would claim that a device is registered that was removed since.
                .command(.post, "/api/auth/fcm-token", roles: recipientRoles, acceptsKey: false) {
                    .device(try $0.body.fcmDevice($0.http))
                }.admitting(.any),
                .command(.delete, "/api/auth/fcm-token", roles: recipientRoles, acceptsKey: false) {
                    .device(try $0.body.fcmDevice($0.http))
                }.admitting(.removal),
            ]),
        EndpointGroup(
            "/app-register-device",
            [
                .command(.post, "/app-register-device", roles: recipientRoles, acceptsKey: false) {
                    .device(try $0.body.appDevice($0.http))
                }.admitting(.any),
                .command(.delete, "/app-register-device", roles: recipientRoles, acceptsKey: false) {
                    .device(try $0.body.appDevice($0.http))
                }.admitting(.any),
            ]),
        EndpointGroup(
            "/api/ops", roles: opsRoles,
            [
                .action(.get, "/api/ops/stats") { .stats(ofCluster: $0.http.queryValue("cluster") == "true") },
                .action(.get, "/api/ops/push") { _ in .fleet(.pushReport) },
                .query("/api/ops/notifications") {
                    .notificationLog(try $0.notificationListing(), before: try $0.before(), limit: try $0.limit())
                },
                .query("/api/ops/notifications/{id}") {
                    .notificationHistory(notificationID: try JSONBody.checkedReportedID($0.id, field: "notification id"))
                },
                .query("/api/ops/notifications/{id}/recipients") {
                    .notificationRecipients(notificationID: try $0.id("notification id"))
                },
                .action(.get, "/api/ops/connections") { .ops(try $0.connectionQuery()) },
                .action(.get, "/api/ops/channels") { .ops(try $0.channelQuery()) },
                .query("/api/ops/delivery") { _ in .deliveryFigures },
            ]),
    ]

    /// The endpoints that drivers and customers have in common.
    private static func recipientEndpoints(_ prefix: String) -> [Endpoint] {
        [
            .query(prefix + "/notifications") {
                .notifications(of: $0.identity, before: try $0.before(), limit: try $0.limit())
            }.admitting(.any),
            .command(.post, prefix + "/notifications/read", body: .list) { .markRead(try $0.body.readMarks()) },
            .command(.post, prefix + "/notifications/log", body: .list) {
                .telemetry(try $0.body.telemetry(isKnown: $0.router.isCatalogued))
            },
            .query(prefix + "/devices") { .devices($0.identity) }.admitting(.any),
            .query(prefix + "/preferences") { .preferences($0.identity) }.admitting(.any),
            .command(.put, prefix + "/preferences") {
                .updatePreferences(try $0.body.preferenceChanges(isTimeZone: $0.router.isTimeZone, isKnown: $0.router.isPushedAs))
            }.admitting(.any),
        ]
    }
}
