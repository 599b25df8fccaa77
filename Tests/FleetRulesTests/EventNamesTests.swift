import Fleet
import Testing

@Suite struct EventNamesTests {
    @Test(arguments: [
        ("job-assigned", "new_job"), ("route-assigned", "new_route"), ("route-cancelled", "route_update"),
        ("drop-removed", "route_update"), ("route-unassigned", "route_update"), ("job-removed", "job_update"),
        ("schedule-updated", "job_update"), ("driver-removed", "job_update"), ("driver-arrival", "driver_arrival"),
    ])
    func mapsEventsToTypes(_ event: String, _ type: String) {
        #expect(EventNames.type(ofEvent: event) == type)
    }

    @Test(arguments: [
        ("NEW_BATCH_AVAILABLE", "new-batch-available"), ("driver_arrival", "driver-arrival"), ("job-assigned", "job-assigned"),
    ])
    func mapsTypesToEventsInKebabCase(_ type: String, _ event: String) {
        #expect(EventNames.event(ofType: type) == event)
    }

    /// Each row: the names of the catalogue's entries, an event, and the name of the event's entry; nil: no entry
    /// applies to the event.
    private static let cases: [(names: [String], event: String, entry: String?)] = [
        (["job-assigned", "new_job", "JOB_ASSIGNED"], "job-assigned", "job-assigned"),
        (["new_job", "JOB_ASSIGNED"], "job-assigned", "JOB_ASSIGNED"),
        (["new_job", "job_update"], "job-assigned", "new_job"),
        (["job_update"], "job-progress", "job_update"),
        (["route_update"], "drop-removed", "route_update"),
        (["new_zone", "NEW_ZONE"], "new-zone", "NEW_ZONE"),
        (["route_update", "new_job"], "job-progress", nil),
        ([], "job-assigned", nil),
    ]

    @Test(arguments: cases)
    func findsTheMostSpecificEntry(_ names: [String], _ event: String, _ entry: String?) {
        #expect(CatalogueIndex(names).entryName(ofEvent: event) == entry)
        #expect(CatalogueIndex(names.reversed()).entryName(ofEvent: event) == entry)
    }
}
