/// A request and the handle that sends it. Handles are reused; the serial number tells the requests of a handle apart.
struct TimedRequest {
    let handle: EasyHandle
    private let serial: Int

    init(_ handle: EasyHandle) {
        self.handle = handle
        serial = handle.serial
    }

    var hasEnded: Bool { serial != handle.serial }
}

/// Requests in the order of their deadlines, which is the order of their starts: all have the same time-out.
///
/// A request that ends before its deadline stays in the queue until it is the first entry.
struct Deadlines {
    private var entries: [(request: TimedRequest, deadline: ContinuousClock.Instant)] = []
    /// The entries before this index belong to requests that have ended; ``next()`` removes them later.
    private var first = 0

    mutating func append(_ handle: EasyHandle, at deadline: ContinuousClock.Instant) {
        entries.append((TimedRequest(handle), deadline))
    }

    /// The request with the earliest deadline among those that have not ended; nil if all have ended. It stays in the
    /// queue.
    mutating func next() -> (handle: EasyHandle, deadline: ContinuousClock.Instant)? {
        while first < entries.count, entries[first].request.hasEnded { first += 1 }
        // Remove many entries at once: each removal moves all entries behind.
        if first == entries.count || first > 1_024 {
            entries.removeFirst(first)
            first = 0
        }
        guard first < entries.count else { return nil }
        return (entries[first].request.handle, entries[first].deadline)
    }
}
