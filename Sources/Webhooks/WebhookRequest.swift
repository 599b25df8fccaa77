import JSON

/// One request's worth of events, as it is sent until somebody takes it: the same bytes every time.
struct WebhookRequest: Equatable {
    /// `{"time_ms":…,"events":[…]}` (V2).
    let body: [UInt8]
    /// Events in it.
    let count: Int

    /// - Parameters:
    ///   - events: at least one, each an object.
    ///   - time: when the last of them was decided, in milliseconds since 1970: it shows how late a webhook is.
    init(_ events: ArraySlice<[UInt8]>, time: Int64) {
        var json = JSONWriter(capacity: events.reduce(64) { $0 + $1.count + 1 })
        json.raw(#"{"time_ms":"#)
        json.integer(time)
        json.raw(#","events":["#)
        for (index, event) in events.enumerated() {
            if index > 0 { json.raw(",") }
            json.raw(event)
        }
        json.raw("]}")
        body = json.bytes
        count = events.count
    }
}
