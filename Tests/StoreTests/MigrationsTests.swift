import Testing

@testable import Fleet

@Suite struct MigrationsTests {
    private let store = TemporaryStore()

    private func open(_ migrations: Migrations = Migrations()) throws(StoreError) -> Database {
        try Database.open(store.address, durability: .normal, now: noon, migrations: migrations)
    }

    private static let tables = [
        "accounts", "audit", "batch_orders", "batches", "channel_sequences", "clock_readings", "cluster_head", "cluster_log",
        "cluster_nodes", "code_counts", "code_prefixes", "code_sends",
        "code_sessions", "code_tries", "commit_marks", "confirmation_checks", "cursors", "customer_duplicates",
        "customer_ids", "customers", "deliveries",
        "device_booking_lists",
        "device_bookings", "devices", "driver_availability", "driver_positions", "drivers", "ended_tokens", "erasures",
        "idempotency", "inbox_entries", "notification_steps", "notifications", "orders", "own_addresses", "preferences",
        "publication", "push_audiences", "push_jobs", "push_names", "push_outcomes", "read_marks", "routes", "schema_migrations",
        "unpublished", "write_probe",
        "wrong_codes",
    ]

    private static let versions = Schema.migrations.map(\.version)
    private static let known = versions.last ?? 0

    private func tables(_ database: Database) throws -> [String] {
        try database.tableNames()
    }

    @Test func createsSchemaInNewFile() throws {
        let database = try open()
        #expect(try tables(database) == Self.tables)
        #expect(try database.dump("SELECT * FROM schema_migrations") == Self.versions.map { "\($0)|\(noon)" })
    }

    @Test func createsSchemaInEmptyFile() throws {
        store.write([])
        #expect(try tables(open()) == Self.tables)
    }

    @Test func appliesEachMigrationOnce() throws {
        do {
            try open().run(
                "INSERT INTO orders (code, status, version, created_at, updated_at) VALUES ('A', 'available', 1, 1, 1)")
        }
        for _ in 0..<2 {
            let database = try open()
            #expect(try database.dump("SELECT * FROM schema_migrations") == Self.versions.map { "\($0)|\(noon)" })
            #expect(try database.dump("SELECT code FROM orders") == ["A"])
        }
    }

    /// Before version 20, each spelling of a number was another phone.
    @Test func phonesGetOneNumber() throws {
        #expect(store.address.customersWithOnePhone().isEmpty, "no store yet")
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version < 20 }))
            let phones = [
                "+4407911000001", "+4407911000002", "+447911000002", "+44007911000003", "+4407911000003", "+390669812345",
                "+2250712345678", "+919179621765", "+12125550123", "+102125550124", "+971050123456", "+447911000005",
            ]
            for (number, phone) in phones.enumerated() {
                try database.run(
                    """
                    INSERT INTO customers (id, phone, created_at, updated_at, last_login_at) \
                    VALUES (\(10_000 + number), '\(phone)', 1, 1, 1)
                    """)
            }
            #expect(store.address.customersWithOnePhone().isEmpty, "an older schema")
            for (id, phone, at) in [("a", "+4407911000001", noon), ("b", "", noon), ("c", "+12125550123", noon + 3_600_000)] {
                try database.run("INSERT INTO code_sends (id, phone, at) VALUES ('\(id)', '\(phone)', \(at))")
            }
        }
        let database = try open()
        #expect(
            try database.dump("SELECT phone FROM customers ORDER BY id") == [
                "+447911000001", "+4407911000002", "+447911000002", "+447911000003", "+4407911000003", "+390669812345",
                "+2250712345678", "+919179621765", "+12125550123", "+12125550124", "+97150123456", "+447911000005",
            ])
        #expect(
            try database.dump("SELECT id, phone FROM customer_duplicates ORDER BY id") == [
                "10001|+447911000002", "10004|+447911000003",
            ])
        let named = store.address.customersWithOnePhone().map { "\($0.id) and \($0.other)" }
        #expect(named == ["10001 and 10002", "10004 and 10003"])
        #expect(try database.dump("SELECT phone FROM code_sends ORDER BY id") == ["+447911000001", "", "+12125550123"])
        #expect(
            try database.dump("SELECT * FROM code_counts ORDER BY hour") == [
                "all|\(noon / 3_600_000)|2", "all|\(noon / 3_600_000 + 1)|1",
            ])
    }

    @Test func appliesOnlyMissingMigrations() throws {
        _ = try open()
        let next = Migration(
            version: Self.known + 1, statements: ["ALTER TABLE orders ADD COLUMN colour TEXT", "CREATE TABLE more (id TEXT)"])
        let database = try open(Migrations(Schema.migrations + [next]))
        #expect(
            try database.dump("SELECT version FROM schema_migrations ORDER BY version")
                == (Self.versions + [Self.known + 1]).map(String.init))
        #expect(try tables(database) == (Self.tables + ["more"]).sorted())
    }

    @Test func failedMigrationChangesNothing() throws {
        _ = try open()
        let bad = Migration(version: Self.known + 1, statements: ["CREATE TABLE more (id TEXT)", "CREATE TABLE more (id TEXT)"])
        let error = #expect(throws: StoreError.self) { try open(Migrations(Schema.migrations + [bad])) }
        #expect(error?.description.contains("more") == true && error?.description.contains("already exists") == true)
        let database = try open()
        #expect(try tables(database) == Self.tables)
        #expect(
            try database.dump("SELECT version FROM schema_migrations ORDER BY version") == Self.versions.map(String.init))
    }

    @Test(.fileOnly) func rejectsNewerSchemaWithoutChangingTheFile() throws {
        do {
            let database = try open()
            try database.run("INSERT INTO schema_migrations VALUES (99, 1)")
            try database.sqlite?.checkpoint()
        }
        let before = store.bytes()
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error == .newer(store.address, schema: 99, known: Self.known))
        #expect(
            error?.description
                == "open \(store.path): written by a newer Fleetwire (schema 99, this version supports \(Self.known)). "
                + "Run that version, or set store.path to another file.")
        #expect(store.bytes() == before)
        #expect(throws: StoreError.newer(store.address, schema: 99, known: Self.known)) {
            try Database.open(readingFrom: store.address)
        }
    }

    @Test func rejectsForeignDatabaseWithoutChangingIt() throws {
        try store.unchecked().run("CREATE TABLE recipes (name TEXT)")
        let before = store.bytes()
        #expect(throws: StoreError.foreign(store.address)) { try open() }
        #expect(store.bytes() == before)
        #expect(try store.unchecked().tableNames() == ["recipes"])
    }

    @Test func readerRejectsOlderSchema() throws {
        store.write([])
        #expect(throws: StoreError.older(store.address, schema: 0, known: Self.known)) {
            try Database.open(readingFrom: store.address)
        }
    }

    /// Version 2 stored FCM's whole names of messages, of which phones know the last part only.
    @Test func shortensTheNamesOfFCMsMessages() throws {
        let names = ["projects/p-1/messages/0:17%ab_c-D.9", "projects/p/messages/1", "A1B2-UUID", "projects", "projectsx/y/z"]
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 2 }))
            for (number, name) in names.enumerated() {
                try database.run(
                    """
                    INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, state, turn, attempts, queued_at, \
                    expires_at, message_id) VALUES (\(number), 'fcm', 'N', 'd\(number)', 'driver:1', 'accepted', 0, 1, 0, 0, '\(name)')
                    """)
            }
        }
        #expect(
            try open().dump("SELECT message_id FROM push_jobs ORDER BY number")
                == ["0:17%ab_c-D.9", "1", "A1B2-UUID", "projects", "projectsx/y/z"])
    }

    /// Version 10 writes the table anew.
    @Test func keepsPushJobsAndWhatIsBeingBroadcast() throws {
        func rows(_ database: Database) throws -> [[String]] {
            let columns = "number, lane, notification_id, device_id, recipient, entity, collapse_key, state, turn, due_at"
            let rest = "attempts, reason, message_id, queued_at, expires_at, settled_at, fallback"
            return [
                try database.dump("SELECT \(columns), \(rest) FROM push_jobs ORDER BY number"),
                try database.dump("SELECT notification_id, excepted, entity, after_owner, reminder FROM push_audiences"),
                try database.indexes(of: "push_jobs").filter { !$0.contains("push_jobs_settled") },
            ]
        }
        let before: [[String]]
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 9 }))
            for number in 1...2 {
                try database.run(
                    """
                    INSERT INTO push_jobs VALUES (\(number), 'fcm', 'N', 'd\(number)', 'driver:1', 'job:B', 'k', 'waiting', 3, 4, 5, \
                    'r', 'm', 6, 7, 8, 1)
                    """)
            }
            try database.run("INSERT INTO push_audiences VALUES ('N', 'driver:2', 'job:B', 'driver:1', 0)")
            before = try rows(database)
        }
        let database = try open()
        #expect(try rows(database) == before && before.map(\.count) == [2, 1, 8])
        #expect(try database.dump("SELECT expanding FROM push_audiences") == ["1"])
        #expect(try database.dump("SELECT DISTINCT round FROM push_jobs") == ["0"])
    }

    /// Version 11 gives orders coordinates.
    @Test func ordersOfVersion9HaveNoCoordinates() throws {
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 9 }))
            try database.run(
                """
                INSERT INTO orders (code, status, version, customer_name, created_at, updated_at) \
                VALUES ('A', 'available', 3, 'Ann', 1, 1)
                """)
        }
        let orders = OrderTable(database: try open())
        var order = try #require(try orders.order(code: "A"))
        #expect(order.customerName == "Ann" && order.assignment.version == 3)
        #expect(order.pickupCoordinates == nil && order.dropoffCoordinates == nil)
        order.dropoffCoordinates = coordinates("1.5", "-2")
        try orders.store(order, now: 2)
        #expect(try orders.order(code: "A") == order)
    }

    /// Version 11 lets trips go on that were under way: it sets the times that only it could have stored.
    @Test(arguments: JobStatus.allCases) func tripsOfVersion10GoOn(status: JobStatus) throws {
        let updated = noon - 5_000
        let driverID = status == .available ? "NULL" : "'42'"
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 10 }))
            try database.run(
                """
                INSERT INTO orders (code, status, driver_id, driver_name, version, booking_reference, created_at, updated_at) \
                VALUES ('A', '\(status.rawValue)', \(driverID), 'Dan', 3, 'BK-7', 1, \(updated))
                """)
            try database.run(
                """
                INSERT INTO audit (id, at, actor, action, order_code, correlation_id, details) VALUES \
                ('1', 1, 'driver:42', 'progress', 'A', 'c', '{"notes":"n","latitude":51.5,"longitude":-0.1}'), \
                ('2', 1, 'driver:42', 'progress', 'A', 'c', NULL), ('3', 1, 'admin:1', 'order_update', 'A', 'c', '{}')
                """)
        }
        let executor = try store.executor()
        let order = try #require(try executor.orders.order(code: "A"))
        #expect(order.assignment.status == status && order.assignment.version == 3)
        var times = TripRecord()
        if status.isUnderWay { times.startedAt = updated }
        // The driver may have arrived long ago: the customer is not told of the waiting.
        if status.isUnderWay && status != .enRoute { (times.arrivedAt, times.waitingToldAt) = (updated, updated) }
        if status == .inTransit { times.departedAt = updated }
        if status == .completed { times.completedAt = updated }
        #expect(order.trip == times)
        var trips = LiveTrips()
        try executor.openOrders { trips.update($0, card: nil) }
        #expect(trips.count == (status.isUnderWay ? 1 : 0))
        #expect((trips.view(reference: "BK-7", now: noon) != nil) == status.isUnderWay)
        #expect(try executor.database.dump("SELECT id FROM audit WHERE has_position = 1") == ["1"])

        guard let next = status.next else { return }
        let isAccepting = !JobStatus.reportable.contains(next)
        let step: any Command = isAccepting ? AcceptJob("A") : ReportProgress("A", ProgressReport(step: next))
        #expect(try executor.commit(command(step, by: driver("42"))).status == 200)
        switch next {
        case .enRoute: times.startedAt = noon
        case .arrived: times.arrivedAt = noon
        case .inTransit: times.departedAt = noon
        case .completed: times.completedAt = noon
        default: break
        }
        let after = try #require(try executor.orders.order(code: "A"))
        #expect(after.assignment.status == (isAccepting ? .accepted : next) && after.trip == times)
        let told: [JobStatus: String] = [
            .assigned: "driver-assigned", .accepted: "driver-assigned", .enRoute: "driver-en-route", .arrived: "driver-arrival",
            .inTransit: "trip-started", .completed: "trip-completed",
        ]
        let events = try executor.database.dump("SELECT event FROM notifications WHERE channel = 'booking-BK-7' ORDER BY id")
        #expect(events.filter { !$0.hasPrefix("job-") } == [told[next]].compactMap { $0 })
    }

    /// The schema contains no words that PostgreSQL rejects or interprets differently.
    @Test func schemaUsesOnlyCommonSQL() {
        for sql in Schema.migrations.flatMap(\.statements) {
            for word in ["PRAGMA", "AUTOINCREMENT", "WITHOUT ROWID", "STRICT", "INTEGER", "DATETIME", "IF NOT EXISTS", "REPLACE"]
            {
                #expect(!sql.contains(word), "\(word) in \(sql)")
            }
        }
    }

    /// Before version 19, a client could name ever new devices.
    @Test func keepsTheTwentyCursorsUsedLast() throws {
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 17 }))
            for (owner, count) in [("driver:1", 25), ("driver:2", 3)] {
                for number in 0..<count {
                    try database.run(
                        "INSERT INTO cursors VALUES ('drivers-channel', '\(owner)', 'd\(number)', 1, 0, \(number))")
                }
            }
        }
        let left = try open().dump("SELECT owner, COUNT(*), MIN(updated_at) FROM cursors GROUP BY owner ORDER BY owner")
        #expect(left == ["driver:1|20|5", "driver:2|3|0"])
    }

    /// Version 23 adds columns: what is under way goes on without them.
    @Test func ordersAndPositionsOfVersion22GoOn() throws {
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 22 }))
            try database.run(
                """
                INSERT INTO orders (code, status, driver_id, version, booking_reference, pickup_latitude, pickup_longitude, \
                trip_started_at, arrived_at, created_at, updated_at) \
                VALUES ('A', 'arrived', '42', 3, 'BK-7', '51.5', '-0.1', \(noon - 9_000), \(noon - 5_000), 1, \(noon - 5_000))
                """)
            try database.run(
                """
                INSERT INTO driver_positions (driver_id, latitude, longitude, recorded_at) \
                VALUES ('42', '51.5', '-0.1', \(noon - 6_000))
                """)
        }
        let executor = try store.executor()
        let order = try #require(try executor.orders.order(code: "A"))
        #expect(order.trip.correctedAt == nil && order.trip.leftAt == nil && order.trip.arrivedAt == noon - 5_000)
        var positions: [DriverPosition] = []
        try executor.eachDriverPosition { positions.append($0) }
        #expect(positions.count == 1 && positions[0].position.speed == nil && positions[0].position.latitude == 51.5)
        // No entry says when the gateway learnt of the arrival.
        #expect(try executor.commit(command(CorrectArrival("A", reason: nil))).status == 200)
        let corrected = try #require(try executor.orders.order(code: "A"))
        #expect(corrected.assignment.status == .enRoute && corrected.trip.correctedAt == noon)
    }

    /// Version 21 writes the log anew, with numbers.
    @Test func logOfVersion20IsKept() throws {
        let ids = (1...3).map { "01JDQ3S8T9ABCDEFGHJKMNPQR\($0)" }
        let phone = "9f1c2d3e-4b5a-4678-9abc-def012345678"
        do {
            let database = try open(Migrations(Schema.migrations.filter { $0.version <= 20 }))
            for (number, channel) in ["driver-42", "customer-7", "drivers-channel"].enumerated() {
                try database.run(
                    """
                    INSERT INTO notifications (id, channel, sequence, event, data, correlation_id, actor, action, created_at, \
                    expires_at, collapse_key, written_at, confirmed_at, unconfirmed) VALUES ('\(ids[number])', '\(channel)', 1, \
                    'e', '{"bookingId":"A","a":"\\u0001é\(number)"}', 'c\(number)', 'admin:1', 'assign', \(noon), \(noon + 5), \
                    '\(number == 0 ? "order:A" : ids[number])', \(noon + 1), \(noon + 2), 0)
                    """)
            }
            for (channel, owner, device) in [
                ("driver-42", "driver:42", phone), ("driver-42", "driver:42", "b"), ("customer-7", "customer:7", ""),
                ("drivers-channel", "driver:42", "b"), ("drivers-channel", "driver:-channel", "b"),
            ] {
                try database.run(
                    "INSERT INTO deliveries VALUES ('\(channel)', 1, '\(owner)', '\(device)', \(noon + 1), \(noon + 2))")
            }
            try database.run(
                """
                INSERT INTO push_jobs (number, lane, notification_id, device_id, recipient, collapse_key, state, turn, attempts, \
                queued_at, expires_at, message_id, settled_at) VALUES (1, 'fcm', '\(ids[0])', 'd', 'driver:42', 'order:A', \
                'accepted', 0, 1, \(noon), \(noon + 5), 'm', \(noon + 3))
                """)
            try database.run(
                """
                INSERT INTO audit (id, at, actor, action, order_code, correlation_id) \
                VALUES ('01JDQ3S8T9ABCDEFGHJKMNPQRA', \(noon), 'admin:1', 'assign', 'A', 'c0')
                """)
        }
        let executor = try store.pushing()
        let database = executor.database
        for (number, id) in ids.enumerated() {
            let logged = try #require(try executor.notifications.notification(id: id))
            #expect(String(decoding: logged.notification.data, as: UTF8.self) == #"{"bookingId":"A","a":"\u0001é\#(number)"}"#)
            #expect(logged.correlationID == "c\(number)" && logged.actor == "admin:1" && logged.action == "assign")
            #expect(logged.notification.collapseKey == (number == 0 ? "order:A" : id))
        }
        #expect(
            try database.dump("SELECT number, written_at, confirmed_at FROM notifications ORDER BY id")
                == (1...3).map { "\($0)|\(noon + 1)|\(noon + 2)" })
        #expect(
            try database.dump("SELECT owner, COUNT(*) FROM \(deliveryRows) GROUP BY owner ORDER BY owner") == [
                "customer:7|1", "driver:-channel|1", "driver:42|3",
            ])
        // The next receipt of a device finds its delivery.
        try executor.commit(
            Receipt(
                key: ReceiptKey(channel: "driver-42", owner: "driver:42", device: phone), after: 0, upTo: 1, writtenAt: noon + 9,
                confirmedAt: noon + 9))
        #expect(try executor.count("deliveries") == 5)
        #expect(try database.dump("SELECT notification FROM audit") == ["1"])
        #expect(
            try executor.notifications.reports(
                of: Order(code: "A"), before: .end, limit: 9, now: noon
            ).map(\.logged.notification.id) == [ids[0]])
        #expect(try executor.move() == 1)
        #expect(try executor.outbox.jobs.notificationID(ofMessage: "m") == ids[0])
        #expect(try executor.commit(announce(to: "43")).status == 200)
        #expect(try executor.count("notifications") == 4)
    }
}
