import Fleet
import Testing

@testable import Configuration

@Suite struct CatalogueSamplesTests {
    private typealias Sample = CatalogueSample

    /// The sample of an entry that a file changes or adds.
    private func sample(_ name: String, _ yaml: String, push mode: String = "mirror") throws -> Sample {
        let file = "push: {mode: \(mode)}\nnotifications: {file: n.yaml}"
        let settings = try read(file, files: ["n.yaml": "\(name): \(yaml)"]).get()
        return try #require(settings.notifications.samples(mode: settings.push.mode).first { $0.name == name })
    }

    @Test("The built-in catalogue causes no warnings")
    func builtIn() {
        let samples = NotificationCatalogue.builtIn.samples(mode: .mirror)
        #expect(samples.map(\.name) == NotificationCatalogue.builtIn.names)
        for sample in samples { #expect(sample.warnings == [], "\(sample.name)") }
        for sample in samples { #expect(!"\(sample.full)".contains("["), "\(sample.full): a field without a value") }
    }

    @Test("A sample shows an entry with all fields and with none")
    func lines() throws {
        #expect(
            try sample("job-assigned", "{}").lines == [
                "job-assigned: mirror, 1h", "  recipients: the driver",
                "  all fields: \"New job\", \"12 Quay Street to 9 Mill Lane\"",
                "  no fields:  \"New job\", \"Pickup to destination\"",
            ])
        #expect(
            try sample("lunch", #"{title: "It's\u2028\e[1m Zoë's 🚚 \\", body: b}"#).lines[2]
                == #"  all fields: "It's\u{2028}\u{1B}[1m Zoë's 🚚 \\", "b""#)
        #expect(
            try sample("lunch", "{title: \"a\\n\\\"b\\\"\", body: '', lifetime: 90s}").lines == [
                "lunch: mirror, 90s", "  recipients: those named in the announcement",
                #"  all fields: "a\n\"b\"", """#, #"  no fields:  "a\n\"b\"", """#,
            ])
    }

    @Test("The general mode applies only to an entry that does not set push")
    func push() throws {
        #expect(try sample("job-assigned", "{}", push: "fallback").push == .fallback)
        #expect(try sample("job-assigned", "{push: mirror}", push: "off").push == .mirror)
        #expect(try sample("schedule-updated", "{}").push == .off)
    }

    @Test(
        "The recipients are those whose devices get a push",
        arguments: [
            ("job-cancelled", "{}", "the driver"), ("job-cancelled", "{push: fallback}", "the driver, if not confirmed"),
            ("job-cancelled", "{broadcast: true}", "the driver; all other drivers"),
            ("job-cancelled", "{push: off, broadcast: true}", "all drivers"), ("job-cancelled", "{push: off}", "none"),
            ("job-available-again", "{}", "none"), ("job-available-again", "{broadcast: true}", "all drivers"),
            ("driver-arrival", "{}", "the booking's customer"), ("order-assigned", "{body: b}", "none"),
            ("DRIVER_APPROVED", "{}", "those named in the announcement"),
            ("DRIVER_APPROVED", "{push: off, broadcast: true}", "all drivers"),
        ])
    func recipients(name: String, yaml: String, expected: String) throws {
        let sample = try sample(name, yaml)
        #expect(sample.recipients == expected && sample.warnings.isEmpty)
        #expect(sample.lines[1] == "  recipients: \(expected)")
    }

    @Test("A warning reports an option that has no effect on the recipients")
    func withoutEffect() throws {
        #expect(
            try sample("job-assigned", "{broadcast: true}").warnings == [
                "broadcast has no effect: drivers-channel never gets job-assigned"
            ])
        #expect(
            try sample("job-available-again", "{push: mirror}").warnings == [
                "push has no effect: only drivers-channel gets job-available-again; "
                    + "write broadcast: true to push it to all drivers"
            ])
        #expect(try sample("job-available-again", "{push: mirror, broadcast: true}").warnings == [])
    }

    @Test("The texts of a type are shown without the words with which a sender may replace them")
    func ownWords() throws {
        let sample = try sample("NEW_BATCH_AVAILABLE", "{}")
        #expect(sample.full == Sample.Text(title: "New Batch Available!", body: "17 in Harbour (6 orders)"))
        #expect(sample.bare == Sample.Text(title: "New Batch Available!", body: "A batch of orders is waiting for a driver"))
        #expect(try self.sample("ORDER_CANCELLED", "{}").full.body == "Order #1042 has been cancelled by customer")
    }

    @Test(
        "An event's sample has values for exactly the fields that the event's data can have",
        arguments: [
            "job-assigned": "bookingId bookingReference customerName pickupAddress dropoffAddress scheduledAt totalGBP message",
            "job-removed": "bookingId bookingReference reason removedAt message",
            "order-removed": "orderRef message reason",
            "schedule-updated": "type orderRef routeId timestamp",
            "job-available-again":
                "bookingId bookingReference customerName pickupAddress dropoffAddress availableAt message",
            "job-cancelled": "bookingId bookingReference reason message",
            "job-corrected": "bookingId bookingReference step reason message",
            "arrival-corrected": "reference driver_id driverName timestamp reason",
            "job-removed-from-list": "bookingId bookingReference message",
            "tracking-stopped": "reason message",
            "driver-removed": "reason removedAt message",
            "route-cancelled": "routeId routeNumber message reason bookingsCount cancelledAt",
            "route-unassigned": "routeId routeNumber message bookingsCount dropsCount earningsAdjustment",
            "route-assigned": "routeId routeNumber bookingsCount dropsCount message",
            "drop-removed": "routeId routeNumber dropId reason message",
            "driver-arrival": "reference driver_id driverName timestamp",
            "job-accepted": "bookingId bookingReference driverName step timestamp",
            "job-progress": "bookingId bookingReference driverName step timestamp",
        ])
    func fields(event: String, names: String) throws {
        let named = names.split(separator: " ").map(String.init) + ["notificationId", "correlationId"]
        let good = try sample(event, "{body: '\(named.map { "{\($0)}" }.joined())', title: t}")
        #expect(good.warnings == [])
        let all = [
            "action", "batchId", "bookingId", "bookingReference", "bookingsCount", "driverId", "driverName", "driver_id",
            "dropId", "dropsCount", "earningsAdjustment", "message", "orderRef", "pickupAddress", "reason", "reference",
            "routeId", "routeNumber", "scheduledAt", "timestamp", "totalGBP", "type",
        ]
        for name in all where !named.contains(name) {
            #expect(try sample(event, "{title: '{\(name)}', body: b}").warnings.count == 1, "\(name)")
        }
    }

    @Test("Each field that an event never has causes one warning")
    func unknownField() throws {
        let sample = try sample("job-assigned", "{title: '{driver|nobody} {driver}', body: '{fee|free}'}")
        #expect(
            sample.warnings == [
                "job-assigned has no field {driver}: devices always show the text after |, or nothing without |",
                "job-assigned has no field {fee}: devices always show the text after |, or nothing without |",
            ])
        #expect(sample.full == Sample.Text(title: "nobody ", body: "free"))
        #expect(sample.full == sample.bare)
        #expect(sample.lines.suffix(2) == sample.warnings.map { "  warning: \($0)" })
    }

    @Test(
        "A notification whose sender chooses the fields may have any field",
        arguments: ["NEW_BATCH_AVAILABLE", "DRIVER_REJECTED", "driver_arrival", "lunch-break"])
    func announced(name: String) throws {
        let sample = try sample(name, "{title: '{until|soon}', body: '{message}'}")
        #expect(sample.warnings == [])
        #expect(sample.full == Sample.Text(title: "[until]", body: "The sender's own words"))
        #expect(sample.bare == Sample.Text(title: "soon", body: ""))
    }

    @Test("The sample of a known type has values for the fields that senders usually set")
    func knownTypes() throws {
        func full(_ name: String, _ body: String) throws -> String { try sample(name, "{body: '\(body)'}").full.body }
        #expect(
            try full("NEW_BATCH_AVAILABLE", "{batchId} {batchNumber} {zone} {orderCount}") == "b-17 17 Harbour 6")
        #expect(try full("DRIVER_APPROVED", "{action}") == "navigate_home")
        #expect(try full("DRIVER_REJECTED", "{action} {reason}") == "navigate_rejection Customer request")
        #expect(try full("ORDER_CANCELLED", "{orderId} {batchId}") == "A-1042 b-17")
    }

    @Test("A warning reports an entry that shows nothing, either always or if fields are missing")
    func emptyTexts() throws {
        let always = "devices show nothing: title and body are empty"
        let hint = ": write {field|text} to set a text for that case"
        #expect(try sample("lunch", "{body: ''}").warnings == [always])
        #expect(try sample("job-assigned", "{title: '', body: '{fee}'}").warnings.last == always)
        #expect(
            try sample("lunch", "{}").warnings == ["devices show nothing if {message} is missing" + hint])
        #expect(
            try sample("lunch", "{title: '{a}', body: '{b}{a}'}").warnings
                == ["devices show nothing if {a}, {b} are missing" + hint])
        #expect(try sample("lunch", "{title: '{a|b}', body: '{b}'}").warnings == [])
    }
}
