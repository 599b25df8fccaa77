import Access
import JSON
import Primitives
import Testing

@testable import Fleet

/// After an erasure, the store contains no personal data of the person, and other people's data is unchanged.
@Suite struct ErasureTests {
    private let store = TemporaryStore()

    private func erase(_ role: Role, _ id: String) -> IssuedCommand { command(Erase(role, id: id), correlationID: "c-e") }

    /// A driver with a name.
    private func named(_ id: String, _ name: String) -> Identity { Identity(role: .driver, id: id, name: name) }

    /// The content of all tables, one row per line.
    private func everything(_ executor: CommandExecutor) throws -> String {
        // On PostgreSQL, each commit changes its mark.
        let tables = try executor.database.tableNames().filter { $0 != "commit_marks" }
        return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)").sorted() }.joined(separator: "\n")
    }

    /// Creates data of the drivers Ann (42) and Bob (43): for each a device, an order whose driver has reported the
    /// arrival, a route, telemetry and preferences.
    private func drive(_ executor: CommandExecutor) throws {
        for (code, one) in [("A", named("42", "Ann")), ("B", named("43", "Bob"))] {
            _ = try executor.commit(register(fcm("phone-\(one.id)"), by: one))
            let driver = Assignment.Driver(id: Identifier(one.id), name: one.name)
            _ = try executor.commit(command(OrderAction(code: code, .assign(driver))))
            _ = try executor.commit(command(AcceptJob(code), by: one, key: "accept"))
            for step in [JobStatus.enRoute, .arrived] {
                var report = ProgressReport(step: step)
                report.notes = "\(one.name ?? "") is near"
                report.latitude = JSONNumber(text: "51.\(one.id)")
                report.longitude = JSONNumber(text: "-0.\(one.id)")
                _ = try executor.commit(command(ReportProgress(code, report), by: one))
            }
            _ = try executor.commit(command(RouteAction(id: "R-\(code)", .assign(driver))))
            _ = try executor.commit(telemetry("N-\(code)", by: one))
            var changes = PreferenceChanges()
            changes.timeZone = "Europe/\(one.name ?? "")"
            _ = try executor.commit(command(UpdatePreferences(changes), by: one))
        }
    }

    @Test func erasesDriver() throws {
        let executor = try store.pushing()
        try drive(executor)
        _ = try executor.claim(1)
        let before = try everything(executor)
        #expect(before.contains("Ann") && before.contains("51.42"))
        let reply = try executor.commit(erase(.driver, "42"), at: noon + 9)
        #expect(reply.removed.map(\.reason) == ["erased"])
        #expect(
            reply.text == #"{"success":true,"message":"Person erased","data":{"devices":1,"preferences":1,"pushes":0,"#
                + #""answers":1,"orders":1,"routes":1,"reports":2,"telemetry":1},"correlationId":"c-e"}"#)
        try executor.runBackgroundTasks()
        let after = try everything(executor)
        #expect(!after.contains("Ann") && !after.contains("51.42") && !after.contains("-0.42"))
        // The other driver's data is unchanged, and the audit log keeps the actions.
        let others = { (text: String) in text.split(separator: "\n").filter { $0.contains("Bob") || $0.contains("driver:43") } }
        #expect(others(after) == others(before) && !others(after).isEmpty)
        #expect(try executor.database.dump("SELECT driver_id, driver_name FROM orders ORDER BY code") == ["42|-", "43|Bob"])
        #expect(
            try executor.database.dump("SELECT actor, action, details FROM audit WHERE action = 'erase'")
                == [#"admin:1|erase|{"person":"driver:42"}"#])
        #expect(try executor.count("erasures") == 1 && executor.count("devices") == 1, "the job is still open")
        #expect(try executor.jobs().filter { $0.hasPrefix("driver:42") } == ["driver:42|sending|"])
        let data = try executor.database.notificationData(where: "event = 'driver-arrival'")
        #expect(data.count == 2 && data[0].contains(#""driverName":null"#) && data[1].contains(#""driverName":"Bob""#))
    }

    @Test func openPushesAreCancelled() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        let job = try executor.claim(1)[0]
        try executor.report([PushOutcome(job, .retry(at: noon + 60, reason: "503"), wasTried: true)])
        #expect(try executor.commit(erase(.driver, "42")).text.contains(#""pushes":3"#))
        #expect(try executor.jobs() == [String](repeating: "driver:42|cancelled|erased", count: 3))
    }

    /// The connection of an erased driver may still confirm what was written before.
    @Test func aLatePongStoresNothing() throws {
        let executor = try store.executor()
        _ = try executor.commit(announceToAll)
        _ = try executor.commit(announce(to: "42"))
        for channel in ["driver-42", "drivers-channel"] { _ = try executor.subscribe(phone(on: channel)) }
        _ = try executor.commit(erase(.driver, "42"))
        for channel in ["driver-42", "drivers-channel"] {
            try executor.commit(confirmed(phone(on: channel), upTo: 1))
        }
        #expect(try executor.cursorRows() == [] && executor.count(deliveryRows) == 0)
    }

    @Test func erasesCustomer() throws {
        let executor = try store.pushing()
        for (code, customer) in [("A", "7"), ("B", "7"), ("C", "8")] {
            var changes = OrderChanges()
            changes.bookingReference = .set("REF-\(code)")
            changes.customerID = .set(customer)
            changes.customerName = .set("Name-\(customer)")
            changes.pickupAddress = .set("From-\(code)")
            changes.dropoffAddress = .set("To-\(code)")
            changes.pickupCoordinates = .set(coordinates("51.\(code == "A" ? 111 : 222)", "-0.5"))
            changes.dropoffCoordinates = .set(coordinates("52.5", "-0.\(code == "A" ? 333 : 444)"))
            _ = try executor.commit(assign(code, to: "42", changes: changes))
            _ = try executor.commit(order(.removeDriver, code))
            if code == "A" { _ = try executor.commit(order(.cancel, code)) }
        }
        let data = Array(#"{"customerName":"Name-7"}"#.utf8)
        _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: .customer("7"), data: data))))
        _ = try executor.commit(register(fcm("a"), by: customer("7", bookings: ["REF-A"])))
        let reply = try executor.commit(erase(.customer, "7"))
        #expect(reply.text.contains(#""devices":1,"preferences":0,"pushes":0,"answers":0,"orders":2,"routes":0"#))
        try executor.runBackgroundTasks()
        let after = try everything(executor)
        #expect(!after.contains("Name-7") && after.contains("Name-8"))
        #expect(!after.contains("From-A") && !after.contains("To-A"), "order A has ended")
        #expect(after.contains("From-B") && after.contains("To-B"), "order B is open: the driver needs the address")
        #expect(after.contains("From-C") && !after.contains("REF-A|customer:7"))
        #expect(!after.contains("51.111") && !after.contains("-0.333"), "order A has ended")
        #expect(
            try executor.database.dump(
                "SELECT code, pickup_latitude, pickup_longitude, dropoff_latitude, dropoff_longitude FROM orders ORDER BY code")
                == ["A|-|-|-|-", "B|51.222|-0.5|52.5|-0.444", "C|51.222|-0.5|52.5|-0.444"])
    }

    @Test func unknownPersonChangesNothing() throws {
        let executor = try store.pushing()
        try drive(executor)
        let before = try everything(executor).split(separator: "\n").filter { !$0.contains("erase") }
        for command in [erase(.driver, "99"), erase(.customer, "42"), erase(.admin, "42")] {
            let reply = try executor.commit(command)
            #expect(reply.status == 200 && reply.removed == [])
            #expect(reply.text.contains(#"{"devices":0,"preferences":0,"pushes":0,"answers":0,"orders":0,"#))
        }
        try executor.runBackgroundTasks()
        #expect(try everything(executor).split(separator: "\n").filter { !$0.contains("erase") } == before)
    }

    /// The log of notifications is searched for the person's data in slices. After a restart, the search continues
    /// where the killed process stopped.
    @Test func continuesAfterARestart() throws {
        do {
            let executor = try store.executor()
            try executor.transaction { () throws(DatabaseError) in
                for number in 0..<400 {
                    let isEven = number.isMultiple(of: 2)
                    let driver = Assignment.Driver(id: Identifier(isEven ? "42" : "43"), name: isEven ? "Ann" : "Bob")
                    _ = try executor.execute(
                        command(OrderAction(code: "A\(number)", .assign(driver))), now: noon + Int64(number))
                }
            }
            _ = try executor.commit(erase(.driver, "42"))
        }
        let count = { (executor: CommandExecutor, name: String) in
            "\(try executor.database.notificationData().count { $0.contains("\"\(name)\"") })"
        }
        var left: [String] = []
        for _ in 0..<3 {
            let executor = try store.executor()
            _ = try executor.runBackgroundSlice(at: noon)  // ends the task for broadcasts, because there are none
            left.append(try count(executor, "Ann"))
            _ = try executor.runBackgroundSlice(at: noon)
        }
        let executor = try store.executor()
        try executor.runBackgroundTasks()
        #expect(left == ["400", "233", "66"])
        #expect(try count(executor, "Ann") == "0" && count(executor, "Bob") == "400")
        #expect(try executor.database.dump("SELECT cursor, names FROM erasures") == ["~|[]"], "the jobs are still open")
    }

    // MARK: Redaction

    /// A notification's data after the redaction of `person`; nil if it is unchanged. Of the customer's bookings, R1
    /// has ended, R2 is open, and R3 has an ended and an open order.
    private func redacted(_ data: String, on channel: String, by actor: String, _ person: Identity) -> String? {
        var redaction = Redaction(of: person, texts: ["Zeb Quix", "Zeb", "Jo", "7 Elm St"])
        redaction.bookings = .init([("R1", true), ("R2", false), ("R3", true), ("R3", false)])
        return redaction.redacted(
            NotificationTable.RedactionRow(id: "N", channel: channel, actor: actor, correlationID: "c", data: Array(data.utf8))
        ).data.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Each row: the data, the channel, the actor, and the redacted data; nil if the data does not change.
    @Test(
        arguments: [
            (#"{"driverName":"x","driverId":"42"}"#, "admin-channel", "admin:1", #"{"driverName":null,"driverId":"42"}"#),
            (#"{"driverName":"x","driverId":"43"}"#, "driver-42", "driver:42", nil),
            (
                #"{"driver_id":"42","driverName":"x","a":[1,{"driverName":"y"}]}"#, "booking-R", "admin:1",
                #"{"driver_id":"42","driverName":null,"a":[1,{"driverName":"y"}]}"#
            ),
            (#"{"driverName":"x"}"#, "booking-R", "driver:42", #"{"driverName":null}"#),
            (#"{"driverName":"x"}"#, "booking-R", "driver:43", nil),
            (#"{"driverName":"x"}"#, "driver-42", "admin:1", #"{"driverName":null}"#),
            (#"{"driverName":null}"#, "driver-42", "admin:1", nil),
            (#"{"driver\u004eame":"x"}"#, "driver-42", "admin:1", #"{"driver\u004eame":null}"#),
            (#"{}"#, "driver-42", "driver:42", nil),
            // In the following rows other strings contain the person's names, which are replaced.
            (
                #"{"message":"Hello Zeb Quix, Zeb!","driverName":null,"n":1}"#, "driver-42", "admin:1",
                #"{"message":"Hello [erased], [erased]!","driverName":null,"n":1}"#
            ),
            (
                #"{"driverId":"42","driverName":"Ann O\u0027Neil","a":[{"b":"\"Ann O'Neil\"\n"},{}],"c":[]}"#, "booking-R",
                "admin:1",
                #"{"driverId":"42","driverName":null,"a":[{"b":"\"[erased]\"\n"},{}],"c":[]}"#
            ),
            (
                #"{"message":"\u005aeb is near","driver_id":"42"}"#, "booking-R", "admin:1",
                #"{"message":"[erased] is near","driver_id":"42"}"#
            ),
            // In the following rows the notification concerns another driver or nobody. Whole words are replaced, and
            // the other driver's name stays.
            (
                #"{"message":"Zeb Quix is near","driver_id":"43","driverName":"Zeb"}"#, "booking-R", "driver:42",
                #"{"message":"[erased] is near","driver_id":"43","driverName":"Zeb"}"#
            ),
            (#"{"message":"the zebra, Zebra and Zeb2","driver_id":"43"}"#, "admin-channel", "admin:1", nil),
            (
                #"{"reason":"\u005aeb\nwas ill","id":"Zeb"}"#, "drivers-channel", "admin:1",
                #"{"reason":"[erased]\nwas ill","id":"Zeb"}"#
            ),
            (
                #"{"a":[{"driverName":"Zeb"}],"customerName":"Zeb"}"#, "customer-7", "admin:1",
                #"{"a":[{"driverName":"[erased]"}],"customerName":"Zeb"}"#
            ),
            (#"{"driverName":"Zeb","message":"Zed"}"#, "driver-43", "admin:1", nil),
            (#"{"message":"Jo zeb ZEB Ze\u0301b","type":"Zeb","reference":"Zeb-1"}"#, "driver-42", "driver:42", nil),
            ("not JSON", "driver-42", "driver:42", nil),
        ] as [(String, String, String, String?)]) func redactsDriver(
            _ data: String, channel: String, actor: String, expected: String?
        )
    {
        #expect(redacted(data, on: channel, by: actor, driver("42")) == expected)
    }

    /// Each row: the data, the channel, and the redacted data; nil if the data does not change.
    @Test(
        arguments: [
            (
                #"{"customerName":"x","bookingReference":"R1","pickupAddress":"p","dropoffAddress":"d","totalGBP":1}"#,
                "driver-42",
                #"{"customerName":null,"bookingReference":"R1","pickupAddress":null,"dropoffAddress":null,"totalGBP":1}"#
            ),
            (
                #"{"customerName":"x","bookingReference":"R2","pickupAddress":"p"}"#, "driver-42",
                #"{"customerName":null,"bookingReference":"R2","pickupAddress":"p"}"#
            ),
            (
                #"{"customerName":"x","bookingReference":"R3","pickupAddress":"p"}"#, "driver-42",
                #"{"customerName":null,"bookingReference":"R3","pickupAddress":"p"}"#
            ),
            (#"{"customerName":"x","bookingReference":"R9"}"#, "driver-42", nil),
            (#"{"customerName":"x","customerId":"8","bookingReference":"R1"}"#, "driver-42", nil),
            (#"{"customerName":"x","customerId":"7"}"#, "admin-channel", #"{"customerName":null,"customerId":"7"}"#),
            (#"{"customerName":"x","pickupAddress":"p"}"#, "booking-R1", #"{"customerName":null,"pickupAddress":null}"#),
            (#"{"customerName":"x","pickupAddress":"p"}"#, "customer-7", #"{"customerName":null,"pickupAddress":"p"}"#),
            // The notification concerns another customer, who has the same address.
            (
                #"{"customerId":"8","dropoffAddress":"7 Elm St","note":"7 Elm St, not 17 Elm Street"}"#, "driver-42",
                #"{"customerId":"8","dropoffAddress":"7 Elm St","note":"[erased], not 17 Elm Street"}"#
            ),
            (#"{"dropoffAddress":"7 Elm St"}"#, "driver-42", #"{"dropoffAddress":"[erased]"}"#),
            (#"{"orderRef":"R1","dropoffAddress":"d"}"#, "driver-42", #"{"orderRef":"R1","dropoffAddress":null}"#),
        ] as [(String, String, String?)]) func redactsCustomer(_ data: String, channel: String, expected: String?)
    {
        #expect(redacted(data, on: channel, by: "admin:1", customer("7")) == expected)
    }
}
