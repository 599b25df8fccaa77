import FleetRules
import Primitives
import Testing

@testable import Store

@Suite struct AuditTrailTests {
    private let room = TemporaryStore()

    private func entries(of subject: AuditEntry.Subject) throws -> [AuditEntry] {
        var entries: [AuditEntry] = []
        try AuditTrail(path: room.path).entries(of: subject) { entries.append($0) }
        return entries
    }

    @Test func saysWhoDidWhatAndWhen() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(assign("B", to: "42"), at: noon + 1)
        _ = try ledger.settle(command(.acceptJob("A"), by: driver("42"), correlationID: "c-2"), at: noon + 2)
        var report = ProgressReport(step: .enRoute)
        report.notes = "it's \"raining\"; --"
        _ = try ledger.settle(command(.progress("A", report), by: driver("42")), at: noon + 3)
        var cancel = OrderAction(code: "A", .cancel)
        cancel.reason = "nobody's home"
        _ = try ledger.settle(command(.order(cancel)), at: noon + 4)
        // Beside the writer, and after it.
        let found = try entries(of: .order("A"))
        #expect(found.map(\.action) == ["assign", "accept", "progress", "cancel"])
        #expect(found.map(\.at) == [noon, noon + 2, noon + 3, noon + 4])
        #expect(found.map(\.actor) == ["admin:1", "driver:42", "driver:42", "admin:1"])
        #expect(found.map(\.correlationID) == ["c-1", "c-2", "c-1", "c-1"])
        #expect(found.map(\.before?.status) == [nil, .assigned, .accepted, .enRoute])
        #expect(found.map(\.after?.status) == [.assigned, .accepted, .enRoute, .cancelled])
        #expect(found.map(\.after?.driverID) == ["42", "42", "42", "42"])
        #expect(found[2].details == Array(#"{"notes":"it's \"raining\"; --"}"#.utf8))
        #expect(found[3].reason == "nobody's home")
        #expect(found.allSatisfy { $0.subject == .order("A") })
        #expect(try entries(of: .order("unknown")) == [])
        #expect(try entries(of: .route("A")) == [])
    }

    @Test func knowsRoutesToo() throws {
        do {
            let ledger = try room.ledger()
            _ = try ledger.settle(command(.route(RouteAction(id: "R", .assign(.init(id: Identifier("42")))))))
            _ = try ledger.settle(command(.acceptRoute("R"), by: driver("42")))
        }
        #expect(try entries(of: .route("R")).map(\.action) == ["assign", "accept"])
    }

    @Test func needsAStore() {
        #expect(throws: StoreError.unreachable(path: room.path, detail: "unable to open database file")) {
            try AuditTrail(path: room.path)
        }
    }
}
