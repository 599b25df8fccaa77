import Access
import FleetRules
import Glibc
import Testing

@testable import Store

/// Data that an erasure reaches later: open orders, stored responses of other people, deleted content in the files.
@Suite struct ErasureEndTests {
    private let room = TemporaryStore()

    private func erase(_ role: Role, _ id: String) -> Command { command(.erase(role, id: id), correlationID: "c-e") }

    /// Assigns an order of customer 7; name and addresses are in the order and in its notifications.
    private func place(_ code: String, _ ledger: CommandExecutor, key: String? = nil, at now: Int64 = noon) throws {
        var changes = OrderChanges()
        changes.customerID = .set("7")
        changes.customerName = .set("Zeb Quix")
        changes.pickupAddress = .set("From-\(code)")
        changes.dropoffAddress = .set("To-\(code)")
        _ = try ledger.settle(assign(code, to: "42", key: key, changes: changes), at: now)
    }

    /// Runs retention, then the background tasks that it starts.
    private func goOn(_ ledger: CommandExecutor, at now: Int64) throws {
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(ledger, now) }
        try ledger.doChores()
    }

    private func everything(_ ledger: CommandExecutor) throws -> String {
        let tables = try ledger.database.dump("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return try tables.flatMap { try ledger.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
    }

    // MARK: Open orders

    @Test func redactsAddressesWhenTheOrderEnds() throws {
        let ledger = try room.pushing()
        for code in ["A", "B"] { try place(code, ledger) }
        _ = try ledger.settle(erase(.customer, "7"))
        try ledger.doChores()
        #expect(try ledger.database.dump("SELECT names FROM erasures") == ["[]"])
        try place("C", ledger, at: noon + 1)
        try goOn(ledger, at: noon + 2)
        var left = try everything(ledger)
        #expect(left.contains("To-A") && left.contains("To-B"), "open: the driver needs the address")

        _ = try ledger.settle(order(.cancel, "A"), at: noon + 3)
        try goOn(ledger, at: noon + 4)
        left = try everything(ledger)
        #expect(!left.contains("From-A") && !left.contains("To-A") && left.contains("To-B"))
        #expect(try ledger.count("erasures") == 1)

        _ = try ledger.settle(order(.cancel, "B"), at: noon + 5)
        _ = try ledger.settle(order(.cancel, "C"), at: noon + 5)
        try goOn(ledger, at: noon + 6)
        left = try everything(ledger)
        #expect(!left.contains("From-B") && !left.contains("To-B"))
        #expect(try ledger.count("erasures") == 0)
        try place("D", ledger, at: noon + 7)
        try goOn(ledger, at: noon + 8)
        #expect(try ledger.database.dump("SELECT code FROM orders WHERE customer_name IS NOT NULL") == ["D"])
    }

    /// Each action on an open job writes the driver's name again: it is in the token.
    @Test func redactsNamesWhenTheLastJobEnds() throws {
        let ledger = try room.pushing()
        let zeb = Identity(role: .driver, id: "42", name: "Zeb Quix")
        _ = try ledger.settle(assign("A", to: "42"))
        _ = try ledger.settle(erase(.driver, "42"))
        try ledger.doChores()
        _ = try ledger.settle(command(.acceptJob("A"), by: zeb, key: "accept"), at: noon + 1)
        for step in [JobStatus.enRoute, .arrived] {
            var report = ProgressReport(step: step)
            report.notes = "Zeb Quix is near"
            _ = try ledger.settle(command(.progress("A", report), by: zeb), at: noon + 2)
        }
        try goOn(ledger, at: noon + 3)
        #expect(try everything(ledger).contains("Zeb Quix") && ledger.count("erasures") == 1)
        _ = try ledger.settle(order(.unassign, "A"), at: noon + 4)
        try goOn(ledger, at: noon + 5)
        #expect(try !everything(ledger).contains("Zeb Quix") && ledger.count("erasures") == 0)
    }

    // MARK: Stored responses

    @Test func redactsStoredResponsesOfOthers() throws {
        let ledger = try room.pushing()
        try ledger.transaction { () throws(DatabaseError) in
            for number in 0..<1_300 { _ = try ledger.execute(assign("B\(number)", to: "43", key: "b\(number)"), now: noon) }
        }
        try place("A", ledger, key: "a", at: noon + 1)
        let before = try ledger.dump("idempotency").filter { !$0.contains("Zeb Quix") }
        #expect(before.count == 1_300)
        _ = try ledger.settle(erase(.customer, "7"), at: noon + 2)
        try ledger.doChores()
        let again = try ledger.settle(assign("A", to: "42", key: "a"), at: noon + 3)
        #expect(again.isReplay && again.status == 200)
        #expect(again.text.contains(#""customerId":"7","customerName":null,"pickupAddress":null,"dropoffAddress":null"#))
        #expect(again.text.contains(#""code":"A""#) && again.text.contains(#""notificationIds":[""#))
        #expect(try ledger.settle(assign("A", to: "42", key: "a", digest: [2]), at: noon + 3).status == 409)
        #expect(try ledger.dump("idempotency").filter { !$0.contains(#""customerId":"7""#) } == before)
    }

    @Test func redactsAnnouncementsToThePerson() throws {
        let ledger = try room.pushing()
        try place("A", ledger)
        let data = Array(#"{"message":"Hello Zeb Quix","customerName":null}"#.utf8)
        _ = try ledger.settle(command(.announce(Announcement(type: "HELLO", audience: .customer("7"), data: data))))
        _ = try ledger.settle(erase(.customer, "7"))
        try ledger.doChores()
        #expect(
            try ledger.database.dump("SELECT data FROM notifications WHERE channel = 'customer-7' AND data LIKE '%Hello%'")
                .allSatisfy { $0.contains("Hello [erased]") })
        #expect(try !everything(ledger).contains("Zeb Quix"))
    }

    // MARK: Files

    private func isInFiles(_ text: String) -> Bool {
        ["", "-wal"].contains { suffix in
            let descriptor = open(room.path + suffix, O_RDONLY)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 1 << 25)
            let count = read(descriptor, &bytes, bytes.count)
            return Self.contains(bytes[..<max(0, count)], Array(text.utf8))
        }
    }

    private static func contains(_ bytes: ArraySlice<UInt8>, _ text: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { buffer in
            guard var place = buffer.baseAddress else { return false }
            let end = place + buffer.count
            while let next = memchr(place, Int32(text[0]), end - place) {
                if end - UnsafeRawPointer(next) >= text.count, memcmp(next, text, text.count) == 0 { return true }
                place = UnsafeRawPointer(next) + 1
            }
            return false
        }
    }

    @Test func filesContainNoErasedData() throws {
        let ledger = try room.pushing()
        for number in 0..<300 {
            try place("A\(number)", ledger, key: "k\(number)")
            if number.isMultiple(of: 7) { try ledger.database.checkpoint() }
            _ = try ledger.settle(order(.cancel, "A\(number)"))
        }
        _ = try ledger.settle(register(fcm("a"), by: customer("7")))
        #expect(isInFiles("Zeb Quix") && isInFiles("From-A"))
        _ = try ledger.settle(erase(.customer, "7"))
        try ledger.doChores()
        #expect(!isInFiles("Zeb Quix") && !isInFiles("From-A") && !isInFiles("To-A"))
    }

    /// The checkpoint does not wait for readers, and readers do not wait for it.
    @Test func readerDelaysOnlyTheCheckpoint() throws {
        let ledger = try room.pushing()
        try place("A", ledger)
        try ledger.doChores()
        let reader = try Database.open(readingFrom: room.path)
        try reader.run("BEGIN")
        #expect(try reader.dump("SELECT customer_name FROM orders") == ["Zeb Quix"])
        _ = try ledger.settle(erase(.customer, "7"))
        do {
            try ledger.doChores()
            Issue.record("there is a reader")
        } catch {
            #expect((error as? DatabaseError)?.isBusy == true)
        }
        #expect(ledger.backgroundTasks == [.checkpoint] && isInFiles("Zeb Quix"))
        #expect(try reader.dump("SELECT customer_name FROM orders") == ["Zeb Quix"])
        try reader.run("COMMIT")
        try ledger.doChores()
        #expect(!isInFiles("Zeb Quix"))
    }
}
