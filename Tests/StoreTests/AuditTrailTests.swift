import Primitives
import Testing

@testable import Fleet

@Suite struct AuditTrailTests {
    private let store = TemporaryStore()

    private func entries(of subject: AuditEntry.Subject) throws -> [AuditEntry] {
        var entries: [AuditEntry] = []
        try AuditTrail(store.address).entries(of: subject) { entries.append($0) }
        return entries
    }

    @Test func listsEntriesOfAnOrder() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(assign("B", to: "42"), at: noon + 1)
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42"), correlationID: "c-2"), at: noon + 2)
        var report = ProgressReport(step: .enRoute)
        report.notes = "it's \"raining\"; --"
        _ = try executor.commit(command(ReportProgress("A", report), by: driver("42")), at: noon + 3)
        var cancel = OrderAction(code: "A", .cancel)
        cancel.reason = "nobody's home"
        _ = try executor.commit(command(cancel), at: noon + 4)
        // The executor still has the store open while the entries are read.
        let found = try entries(of: .order("A"))
        #expect(found.map(\.action) == ["assign", "accept", "progress", "cancel"])
        #expect(found.map(\.at) == [noon, noon + 2, noon + 3, noon + 4])
        #expect(found.map(\.actor) == ["admin:1", "driver:42", "driver:42", "admin:1"])
        #expect(found.map(\.correlationID) == ["c-1", "c-2", "c-1", "c-1"])
        #expect(found.map(\.before?.jobStatus) == [nil, .assigned, .accepted, .enRoute])
        #expect(found.map(\.after?.jobStatus) == [.assigned, .accepted, .enRoute, .cancelled])
        #expect(found.map(\.after?.driverID) == ["42", "42", "42", "42"])
        #expect(found[2].details == Array(#"{"notes":"it's \"raining\"; --"}"#.utf8))
        #expect(found[3].reason == "nobody's home")
        #expect(found.allSatisfy { $0.subject == .order("A") })
        #expect(try entries(of: .order("unknown")) == [])
        #expect(try entries(of: .route("A")) == [])
    }

    @Test func listsEntriesOfARoute() throws {
        do {
            let executor = try store.executor()
            _ = try executor.commit(command(RouteAction(id: "R", .assign(.init(id: Identifier("42"))))))
            _ = try executor.commit(command(AcceptRoute("R"), by: driver("42")))
        }
        #expect(try entries(of: .route("R")).map(\.action) == ["assign", "accept"])
    }

    @Test(.fileOnly) func missingStoreIsAnError() {
        #expect(throws: StoreError.unreachable(store.address, detail: "unable to open database file")) {
            try AuditTrail(store.address)
        }
    }
}
