import Fleet
import Push
import Testing

@Suite struct PushCatalogueTests {
    /// `name`: the name of the event's entry; nil: the event has no entry.
    @Test(arguments: [
        ("job-assigned", "job-assigned"),  // the entry has the event's name
        ("new-batch-available", "NEW_BATCH_AVAILABLE"),  // the entry is the type published as this event
        ("order-cancelled", "ORDER_CANCELLED"),
        ("driver-arrival", "driver-arrival"),  // there are both entries: the one with the event's name takes precedence
        ("driver_arrival", "driver_arrival"),
        ("NEW_BATCH_AVAILABLE", "NEW_BATCH_AVAILABLE"),
        ("order-assigned", nil), ("", nil),
    ])
    func findsTheEntryByTheEventsNameOrItsPublishedType(_ event: String, _ name: String?) {
        #expect(PushFixture.catalogue.entry(ofEvent: event)?.name == name)
    }

    /// If the catalogue has neither an entry with the event's name nor a type published as this event, the entry is
    /// that of the event's type in the apps: `job_update` for `job-progress`. The push policy uses the same entry.
    @Test func findsTheEntryByTheEventsTypeInTheApps() {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("job_update"), PushFixture.entry("job-removed"))
        #expect(catalogue.entry(ofEvent: "job-progress")?.name == "job_update")
        #expect(catalogue.entry(ofEvent: "job-removed")?.name == "job-removed")
        #expect(catalogue.entry(ofEvent: "route-cancelled") == nil)
    }

    /// If two types are published as the same event, every process must use the entry of the same type.
    @Test func usesTheFirstTypeInSortOrder() {
        let catalogue = PushFixture.makeCatalogue(PushFixture.entry("new_zone"), PushFixture.entry("NEW_ZONE"))
        #expect(catalogue.entry(ofEvent: "new-zone")?.name == "NEW_ZONE")
    }

    @Test func modeOfTheEntryOverridesTheDefault() {
        let catalogue = PushFixture.makeCatalogue(
            PushFixture.entry("a"), PushFixture.entry("b") { $0.push = .mirror }, mode: .fallback)
        #expect(catalogue.entry(ofEvent: "a").map(catalogue.mode) == .fallback)
        #expect(catalogue.entry(ofEvent: "b").map(catalogue.mode) == .mirror)
    }
}
