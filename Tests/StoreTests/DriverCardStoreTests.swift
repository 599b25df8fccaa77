import Access
import Primitives
import Testing

@testable import Fleet

/// Cards of drivers in the store, and their erasure.
@Suite struct DriverCardStoreTests {
    private let store = TemporaryStore()

    private func put(
        _ id: String, key: String? = nil, _ change: (inout DriverCardChanges) -> Void
    ) -> IssuedCommand {
        var changes = DriverCardChanges()
        change(&changes)
        return command(ChangeDriverCard(driverID: id, changes), key: key)
    }

    /// A complete card. Only the vehicle's make, model and color do not identify the driver.
    private func putAll(_ id: String, name: String, plate: String, key: String? = nil) -> IssuedCommand {
        put(id, key: key) {
            ($0.name, $0.phoneNumber, $0.licensePlate) = (.set(name), .set("+41 79 \(id)"), .set(plate))
            ($0.vehicleMake, $0.vehicleModel, $0.vehicleColor) = (.set("Make-\(id)"), .set("Model-\(id)"), .set("Color-\(id)"))
        }
    }

    @Test func everyFieldIsStoredUnchanged() throws {
        let text = "Zoë's \"card\"; DROP TABLE drivers; --\u{7F}🚚"
        let fields: [(String, (inout DriverCardChanges) -> Void)] = [
            ("name", { $0.name = .set(text) }), ("phoneNumber", { $0.phoneNumber = .set(text) }),
            ("vehicleMake", { $0.vehicleMake = .set(text) }), ("vehicleModel", { $0.vehicleModel = .set(text) }),
            ("vehicleColor", { $0.vehicleColor = .set(text) }), ("licensePlate", { $0.licensePlate = .set(text) }),
        ]
        let executor = try store.executor()
        for (field, change) in fields {
            let reply = try executor.commit(put(field, change))
            let stored = try store.response(to: .driver(field)).get()
            let card = #"{"driver":{"id":"\#(field)","#
            #expect(stored.contains(card) && stored.contains(#""\#(field)":"Zo"#) && stored.contains("null,"))
            #expect(
                reply.text == stored.replacing(#"true,"data""#, with: #"true,"message":"Driver updated","data""#)
                    .dropLast() + #","correlationId":"c-1"}"#)
        }
    }

    @Test func mergesChangesAndCountsVersions() throws {
        let executor = try store.executor()
        _ = try executor.commit(putAll("42", name: "Dan", plate: "ZH 1"))
        let before = try executor.dispatchTables()
        #expect(try executor.commit(put("42", key: "k") { $0.name = .set("Dan") }).text.contains(#""version":1}"#))
        #expect(try executor.dispatchTables() == before, "nothing has changed")
        _ = try executor.commit(put("42") { ($0.name, $0.vehicleColor) = (.set("Dana"), .clear) }, at: noon + 1)
        #expect(
            try executor.dump("drivers")
                == ["42|2|Dana|+41 79 42|Make-42|Model-42|-|ZH 1|\(noon)|\(noon + 1)"])
        #expect(
            try executor.database.dump("SELECT actor, action, order_code, route_id, details FROM audit ORDER BY id").last
                == #"admin:1|driver_update|-|-|{"person":"driver:42","fields":["name","vehicleColor"]}"#)
    }

    @Test func checksVersionAndIdempotencyKey() throws {
        let executor = try store.executor()
        let stale = IssuedCommand(
            ChangeDriverCard(driverID: "42", DriverCardChanges()), by: admin, correlationID: "c", expectedVersions: [1])
        #expect(try executor.commit(stale).text == "Driver 42 has version 0; If-Match requires version 1")
        #expect(try executor.count("drivers") == 0)
        let first = try executor.commit(putAll("42", name: "Dan", plate: "ZH 1", key: "k"))
        _ = try executor.commit(put("42") { $0.name = .set("Dana") })
        let again = try executor.commit(putAll("42", name: "Dan", plate: "ZH 1", key: "k"))
        #expect(again.isReplay && again.text == first.text)
        #expect(try executor.database.dump("SELECT name, version FROM drivers") == ["Dana|2"])
    }

    @Test func anUnknownDriverIsNotFound() throws {
        _ = try store.executor().commit(assign("A", to: "42"))
        #expect(throws: RuleError(.unknownDriver, "42")) { try store.response(to: .driver("42")).get() }
    }

    // MARK: Erasure

    /// The content of all tables, one row per line.
    private func everything(_ executor: CommandExecutor) throws -> String {
        let tables = try executor.database.tableNames()
        return try tables.flatMap { try executor.database.dump("SELECT * FROM \($0)") }.joined(separator: "\n")
    }

    @Test func erasureDeletesTheCardAndRedactsItsTextsElsewhere() throws {
        let executor = try store.pushing()
        _ = try executor.commit(putAll("42", name: "Zeb Quix", plate: "ZH 777", key: "a"))
        // Another driver has the same name.
        _ = try executor.commit(putAll("43", name: "Zeb Quix", plate: "ZH 888", key: "b"))
        var note = OrderAction(code: "A", .assign(.init(id: Identifier("43"))))
        note.reason = "Zeb Quix (ZH 777, call +41 79 42) is ill"
        _ = try executor.commit(command(note))
        _ = try executor.commit(command(Erase(.driver, id: "42")))
        #expect(try executor.database.dump("SELECT id, name FROM drivers") == ["43|Zeb Quix"])
        #expect(throws: RuleError(.unknownDriver, "42")) { try store.response(to: .driver("42")).get() }
        try executor.runBackgroundTasks()
        let left = try everything(executor)
        for text in ["ZH 777", "+41 79 42", "Make-42", "Model-42", "Color-42"] { #expect(!left.contains(text), "\(text)") }
        #expect(
            try executor.database.dump("SELECT reason FROM audit WHERE order_code = 'A'") == [
                "[erased] ([erased], call [erased]) is ill"
            ])
        let replay = try executor.commit(putAll("42", name: "Zeb Quix", plate: "ZH 777", key: "a"))
        #expect(
            replay.isReplay
                && replay.text.contains(
                    #"{"id":"42","name":null,"phoneNumber":null,"vehicleMake":null,"vehicleModel":null,"vehicleColor":null,"#
                        + #""licensePlate":null,"version":1}"#)
        )
        let others = try executor.commit(putAll("43", name: "Zeb Quix", plate: "ZH 888", key: "b"))
        #expect(others.isReplay && others.text.contains(#""id":"43","name":"Zeb Quix","phoneNumber":"+41 79 43""#))
    }

    /// The moment `driver_assigned` shows the card to the booking's customer.
    @Test func erasureClearsTheCardInTheMomentsOfTrips() throws {
        let executor = try store.pushing()
        // The other driver has the same name, and drives the same car.
        for (id, code) in [("42", "A"), ("43", "B")] {
            _ = try executor.commit(
                put(id) {
                    ($0.name, $0.licensePlate) = (.set("Zeb Quix"), .set("ZH 777"))
                    ($0.vehicleMake, $0.vehicleModel, $0.vehicleColor) = (.set("Skoda"), .set("Octavia"), .set("blue"))
                })
            _ = try executor.commit(assign(code, to: id))
            _ = try executor.commit(command(AcceptJob(code), by: driver(id)))
        }
        var note = OrderAction(code: "C", .assign(.init(id: Identifier("43"))))
        note.reason = "take the blue Skoda, not ZH 777"
        _ = try executor.commit(command(note))
        func data(_ code: String) throws -> [String] {
            try executor.database.notificationData(where: "event = 'driver-assigned' AND channel = 'booking-\(code)'")
        }
        let card =
            #""driverName":"Zeb Quix","timestamp":"2026-11-21T12:00:00Z","vehicle_make":"Skoda","vehicle_model":"Octavia","#
            + #""vehicle_color":"blue","license_plate":"ZH 777""#
        let before = (try data("A"), try data("B"))
        #expect(before.0.count == 1 && before.0[0].contains(card) && before.1.count == 1 && before.1[0].contains(card))
        _ = try executor.commit(command(Erase(.driver, id: "42")))
        try executor.runBackgroundTasks()
        let cleared =
            #""driverName":null,"timestamp":"2026-11-21T12:00:00Z","vehicle_make":null,"vehicle_model":null,"#
            + #""vehicle_color":null,"license_plate":null"#
        #expect(try data("A") == [before.0[0].replacing(card, with: cleared)])
        #expect(try data("B") == before.1, "the other driver's card is unchanged")
        // A make and a color are words that everybody uses.
        #expect(
            try executor.database.dump("SELECT reason FROM audit WHERE order_code = 'C'")
                == ["take the blue Skoda, not [erased]"])
    }

    @Test func erasingACustomerWithTheSameIDKeepsTheCard() throws {
        let executor = try store.pushing()
        _ = try executor.commit(putAll("42", name: "Zeb Quix", plate: "ZH 777", key: "a"))
        let before = try executor.dump("drivers") + executor.dump("idempotency")
        _ = try executor.commit(command(Erase(.customer, id: "42")))
        try executor.runBackgroundTasks()
        #expect(try executor.dump("drivers") + executor.dump("idempotency") == before)
    }
}
