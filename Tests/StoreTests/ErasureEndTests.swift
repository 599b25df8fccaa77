import Access
import Glibc
import Testing

@testable import Fleet

/// Data that is erased after the erasure's own transaction: open orders, stored responses to other people, and deleted
/// content in the files.
@Suite struct ErasureEndTests {
    private let store = TemporaryStore()

    private func erase(_ role: Role, _ id: String) -> IssuedCommand { command(Erase(role, id: id), correlationID: "c-e") }

    /// Assigns a new order of customer 7 to driver 42. The order and its notifications contain the customer's name and
    /// addresses.
    private func place(_ code: String, _ executor: CommandExecutor, key: String? = nil, at now: Int64 = noon) throws {
        var changes = OrderChanges()
        changes.customerID = .set("7")
        changes.customerName = .set("Zeb Quix")
        changes.pickupAddress = .set("From-\(code)")
        changes.dropoffAddress = .set("To-\(code)")
        changes.pickupCoordinates = .set(coordinates("51.98765", "-0.98765"))
        changes.dropoffCoordinates = .set(coordinates("52.98765", "-1.98765"))
        _ = try executor.commit(assign(code, to: "42", key: key, changes: changes), at: now)
    }

    /// Runs retention, then the background tasks that it starts.
    private func runRetention(_ executor: CommandExecutor, at now: Int64) throws {
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        try executor.runBackgroundTasks()
    }

    /// The content of all tables, one row per line.
    private func everything(_ executor: CommandExecutor) throws -> String {
        let tables = try executor.database.tableNames()
        return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
    }

    // MARK: Open orders

    @Test func redactsAddressesWhenTheOrderEnds() throws {
        let executor = try store.pushing()
        for code in ["A", "B"] { try place(code, executor) }
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        #expect(try executor.database.dump("SELECT names FROM erasures") == ["[]"])
        try place("C", executor, at: noon + 1)
        try runRetention(executor, at: noon + 2)
        var left = try everything(executor)
        #expect(left.contains("To-A") && left.contains("To-B"), "the orders are open: the driver needs the addresses")

        _ = try executor.commit(order(.cancel, "A"), at: noon + 3)
        try runRetention(executor, at: noon + 4)
        left = try everything(executor)
        #expect(!left.contains("From-A") && !left.contains("To-A") && left.contains("To-B"))
        #expect(try executor.count("erasures") == 1)

        _ = try executor.commit(order(.cancel, "B"), at: noon + 5)
        _ = try executor.commit(order(.cancel, "C"), at: noon + 5)
        try runRetention(executor, at: noon + 6)
        left = try everything(executor)
        #expect(!left.contains("From-B") && !left.contains("To-B") && !left.contains(".98765"))
        #expect(try executor.count("erasures") == 0)
        try place("D", executor, at: noon + 7)
        try runRetention(executor, at: noon + 8)
        #expect(try executor.database.dump("SELECT code FROM orders WHERE customer_name IS NOT NULL") == ["D"])
    }

    /// A dispatcher may give an open order coordinates after the customer was erased, and nothing else.
    @Test(arguments: [true, false]) func removesCoordinatesWhenTheOrderEnds(isPickup: Bool) throws {
        let executor = try store.pushing()
        for code in ["A", "B"] { try place(code, executor) }
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        var action = OrderAction(code: "A", .cancel)
        (action.changes.pickupAddress, action.changes.dropoffAddress) = (.clear, .clear)
        action.changes.pickupCoordinates = isPickup ? .keep : .clear
        action.changes.dropoffCoordinates = isPickup ? .clear : .keep
        _ = try executor.commit(command(action), at: noon + 1)
        try runRetention(executor, at: noon + 2)
        #expect(
            try executor.database.dump("SELECT code FROM orders WHERE COALESCE(pickup_latitude, dropoff_longitude) IS NOT NULL")
                == ["B"])
    }

    /// Each action on an open job writes the driver's name again, because the driver's JWT contains the name.
    @Test func redactsNamesWhenTheLastJobEnds() throws {
        let executor = try store.pushing()
        let zeb = Identity(role: .driver, id: "42", name: "Zeb Quix")
        _ = try executor.commit(assign("A", to: "42"))
        _ = try executor.commit(erase(.driver, "42"))
        try executor.runBackgroundTasks()
        _ = try executor.commit(command(AcceptJob("A"), by: zeb, key: "accept"), at: noon + 1)
        for step in [JobStatus.enRoute, .arrived] {
            var report = ProgressReport(step: step)
            report.notes = "Zeb Quix is near"
            _ = try executor.commit(command(ReportProgress("A", report), by: zeb), at: noon + 2)
        }
        try runRetention(executor, at: noon + 3)
        #expect(try everything(executor).contains("Zeb Quix") && executor.count("erasures") == 1)
        _ = try executor.commit(order(.unassign, "A"), at: noon + 4)
        try runRetention(executor, at: noon + 5)
        #expect(try !everything(executor).contains("Zeb Quix") && executor.count("erasures") == 0)
    }

    // MARK: Stored responses

    @Test func redactsStoredResponsesToOthers() throws {
        let executor = try store.pushing()
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<1_300 { _ = try executor.execute(assign("B\(number)", to: "43", key: "b\(number)"), now: noon) }
        }
        try place("A", executor, key: "a", at: noon + 1)
        let before = try executor.dump("idempotency").filter { !$0.contains("Zeb Quix") }
        #expect(before.count == 1_300)
        _ = try executor.commit(erase(.customer, "7"), at: noon + 2)
        try executor.runBackgroundTasks()
        let again = try executor.commit(assign("A", to: "42", key: "a"), at: noon + 3)
        #expect(again.isReplay && again.status == 200)
        #expect(again.text.contains(#""customerId":"7","customerName":null,"pickupAddress":null,"dropoffAddress":null"#))
        #expect(again.text.contains(#""pickupLatitude":null,"pickupLongitude":null,"dropoffLatitude":null,"#))
        #expect(again.text.contains(#""dropoffLongitude":null,"#))
        #expect(again.text.contains(#""code":"A""#) && again.text.contains(#""notificationIds":[""#))
        #expect(try executor.commit(assign("A", to: "42", key: "a", digest: [2]), at: noon + 3).status == 409)
        #expect(try executor.dump("idempotency").filter { !$0.contains(#""customerId":"7""#) } == before)
    }

    @Test func redactsAnnouncementsToThePerson() throws {
        let executor = try store.pushing()
        try place("A", executor)
        let data = Array(#"{"message":"Hello Zeb Quix","customerName":null}"#.utf8)
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .customer("7"), data: data))))
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        #expect(
            try executor.database.notificationData(where: "channel = 'customer-7'").filter { $0.contains("Hello") }
                .allSatisfy { $0.contains("Hello [erased]") })
        #expect(try !everything(executor).contains("Zeb Quix"))
    }

    // MARK: Files

    /// Whether the first 32 MiB of the database file or of its write-ahead log contain a text.
    private func isInFiles(_ text: String) -> Bool {
        ["", "-wal"].contains { suffix in
            let descriptor = open(store.path + suffix, O_RDONLY)
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

    @Test(.fileOnly) func filesContainNoErasedData() throws {
        let executor = try store.pushing()
        for number in 0..<300 {
            try place("A\(number)", executor, key: "k\(number)")
            if number.isMultiple(of: 7) { try executor.database.sqlite?.checkpoint() }
            _ = try executor.commit(order(.cancel, "A\(number)"))
        }
        _ = try executor.commit(register(fcm("a"), by: customer("7")))
        #expect(isInFiles("Zeb Quix") && isInFiles("From-A") && isInFiles("51.98765"))
        _ = try executor.commit(erase(.customer, "7"))
        try executor.runBackgroundTasks()
        #expect(!isInFiles("Zeb Quix") && !isInFiles("From-A") && !isInFiles("To-A") && !isInFiles(".98765"))
    }

    /// The checkpoint fails at once while there is a reader. The reader does not wait for the checkpoint.
    @Test(.fileOnly) func readerDelaysOnlyTheCheckpoint() throws {
        let executor = try store.pushing()
        try place("A", executor)
        try executor.runBackgroundTasks()
        let reader = try Database.open(readingFrom: store.address)
        try reader.run("BEGIN")
        #expect(try reader.dump("SELECT customer_name FROM orders") == ["Zeb Quix"])
        _ = try executor.commit(erase(.customer, "7"))
        do {
            try executor.runBackgroundTasks()
            Issue.record("the checkpoint succeeded although there is a reader")
        } catch {
            #expect((error as? DatabaseError)?.isBusy == true)
        }
        #expect(executor.backgroundTasks == [.checkpoint] && isInFiles("Zeb Quix"))
        #expect(try reader.dump("SELECT customer_name FROM orders") == ["Zeb Quix"])
        try reader.run("COMMIT")
        try executor.runBackgroundTasks()
        #expect(!isInFiles("Zeb Quix"))
    }
}
