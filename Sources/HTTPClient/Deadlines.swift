/// A request, as long as its handle has no other.
struct TimedRequest {
    let handle: EasyHandle
    private let serial: Int

    init(_ exchange: EasyHandle) {
        self.handle = exchange
        serial = exchange.serial
    }

    var hasEnded: Bool { serial != handle.serial }
}

/// Requests in the order of their deadlines, which is that of their start, because all are given the same time.
///
/// One that ends early stays until it comes to the front, where it is found to have ended.
struct Deadlines {
    private var entries: [(request: TimedRequest, deadline: ContinuousClock.Instant)] = []
    private var first = 0

    mutating func append(_ exchange: EasyHandle, at deadline: ContinuousClock.Instant) {
        entries.append((TimedRequest(exchange), deadline))
    }

    /// The next one that has not ended.
    mutating func next() -> (exchange: EasyHandle, deadline: ContinuousClock.Instant)? {
        while first < entries.count, entries[first].request.hasEnded { first += 1 }
        if first == entries.count || first > 1_024 {
            entries.removeFirst(first)
            first = 0
        }
        guard first < entries.count else { return nil }
        return (entries[first].request.handle, entries[first].deadline)
    }
}
