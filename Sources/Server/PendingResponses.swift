/// Requests that are whole and wait for their answer, which comes from another thread. Places are reused.
struct PendingResponses {
    struct PendingResponse {
        let wsi: OpaquePointer
        let withoutBody: Bool
        /// Whether the connection ends with the answer.
        let isLast: Bool
        let correlationID: String
    }

    private struct Slot {
        var response: PendingResponse?
        /// How many exchanges have had this place: an answer to one that was abandoned is not the next one's.
        var generation = 0
    }

    private var slots: [Slot] = []
    private var vacant: [Int] = []

    /// How many there are.
    var count: Int { slots.count - vacant.count }

    mutating func add(_ exchange: PendingResponse) -> RequestID {
        let index = vacant.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        slots[index].response = exchange
        return RequestID(index: index, generation: slots[index].generation)
    }

    /// Nil when it has been answered, or was abandoned.
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

/// Names a request that is to be answered later, on the loop that has it.
package struct RequestID: Hashable, Sendable {
    private static let indexBits = 24

    /// For whoever carries it through other threads.
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    init(index: Int, generation: Int) { rawValue = generation << Self.indexBits | index }

    var index: Int { rawValue & (1 << Self.indexBits - 1) }
    var generation: Int { rawValue >> Self.indexBits }
}
