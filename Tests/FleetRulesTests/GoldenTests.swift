import FleetRules
import Foundation
import Testing

/// What each action says, answers and leaves in the audit, byte for byte: `Golden/*.txt`, written from the contract's table
/// and reviewed like code. `#1` stands for the id of the first notification, and so on.
@Suite struct GoldenTests {
    @Test func assign() throws {
        try expect("assign", decided(Scene.orderDeed(.assign, driver: "42", name: "Dan"), on: Scene.order()))
        try expect("assign-unknown", decided(Scene.orderDeed(.assign, driver: "42"), on: nil as Order?))
        let former = Scene.order(.enRoute, driver: "41", name: "Former")
        try expect("reassign", decided(Scene.orderDeed(.assign, driver: "42"), on: former))
    }

    @Test func unassign() throws {
        let order = Scene.order(.accepted, driver: "42", name: "Dan")
        try expect("unassign", decided(Scene.orderDeed(.unassign, driver: "77", reason: "Broken van"), on: order))
    }

    @Test func cancel() throws {
        let order = Scene.order(.loading, driver: "42", name: "Dan")
        try expect("cancel", decided(Scene.orderDeed(.cancel, driver: "77", reason: "Broken van"), on: order))
        try expect("cancel-without-driver", decided(Scene.orderDeed(.cancel), on: Scene.order()))
    }

    @Test func removeDriver() throws {
        let order = Scene.order(.arrived, driver: "42", name: "Dan")
        try expect("remove-driver", decided(Scene.orderDeed(.removeDriver, reason: "Broken van"), on: order))
    }

    @Test func update() throws {
        var deed = Scene.orderDeed(.update, driver: "77", name: "Nobody")
        deed.changes.customerName = .set("New Name")
        deed.changes.pickupAddress = .clear
        deed.changes.totalGBP = .set(JSONNumber(text: "1e2"))
        try expect("update", decided(deed, on: Scene.order(.loading, driver: "42", name: "Dan")))
    }

    @Test func accept() throws {
        var rules = Scene.rulebook()
        let occasion = Scene.occasion(by: Scene.driver)
        let assigned = Scene.order(.assigned, driver: "42", name: "Dan")
        try expect("accept", rules.acceptJob("ORD-1", on: assigned, occasion))
        try expect("claim", rules.acceptJob("B-1", on: Scene.order(), occasion))
    }

    @Test func progress() throws {
        var rules = Scene.rulebook()
        let occasion = Scene.occasion(by: Scene.driver)
        let loading = Scene.order(.loading, driver: "42", name: "Dan")
        try expect("progress", rules.progress(ProgressReport(step: .inTransit), "ORD-1", on: loading, occasion))
        let driving = Scene.order(.enRoute, driver: "42", name: "Dan")
        try expect("arrive", rules.progress(ProgressReport(step: .arrived), "ORD-1", on: driving, occasion))
    }

    @Test func routes() throws {
        let accepted = Scene.route(.accepted, driver: "42", name: "Dan")
        let assigned = Scene.route(.assigned, driver: "42", name: "Dan")
        let former = Scene.route(.accepted, driver: "41", name: "Former")
        let reason = "Broken van"
        try expect("route-assign", decided(Scene.routeDeed(.assign, driver: "42", name: "Dan"), on: Scene.route()))
        try expect("route-reassign", decided(Scene.routeDeed(.assign, driver: "42"), on: former))
        try expect("route-unassign", decided(Scene.routeDeed(.unassign, driver: "77", reason: reason), on: accepted))
        try expect("route-cancel", decided(Scene.routeDeed(.cancel, driver: "77", reason: reason), on: assigned))
        try expect("route-remove-drop", decided(Scene.routeDeed(.removeDrop("D-9"), driver: "77", reason: reason), on: accepted))
        var deed = Scene.routeDeed(.update, driver: "77", name: "Nobody")
        deed.changes.routeNumber = .set("N18")
        deed.changes.dropsCount = .clear
        try expect("route-update", decided(deed, on: accepted))
    }

    @Test func acceptRoute() throws {
        var rules = Scene.rulebook()
        let occasion = Scene.occasion(by: Scene.driver)
        let assigned = Scene.route(.assigned, driver: "42", name: "Dan")
        try expect("route-accept", rules.acceptRoute("R-1", on: assigned, occasion))
        try expect("route-claim", rules.acceptRoute("R-1", on: Scene.route(), occasion))
    }

    @Test func announce() throws {
        var rules = Scene.rulebook()
        let data = #" {"notificationId":"mine","b" : [1, 2.0],"a":"\u00e9\ud800","correlation\u0049d":{},"a":null} "#
        let batch = Announcement(type: "NEW_BATCH_AVAILABLE", audience: .drivers(["9", "42", "9"]), data: Array(data.utf8))
        try expect("announce-drivers", rules.announce(batch, Scene.occasion()))
        let all = Announcement(type: "driver_arrival", audience: .everyDriver, data: Array(#"{"x":1}"#.utf8))
        try expect("announce-all", rules.announce(all, Scene.occasion()))
    }

    /// A file that no test reads would promise what nobody checks.
    @Test func everyFileIsRead() throws {
        let source = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        #expect(files.count == 22)
        for file in files { #expect(source.contains("\"\(file.deletingPathExtension().lastPathComponent)\"")) }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    private func decided(_ deed: OrderAction, on order: Order?) throws -> DispatchPlan {
        var rules = Scene.rulebook()
        return try rules.plan(deed, on: order, Scene.occasion())
    }

    private func decided(_ deed: RouteAction, on route: Route?) throws -> DispatchPlan {
        var rules = Scene.rulebook()
        return try rules.plan(deed, on: route, Scene.occasion())
    }

    private func expect(_ name: String, _ decision: DispatchPlan, _ location: SourceLocation = #_sourceLocation) throws {
        var golden = try String(contentsOf: Self.folder.appending(path: "\(name).txt"), encoding: .utf8)
        for (index, notification) in decision.notifications.enumerated().reversed() {
            golden.replace("#\(index + 1)", with: notification.id)
        }
        let lines = decision.notifications.flatMap { ["\($0.channel) \($0.event)", $0.text] }
        let audit = try #require(decision.audit, sourceLocation: location)
        let actual = lines + ["answer", decision.answerText, "audit", written(audit)]
        #expect(actual == golden.split(separator: "\n").map(String.init), "\(name)", sourceLocation: location)
    }

    private func written(_ audit: AuditEntry) -> String {
        let subject =
            switch audit.subject {
            case .order(let code): "order \(code)"
            case .route(let id): "route \(id)"
            case .fleet: "fleet"
            }
        let details = audit.details.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
        return "\(audit.action) \(subject) by \(audit.actor) at \(audit.at) \(audit.correlationID): "
            + "\(written(audit.before)) -> \(written(audit.after)); reason \(audit.reason ?? "nil"); \(details)"
    }

    private func written(_ standing: AuditEntry.State?) -> String {
        standing.map { "\($0.status.rawValue) \($0.driverID ?? "nobody")" } ?? "unknown"
    }
}
