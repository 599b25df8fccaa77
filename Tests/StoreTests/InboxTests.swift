import Access
import Testing

@testable import Fleet

/// What a customer can list: the notifications of the customer's own channel, and those of bookings that were pushed to
/// the customer.
@Suite struct InboxTests {
    private let store = TemporaryStore()

    private func list(_ person: Identity, before: String? = nil, limit: Int = 50) throws -> [String] {
        try store.response(to: .notifications(of: person, before: before, limit: limit)).get()
            .matches(of: /"id":"([^"]*)"/).map { String($0.1) }
    }

    private func events(_ person: Identity) throws -> [String] {
        try store.response(to: .notifications(of: person, before: nil, limit: 50)).get()
            .matches(of: /"event":"([^"]*)","channel":"([^"]*)"/).map { "\($0.2) \($0.1)" }
    }

    /// Takes the driver off order A. Returns the id of the booking's `driver-removed`.
    private func removeDriver(_ executor: CommandExecutor, _ code: String = "A", at now: Int64 = noon) throws -> String {
        _ = try executor.commit(assign(code, to: "42"), at: now)
        let notifications = try executor.commit(order(.removeDriver, code), at: now).notifications
        return try #require(notifications.first { $0.event == "driver-removed" }).id
    }

    private func greet(_ executor: CommandExecutor, _ id: String, at now: Int64 = noon) throws -> String {
        let greeting = Announcement(type: "HELLO", audience: .customer(id), data: Array("{}".utf8))
        return try executor.commit(command(Announce(greeting)), at: now).notifications[0].id
    }

    @Test func listsWhatIsPushedToTheOrdersCustomer() throws {
        let executor = try store.pushing([])
        var changes = OrderChanges()
        changes.customerID = .set("7")
        _ = try executor.commit(assign("A", to: "42", changes: changes))
        for (action, now) in [
            (AcceptJob("A"), 1), (ReportProgress("A", ProgressReport(step: .enRoute)), 2),
            (ReportProgress("A", ProgressReport(step: .arrived)), 3),
        ] as [(any Command, Int)] { _ = try executor.commit(command(action, by: driver("42")), at: noon + Int64(now)) }
        _ = try executor.commit(order(.removeDriver, "A"), at: noon + 4)
        #expect(try events(customer("7")) == ["booking-A driver-removed", "booking-A driver-arrival"])
        #expect(try events(customer("8", bookings: ["A"])) == [], "the order names its customer")
        #expect(try events(driver("42")).allSatisfy { $0.hasPrefix("driver-42 ") })
    }

    @Test func listsWhatIsPushedToTheBookingsCustomers() throws {
        let executor = try store.pushing()
        for id in ["7", "8"] { _ = try executor.commit(register(fcm(id), by: customer(id, bookings: ["A"]))) }
        let id = try removeDriver(executor)
        // The recipients are those when the event was created.
        _ = try executor.commit(register(fcm("9"), by: customer("9", bookings: ["A"])))
        #expect(try ["7", "8", "9"].map { try list(customer($0)) } == [[id], [id], []])
    }

    /// The sixth customer gets what the others get. No household has more than fifty; if one has, that is counted.
    @Test func aBookingHasFiftyCustomers() throws {
        let rule = NotificationRules.Rule(lifetimeSeconds: 3_600, collapsesByJob: true)
        let executor = try store.executor {
            $0.lanes = [.fcm]
            $0.rules = NotificationRules(rules: ["driver-removed": rule])
        }
        let people = (0..<51).map { customer("\(1_000 + $0)", bookings: ["A"]) }
        try executor.transaction { () throws(DatabaseError) in
            for person in people.dropLast() { _ = try executor.execute(register(fcm(person.id), by: person), now: noon) }
        }
        _ = executor.counter.drain()
        let id = try removeDriver(executor)
        #expect(executor.counter.drain().crowdedBookings == 0)
        #expect(try people.dropLast().allSatisfy { try list($0) == [id] })
        #expect(try executor.jobs().count { $0.hasPrefix("customer:") } == 50)
        // The transactions check that they write no more rows than they declare, also with those that are superseded.
        for index in 0..<50 { _ = try executor.commit(register(fcm("b\(index)"), by: people[index])) }
        _ = try executor.commit(register(fcm("last"), by: people[50]))
        let next = try removeDriver(executor, at: noon + 1)
        #expect(executor.counter.drain().crowdedBookings == 1)
        #expect(try people.map { try list($0).first == next } == Array(repeating: true, count: 50) + [false])
        #expect(try executor.database.dump("SELECT COUNT(*) FROM push_jobs WHERE state = 'queued'") == ["100"])
    }

    @Test func pagesThroughBothKindsNewestFirst() throws {
        let executor = try store.pushing()
        let me = customer("7", bookings: ["A"])
        _ = try executor.commit(register(fcm("7"), by: me))
        var ids: [String] = []
        for number in 0..<9 {
            let now = noon + Int64(number)
            ids.append(number % 3 == 1 ? try removeDriver(executor, at: now) : try greet(executor, "7", at: now))
        }
        ids.reverse()
        #expect(try list(me) == ids)
        for limit in 1...9 {
            var pages: [String] = []
            while let page = try Optional(list(me, before: pages.last, limit: limit)), !page.isEmpty { pages += page }
            #expect(pages == ids, "limit \(limit)")
        }
        #expect(throws: RuleError.self) { try list(customer("8"), before: ids[1]) }
        #expect(throws: RuleError.self) { try list(me, before: "unknown") }
    }

    /// In slices: there may be very many.
    @Test func anErasureDeletesTheList() throws {
        let executor = try store.pushing()
        for id in ["7", "8"] { _ = try executor.commit(register(fcm(id), by: customer(id, bookings: ["A"]))) }
        let id = try removeDriver(executor)
        for number in 0..<1_200 {
            try executor.database.run(
                """
                INSERT INTO inbox_entries (recipient, notification_id, after_sequence, lifetime_end) \
                VALUES ('customer:7', '00000000000000000000\(100_000 + number)', 0, \(noon))
                """)
        }
        _ = try executor.commit(command(Erase(.customer, id: "7")))
        try executor.runBackgroundTasks()
        #expect(try executor.database.dump("SELECT recipient, notification_id FROM inbox_entries") == ["customer:8|\(id)"])
        #expect(try list(customer("7", bookings: ["A"])) == [])
    }

    @Test func readMarksArePerPerson() throws {
        let executor = try store.pushing()
        let people = ["7", "8"].map { customer($0, bookings: ["A"]) }
        for person in people { _ = try executor.commit(register(fcm(person.id), by: person)) }
        let id = try removeDriver(executor)
        let greeting = try greet(executor, "7")
        _ = executor.counter.drain()
        let read = { (ids: [String]?, person: Identity, now: Int64) in
            try executor.commit(command(MarkRead(ids), by: person), at: now).text
        }
        #expect(try read([id], people[0], noon + 1).contains(#""read":1"#))
        #expect(try read([id], people[0], noon + 2).contains(#""read":0"#))
        #expect(try read(nil, people[0], noon + 3).contains(#""read":1"#), "the greeting")
        try executor.runBackgroundTasks()
        #expect(
            executor.counter.drain().arrivals.map { "\($0.event) \($0.state) \($1)" }.sorted()
                == ["driver-removed read 1", "hello acknowledged 1", "hello read 1"])
        #expect(try store.response(to: .notifications(of: people[1], before: nil, limit: 1)).get().contains(#""readAt":null"#))
        #expect(try read(nil, people[1], noon + 4).contains(#""read":1"#))
        let history = try store.response(to: .notificationHistory(notificationID: id)).get()
        #expect(
            history.matches(of: /"step":"read","at":"([^"]*)","by":"([^"]*)"/).map { "\($0.2) \($0.1)" }
                == ["customer:7 2026-11-21T12:00:00.001Z", "customer:8 2026-11-21T12:00:00.004Z"])
        #expect(try read([greeting], customer("9"), noon + 5).contains(#""read":0"#))
    }

    @Test func theBadgeCountsTheInbox() throws {
        let executor = try store.pushing()
        let me = customer("7", bookings: ["A", "B"])
        _ = try executor.commit(register(fcm("7"), by: me))
        _ = try executor.commit(register(fcm("8"), by: customer("8", bookings: ["A"])))
        let badges = { try Dictionary(executor.claim().map { ($0.recipient, $0.badge) }) { $1 } }
        let id = try removeDriver(executor)
        #expect(try badges() == ["customer:7": 1, "customer:8": 1])
        _ = try removeDriver(executor, "B")
        #expect(try badges() == ["customer:7": 2])
        _ = try greet(executor, "7")
        #expect(try badges() == ["customer:7": 3])
        for _ in 0..<2 { _ = try executor.commit(telemetry(id, .viewed, by: me)) }
        _ = try greet(executor, "7")
        #expect(try badges() == ["customer:7": 3])
        _ = try executor.commit(command(MarkRead(nil), by: me))
        _ = try removeDriver(executor)
        #expect(try badges() == ["customer:7": 1, "customer:8": 2])
    }

    @Test func countsTelemetryOfEachRecipient() throws {
        let executor = try store.pushing()
        let people = ["7", "8"].map { customer($0, bookings: ["A"]) }
        for person in people { _ = try executor.commit(register(fcm(person.id), by: person)) }
        let id = try removeDriver(executor)
        _ = executor.counter.drain()
        for person in people + [customer("9"), driver("42")] { _ = try executor.commit(telemetry(id, by: person)) }
        #expect(executor.counter.drain().arrivals.map { "\($0.event) \($0.state) \($1)" } == ["driver-removed received 2"])
    }

    @Test func retentionDeletesTheEntriesWithTheirNotifications() throws {
        let executor = try store.pushing()
        let me = customer("7", bookings: ["A"])
        _ = try executor.commit(register(fcm("7"), by: me))
        _ = try removeDriver(executor)
        let seen = try removeDriver(executor)
        _ = try executor.commit(telemetry(seen, .accepted, by: me))
        let kept = try removeDriver(executor, at: noon + day)
        let now = noon + 30 * day + 1
        var retention = RetentionSchedule(days: 30)
        while retention.isDue(now) { _ = try retention.runSlice(executor, now) }
        #expect(try list(me) == [kept] && executor.count("inbox_entries") == 1)
        #expect(try executor.sequences.unread(channel: "customer-7") == 1)
    }
}
