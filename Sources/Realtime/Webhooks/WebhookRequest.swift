import JSON

/// The body of a request to an endpoint. All attempts send the same bytes.
struct WebhookRequest: Equatable {
    /// `{"time_ms":…,"events":[…]}` (protocol point V2).
    let body: [UInt8]

    /// - Parameter events: at least one. `time_ms` is the time of the last: it shows receivers how late the webhook is.
    init(_ events: ArraySlice<QueuedEvent>) {
        var json = JSONWriter(capacity: events.reduce(64) { $0 + $1.json.count + 1 })
        json.object {
            $0.member("time_ms", events.last?.time ?? 0)
            $0.member("events", events.map(\.json)) { $0.raw($1) }
        }
        body = json.bytes
    }
}
