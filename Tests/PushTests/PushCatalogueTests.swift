import FleetRules
import Push
import Testing

@Suite struct PushCatalogueTests {
    @Test(arguments: [
        ("job-assigned", "job-assigned"),  // by its name
        ("new-batch-available", "NEW_BATCH_AVAILABLE"),  // by its type
        ("order-cancelled", "ORDER_CANCELLED"),
        ("driver-arrival", "driver-arrival"),  // both, and the name comes first
        ("driver_arrival", "driver_arrival"),
        ("NEW_BATCH_AVAILABLE", "NEW_BATCH_AVAILABLE"),
        ("order-assigned", nil), ("", nil),
    ])
    func entryOfAnEvent(_ event: String, _ name: String?) {
        #expect(PushFixture.texts.entry(ofEvent: event)?.name == name)
    }

    /// What the same entry rules to be pushed has words to be pushed with.
    @Test func anEntryOfAnEventsTypeIsFound() {
        let texts = PushFixture.texts(PushFixture.entry("job_update"), PushFixture.entry("job-removed"))
        #expect(texts.entry(ofEvent: "job-progress")?.name == "job_update")
        #expect(texts.entry(ofEvent: "job-removed")?.name == "job-removed")
        #expect(texts.entry(ofEvent: "route-cancelled") == nil)
    }

    @Test func theFirstOfTwoTypesOfOneEventCounts() {
        let texts = PushFixture.texts(PushFixture.entry("new_zone"), PushFixture.entry("NEW_ZONE"))
        #expect(texts.entry(ofEvent: "new-zone")?.name == "NEW_ZONE")
    }

    @Test func anEntryOverridesTheMode() {
        let texts = PushFixture.texts(PushFixture.entry("a"), PushFixture.entry("b") { $0.push = .mirror }, mode: .fallback)
        #expect(texts.entry(ofEvent: "a").map(texts.mode) == .fallback)
        #expect(texts.entry(ofEvent: "b").map(texts.mode) == .mirror)
    }
}
