import FleetRules
import Push
import Testing

@Suite struct PushCatalogueTests {
    @Test(arguments: [
        ("job-assigned", "job-assigned"),  // by its name
        ("new-batch-available", "NEW_BATCH_AVAILABLE"),  // by its type
        ("order-cancelled", "ORDER_CANCELLED"),
        ("driver-arrival", "driver-arrival"),  // by both; the name takes precedence
        ("driver_arrival", "driver_arrival"),
        ("NEW_BATCH_AVAILABLE", "NEW_BATCH_AVAILABLE"),
        ("order-assigned", nil), ("", nil),
    ])
    func entryOfAnEvent(_ event: String, _ name: String?) {
        #expect(PushFixture.catalogue.entry(ofEvent: event)?.name == name)
    }

    /// An event without an entry of its name uses the entry of its type, as the push policy does.
    @Test func findsTheEntryOfAnEventsType() {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("job_update"), PushFixture.entry("job-removed"))
        #expect(catalogue.entry(ofEvent: "job-progress")?.name == "job_update")
        #expect(catalogue.entry(ofEvent: "job-removed")?.name == "job-removed")
        #expect(catalogue.entry(ofEvent: "route-cancelled") == nil)
    }

    @Test func firstOfTwoTypesOfAnEventCounts() {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("new_zone"), PushFixture.entry("NEW_ZONE"))
        #expect(catalogue.entry(ofEvent: "new-zone")?.name == "NEW_ZONE")
    }

    @Test func entryOverridesTheMode() {
        let catalogue = PushFixture.makeCatalogue(
            PushFixture.entry("a"), PushFixture.entry("b") { $0.push = .mirror }, mode: .fallback)
        #expect(catalogue.entry(ofEvent: "a").map(catalogue.mode) == .fallback)
        #expect(catalogue.entry(ofEvent: "b").map(catalogue.mode) == .mirror)
    }
}
