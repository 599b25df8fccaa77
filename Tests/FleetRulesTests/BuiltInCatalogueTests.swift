import Fleet
import Testing

@Suite struct BuiltInCatalogueTests {
    /// The names of all entries: events for drivers and customers, then types of announcements.
    static let allNames = [
        "job-assigned", "job-removed", "order-removed", "schedule-updated", "job-available-again", "job-cancelled",
        "job-removed-from-list", "tracking-stopped", "driver-removed", "route-cancelled", "route-unassigned",
        "route-assigned", "drop-removed", "driver-arrival", "NEW_BATCH_AVAILABLE", "DRIVER_APPROVED", "DRIVER_REJECTED",
        "BATCH_REASSIGNED", "ORDER_CANCELLED", "driver_arrival", "driver-assigned", "driver-en-route", "driver-nearby",
        "driver-waiting", "trip-started", "destination-near", "trip-completed", "batch-assigned", "batch-cancelled",
        "job-corrected", "arrival-corrected",
    ]

    @Test("Every event for drivers and customers has an entry, and so has every type of announcement")
    func names() {
        #expect(NotificationCatalogue.builtIn.names == Self.allNames.sorted())
        #expect(NotificationCatalogue.builtIn.entry(for: "job-accepted") == nil)
        #expect(NotificationCatalogue.builtIn.entry(for: "JOB-ASSIGNED") == nil)
    }

    @Test("Data types are those that existing apps use")
    func dataTypes() {
        func type(_ name: String) -> String? { NotificationCatalogue.builtIn.entry(for: name)?.dataType }
        #expect(type("job-assigned") == "new_job")
        #expect(type("route-assigned") == "new_route" && type("batch-assigned") == "new_route")
        #expect(type("batch-cancelled") == "job_update")
        for name in ["route-cancelled", "route-unassigned", "drop-removed"] { #expect(type(name) == "route_update") }
        for name in ["job-removed", "order-removed", "driver-removed", "tracking-stopped", "job-corrected"] {
            #expect(type(name) == "job_update")
        }
        for name in Self.allNames where name.contains("_") { #expect(type(name) == name) }
        #expect(type("driver-arrival") == "driver_arrival" && type("arrival-corrected") == "arrival_corrected")
    }

    @Test("The lifetime is an hour for new jobs, that of the moment for moments of a trip, and a day for all others")
    func lifetimes() {
        for name in Self.allNames {
            let seconds = NotificationCatalogue.builtIn.entry(for: name)?.lifetimeSeconds
            switch name {
            case "job-assigned", "driver-assigned": #expect(seconds == 3_600)
            case "driver-en-route", "trip-started": #expect(seconds == 1_800)
            case "driver-arrival", "driver_arrival", "driver-nearby", "driver-waiting", "destination-near", "arrival-corrected":
                #expect(seconds == 600)
            default: #expect(seconds == 86_400)
            }
        }
    }

    @Test("Revocations and arrivals are urgent, and some events are not pushed")
    func urgency() {
        let entries = Self.allNames.compactMap(NotificationCatalogue.builtIn.entry)
        #expect(
            Set(entries.filter(\.urgent).map(\.name)) == [
                "job-removed", "order-removed", "job-cancelled", "route-cancelled", "route-unassigned", "drop-removed",
                "BATCH_REASSIGNED", "ORDER_CANCELLED", "driver-arrival", "driver_arrival", "driver-waiting",
                "batch-cancelled", "job-corrected", "arrival-corrected",
            ])
        #expect(
            Set(entries.filter { $0.push == .off }.map(\.name)) == [
                "schedule-updated", "job-removed-from-list", "tracking-stopped", "job-available-again",
            ])
        #expect(entries.allSatisfy { $0.push == .off || $0.push == nil })
    }

    @Test("Texts have 1 to 80 characters and no surplus spaces, with and without values", arguments: allNames)
    func texts(name: String) throws {
        let entry = try #require(NotificationCatalogue.builtIn.entry(for: name))
        for value in [nil, "x"] {
            for text in [entry.title, entry.body].map({ $0.render { _ in value } }) {
                #expect((1...80).contains(text.count), "\(text)")
                #expect(!text.contains("  ") && text.first != " " && text.last != " ", "\(text)")
            }
        }
        #expect(entry.sound == "default")
    }

    @Test("The text of a new job contains its addresses, and the text of an arrival contains the driver's name")
    func values() throws {
        let job = try #require(NotificationCatalogue.builtIn.entry(for: "job-assigned"))
        let addresses = ["pickupAddress": "1 Quay St", "dropoffAddress": "9 Mill Ln"]
        #expect(job.title.render { addresses[$0] } == "New job")
        #expect(job.body.render { addresses[$0] } == "1 Quay St to 9 Mill Ln")
        #expect(job.body.render { _ in nil } == "Pickup to destination")
        for name in ["driver-arrival", "driver_arrival"] {
            let arrival = try #require(NotificationCatalogue.builtIn.entry(for: name))
            #expect(arrival.title.render { _ in nil } == "Your driver has arrived!")
            #expect(arrival.body.render { _ in nil } == "Your driver is waiting for you")
            #expect(arrival.body.render { $0 == "driverName" ? "Ada" : nil } == "Ada is waiting for you")
            #expect(arrival.category == "DRIVER_ARRIVAL")
        }
    }
}
