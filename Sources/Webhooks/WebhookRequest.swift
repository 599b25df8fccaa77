import JSON

/// The body of a request to an endpoint. All attempts send the same bytes.
struct WebhookRequest: Equatable {
    /// `{"time_ms":…,"events":[…]}` (protocol point V2).
    let body: [UInt8]
    /// The number of events.
    let count: Int

    /// - Parameters:
    ///   - events: at least one event, each a JSON object.
    ///   - time: when the last event happened, in milliseconds since 1970. It shows receivers how late the webhook is.
    init(_ events: ArraySlice<[UInt8]>, time: Int64) {
        var json = JSONWriter(capacity: events.reduce(64) { $0 + $1.count + 1 })
        json.object {
            $0.member("time_ms", time)
            $0.member("events", Array(events)) { $0.raw($1) }
        }
        body = json.bytes
        count = events.count
    }
}
