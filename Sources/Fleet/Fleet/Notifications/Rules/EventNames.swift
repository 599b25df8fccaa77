/// Maps between events and notification types.
package enum EventNames {
    /// The `type` of an event in push data. Existing apps use it to select the screen to open.
    package static func type(ofEvent event: String) -> String {
        switch event {
        case "job-assigned": "new_job"
        case "route-assigned", "batch-assigned": "new_route"
        case _ where TripMoment(event: event) != nil: TripMoment(event: event)?.rawValue ?? event
        default: event.hasPrefix("route-") || event.hasPrefix("drop-") ? "route_update" : "job_update"
        }
    }

    /// The event that a type is published as, in kebab case: `new-batch-available` for `NEW_BATCH_AVAILABLE`.
    package static func event(ofType type: String) -> String {
        String(decoding: type.lowercased().utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self)
    }
}
