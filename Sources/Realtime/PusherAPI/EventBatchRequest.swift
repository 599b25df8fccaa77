import FanOut
import JSON

/// `POST /apps/ID/batch_events`: several events, each with its own channel and excluded connection (protocol points
/// D1–D6).
package struct EventBatchRequest {
    package let events: [EventRequest]

    /// - Throws: ``APIError`` with 400 or 413. If one event is invalid, the whole batch is rejected.
    package init(_ body: UnsafeRawBufferPointer, rules: AppRules) throws(APIError) {
        let limits = rules.limits
        let (slices, count) = try APIError.mappingJSONErrors { try Self.slices(body, max: limits.batchEvents) }
        guard count > 0 else { throw APIError(400, "Expected batch parameter to be an array of events") }
        guard count <= limits.batchEvents else {
            throw APIError(400, "Expected at most \(limits.batchEvents) events in a batch, found \(count)")
        }
        var events: [EventRequest] = []
        for slice in slices {
            guard slice.kind == .object else { throw APIError(400, "Expected every event of a batch to be an object") }
            let event = try EventRequest(slice.raw, rules: rules)
            guard event.publications.count == 1 else {
                throw APIError(400, "Expected every event of a batch to name one channel")
            }
            events.append(event)
        }
        self.events = events
    }

    /// - Returns: the events up to the limit, and the number of all.
    private static func slices(_ body: UnsafeRawBufferPointer, max: Int) throws -> (slices: [JSONSlice], count: Int) {
        var batch: JSONSlice?
        try JSONReader.object(body) { key, value in if key.equals("batch"), value.kind == .array { batch = value } }
        var (slices, count): ([JSONSlice], Int) = ([], 0)
        guard let batch else { return (slices, count) }
        try JSONReader.array(batch.raw) { slice in
            count += 1
            if count <= max { slices.append(slice) }
        }
        return (slices, count)
    }
}
