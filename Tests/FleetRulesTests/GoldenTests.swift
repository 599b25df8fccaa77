import Fleet
import Foundation
import JSON
import Testing

/// Compares the events, the response and the audit entry of each action with `Golden/*.txt`, byte for byte. The files
/// were not recorded but written from the specification of the events, and are reviewed like code. `#1` stands for the
/// id of the first notification, and so on.
@Suite struct GoldenTests {
    @Test func assign() throws {
        try expect("assign", plan(RulesFixture.orderAction(.assign(to: "42", name: "Dan")), for: RulesFixture.order()))
        try expect("assign-unknown", plan(RulesFixture.orderAction(.assign(to: "42")), for: nil as Order?))
        let former = RulesFixture.order(.enRoute, driver: "41", name: "Former")
        try expect("reassign", plan(RulesFixture.orderAction(.assign(to: "42")), for: former))
    }

    @Test func unassign() throws {
        let order = RulesFixture.order(.accepted, driver: "42", name: "Dan")
        try expect("unassign", plan(RulesFixture.orderAction(.unassign, fallback: "77", reason: "Broken van"), for: order))
    }

    @Test func cancel() throws {
        let order = RulesFixture.order(.loading, driver: "42", name: "Dan")
        try expect("cancel", plan(RulesFixture.orderAction(.cancel, fallback: "77", reason: "Broken van"), for: order))
        try expect("cancel-without-driver", plan(RulesFixture.orderAction(.cancel), for: RulesFixture.order()))
    }

    @Test func removeDriver() throws {
        let order = RulesFixture.order(.arrived, driver: "42", name: "Dan")
        try expect("remove-driver", plan(RulesFixture.orderAction(.removeDriver, reason: "Broken van"), for: order))
    }

    @Test func update() throws {
        var action = RulesFixture.orderAction(.update, fallback: "77")
        action.changes.customerName = .set("New Name")
        action.changes.pickupAddress = .clear
        action.changes.totalGBP = .set(JSONNumber(text: "1e2"))
        try expect("update", plan(action, for: RulesFixture.order(.loading, driver: "42", name: "Dan")))
    }

    @Test func accept() throws {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(by: RulesFixture.driver)
        let assigned = RulesFixture.order(.assigned, driver: "42", name: "Dan")
        try expect("accept", planner.accept(order: assigned, context))
        try expect("claim", planner.accept(order: RulesFixture.order(), context))
    }

    @Test func progress() throws {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(by: RulesFixture.driver)
        let loading = RulesFixture.order(.loading, driver: "42", name: "Dan")
        try expect("progress", planner.progress(ProgressReport(step: .inTransit), of: loading, context))
        let enRoute = RulesFixture.order(.enRoute, driver: "42", name: "Dan")
        try expect("arrive", planner.progress(ProgressReport(step: .arrived), of: enRoute, context))
    }

    @Test func correct() throws {
        var planner = RulesFixture.planner()
        var arrived = RulesFixture.order(.arrived, driver: "42", name: "Dan")
        arrived.trip.arrivedAt = RulesFixture.now - 60_000
        try expect("correct", planner.correctArrival("ORD-1", of: arrived, reason: "Wrong gate", RulesFixture.context()))
        var undo = ProgressReport(step: .enRoute)
        undo.isUndo = true
        try expect("undo", planner.progress(undo, of: arrived, RulesFixture.context(by: RulesFixture.driver)))
    }

    @Test func routes() throws {
        let accepted = RulesFixture.route(.accepted, driver: "42", name: "Dan")
        let assigned = RulesFixture.route(.assigned, driver: "42", name: "Dan")
        let former = RulesFixture.route(.accepted, driver: "41", name: "Former")
        let reason = "Broken van"
        try expect("route-assign", plan(RulesFixture.routeAction(.assign(to: "42", name: "Dan")), for: RulesFixture.route()))
        try expect("route-reassign", plan(RulesFixture.routeAction(.assign(to: "42")), for: former))
        try expect("route-unassign", plan(RulesFixture.routeAction(.unassign, fallback: "77", reason: reason), for: accepted))
        try expect("route-cancel", plan(RulesFixture.routeAction(.cancel, fallback: "77", reason: reason), for: assigned))
        try expect(
            "route-remove-drop",
            plan(RulesFixture.routeAction(.removeDrop("D-9"), fallback: "77", reason: reason), for: accepted))
        var action = RulesFixture.routeAction(.update, fallback: "77")
        action.changes.routeNumber = .set("N18")
        action.changes.dropsCount = .clear
        try expect("route-update", plan(action, for: accepted))
    }

    @Test func acceptRoute() throws {
        var planner = RulesFixture.planner()
        let context = RulesFixture.context(by: RulesFixture.driver)
        let assigned = RulesFixture.route(.assigned, driver: "42", name: "Dan")
        try expect("route-accept", planner.accept(route: assigned, context))
        try expect("route-claim", planner.accept(route: RulesFixture.route(), context))
    }

    @Test func announce() throws {
        var planner = RulesFixture.planner()
        let data = #" {"notificationId":"mine","b" : [1, 2.0],"a":"\u00e9\ud800","correlation\u0049d":{},"a":null} "#
        let batch = Announcement(type: "NEW_BATCH_AVAILABLE", audience: .drivers(["9", "42", "9"]), data: Array(data.utf8))
        try expect("announce-drivers", planner.announce(batch, RulesFixture.context()))
        let all = Announcement(type: "driver_arrival", audience: .everyDriver, data: Array(#"{"x":1}"#.utf8))
        try expect("announce-all", planner.announce(all, RulesFixture.context()))
    }

    /// A file that no test reads checks nothing.
    @Test func testsReadEveryFile() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        #expect(files.count == 24)
        for file in files { #expect(source.contains("\"\(file.deletingPathExtension().lastPathComponent)\"")) }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    private func plan(_ action: OrderAction, for order: Order?) throws -> DispatchPlan {
        var planner = RulesFixture.planner()
        return try planner.plan(action, for: order, RulesFixture.context())
    }

    private func plan(_ action: RouteAction, for route: Route?) throws -> DispatchPlan {
        var planner = RulesFixture.planner()
        return try planner.plan(action, for: route, RulesFixture.context())
    }

    private func expect(_ name: String, _ plan: DispatchPlan, _ location: SourceLocation = #_sourceLocation) throws {
        var golden = try String(contentsOf: Self.folder.appending(path: "\(name).txt"), encoding: .utf8)
        for (index, notification) in plan.notifications.enumerated().reversed() {
            golden.replace("#\(index + 1)", with: notification.id)
        }
        let lines = plan.notifications.flatMap { ["\($0.channel) \($0.event)", $0.text] }
        let audit = try #require(plan.audit, sourceLocation: location)
        let actual = lines + ["response", plan.responseText, "audit", describe(audit)]
        #expect(actual == golden.split(separator: "\n").map(String.init), "\(name)", sourceLocation: location)
    }

    private func describe(_ audit: AuditEntry) -> String {
        let subject =
            switch audit.subject {
            case .order(let code): "order \(code)"
            case .route(let id): "route \(id)"
            case .account(let id): "account \(id)"
            case .batch(let id): "batch \(id)"
            case .fleet: "fleet"
            }
        let details = audit.details.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
        return "\(audit.action) \(subject) by \(audit.actor) at \(audit.at) \(audit.correlationID): "
            + "\(describe(audit.before)) -> \(describe(audit.after)); reason \(audit.reason ?? "nil"); details \(details)"
    }

    private func describe(_ state: AuditEntry.State?) -> String {
        state.map { "\($0.status), driver \($0.driverID ?? "nil")" } ?? "nil"
    }
}
