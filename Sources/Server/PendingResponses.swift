/// Complete requests that wait for a response from another thread, by slot. Slots are reused.
struct PendingResponses {
    struct PendingResponse {
        let wsi: OpaquePointer
        /// Whether the response is sent without its body, because the method is HEAD.
        let withoutBody: Bool
        /// Whether the connection closes after the response.
        let isLast: Bool
        let correlationID: String
    }

    private struct Slot {
        var response: PendingResponse?
        /// Increases with each reuse of the slot, so that a late response to an abandoned request is not sent to the
        /// slot's next request.
        var generation = 0
    }

    private var slots: [Slot] = []
    private var vacant: [Int] = []

    /// The number of requests.
    var count: Int { slots.count - vacant.count }

    mutating func add(_ response: PendingResponse) -> RequestID {
        let index = vacant.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        slots[index].response = response
        return RequestID(index: index, generation: slots[index].generation)
    }

    /// Removes and returns a request; nil if it was already responded to or its connection has closed.
    mutating func remove(_ id: RequestID) -> PendingResponse? {
        guard id.index < slots.count, slots[id.index].generation == id.generation else { return nil }
        return remove(at: id.index)
    }

    @discardableResult
    mutating func remove(at index: Int) -> PendingResponse? {
        defer {
            slots[index].response = nil
            slots[index].generation += 1
            vacant.append(index)
        }
        return slots[index].response
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
