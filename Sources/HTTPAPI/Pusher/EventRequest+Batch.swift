import FanOut
import JSON

/// `POST /apps/ID/batch_events`: several events, each with its own channel and excluded connection (protocol points
/// D1–D6).
package struct BatchRequest {
    package let events: [EventRequest]

    /// - Throws: ``APIError`` with 400 or 413. If one event is invalid, the whole batch is rejected.
    package init(_ body: UnsafeRawBufferPointer, rules: AppRules) throws(APIError) {
        let limits = rules.limits
        let slices = try APIError.mappingJSONErrors { try Self.slices(body) }
        guard let slices, !slices.isEmpty else { throw APIError(400, "Expected batch parameter to be an array of events") }
        guard slices.count <= limits.batchEvents else {
            throw APIError(400, "Expected at most \(limits.batchEvents) events in a batch, found \(slices.count)")
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

    private static func slices(_ body: UnsafeRawBufferPointer) throws -> [JSONSlice]? {
        var slices: [JSONSlice]?
        try JSONReader.object(body) { key, value in
            guard key.equals("batch"), value.kind == .array else { return }
            var elements: [JSONSlice] = []
            try JSONReader.array(value.raw) { elements.append($0) }
            slices = elements
        }
        return slices
    }
}
