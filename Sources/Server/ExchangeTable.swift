import HTTPAPI

/// Requests that are whole and wait for their answer, which comes from another thread. Places are reused.
struct ExchangeTable {
    struct Exchange {
        let wsi: OpaquePointer
        let withoutBody: Bool
        /// Whether the connection ends with the answer.
        let isLast: Bool
        let correlationID: String
    }

    private struct Place {
        var exchange: Exchange?
        /// How many exchanges have had this place: an answer to one that was abandoned is not the next one's.
        var generation = 0
    }

    private var places: [Place] = []
    private var vacant: [Int] = []

    /// How many there are.
    var count: Int { places.count - vacant.count }

    mutating func add(_ exchange: Exchange) -> ExchangeID {
        let index = vacant.popLast() ?? places.count
        if index == places.count { places.append(Place()) }
        places[index].exchange = exchange
        return ExchangeID(index: index, generation: places[index].generation)
    }

    /// Nil when it has been answered, or was abandoned.
    mutating func remove(_ id: ExchangeID) -> Exchange? {
        guard id.index < places.count, places[id.index].generation == id.generation else { return nil }
        return remove(at: id.index)
    }

    @discardableResult
    mutating func remove(at index: Int) -> Exchange? {
        defer {
            places[index].exchange = nil
            places[index].generation += 1
            vacant.append(index)
        }
        return places[index].exchange
    }
}

/// Names a request that is to be answered later, on the loop that has it.
package struct ExchangeID: Hashable, Sendable {
    private static let indexBits = 24

    /// For whoever carries it through other threads.
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    init(index: Int, generation: Int) { rawValue = generation << Self.indexBits | index }

    var index: Int { rawValue & (1 << Self.indexBits - 1) }
    var generation: Int { rawValue >> Self.indexBits }
}
