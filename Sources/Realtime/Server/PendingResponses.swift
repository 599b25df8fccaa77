/// Requests whose heads are complete and which have no response yet, by index. Indexes are reused.
struct PendingResponses {
    struct PendingResponse {
        /// The connection's slot in ``ConnectionTable``.
        let slot: Int
        /// Whether the response is sent without its body, because the method is HEAD.
        let withoutBody: Bool
        /// Whether the version is HTTP/1.1; HTTP/1.0 clients have to be told that the connection stays open.
        let isHTTP11: Bool
        /// Whether the connection closes after the response.
        var isLast: Bool
        var measured: EventLoop.MeasuredRequest
    }

    private struct Entry {
        var response: PendingResponse?
        /// Increases with each reuse of the index, so that a late response to an abandoned request is not sent to the
        /// index's next request.
        var generation = 0
    }

    private var entries: [Entry] = []
    private var vacant: [Int] = []

    /// The number of requests.
    var count: Int { entries.count - vacant.count }

    /// The slots of their connections.
    var slots: some Sequence<Int> { entries.lazy.compactMap(\.response?.slot) }

    mutating func add(_ response: PendingResponse) -> RequestID {
        let index = vacant.popLast() ?? entries.count
        if index == entries.count { entries.append(Entry()) }
        entries[index].response = response
        return RequestID(index: index, generation: entries[index].generation)
    }

    /// A request; nil if it was already responded to or its connection has closed.
    subscript(id: RequestID) -> PendingResponse? {
        guard id.index < entries.count, entries[id.index].generation == id.generation else { return nil }
        return entries[id.index].response
    }

    /// Changes what is counted of a request.
    mutating func measure(_ id: RequestID, _ change: (inout EventLoop.MeasuredRequest) -> Void) {
        if self[id] != nil { change(&entries[id.index].response!.measured) }
    }

    /// Makes the connection close after the response.
    mutating func setLast(_ id: RequestID) { entries[id.index].response?.isLast = true }

    /// Removes and returns a request; nil if it was already responded to or its connection has closed.
    @discardableResult
    mutating func remove(_ id: RequestID) -> PendingResponse? {
        guard let response = self[id] else { return nil }
        entries[id.index].response = nil
        entries[id.index].generation += 1
        vacant.append(id.index)
        return response
    }
}

/// Identifies a request that waits for its response, within one loop.
package struct RequestID: Hashable, Sendable {
    /// The lower bits of ``rawValue`` that contain the index; the higher bits contain the generation.
    private static let indexBits = 24

    /// The id as an integer, for modules that pass it through and do not import this one.
    package let rawValue: Int

    /// - Parameter rawValue: the ``rawValue`` of an id that this loop created.
    package init(rawValue: Int) { self.rawValue = rawValue }

    init(index: Int, generation: Int) { rawValue = generation << Self.indexBits | index }

    var index: Int { rawValue & (1 << Self.indexBits - 1) }
    var generation: Int { rawValue >> Self.indexBits }
}
