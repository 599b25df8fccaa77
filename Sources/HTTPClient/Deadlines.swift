/// A request, as long as its handle has no other.
struct Started {
    let exchange: Exchange
    private let serial: Int

    init(_ exchange: Exchange) {
        self.exchange = exchange
        serial = exchange.serial
    }

    var hasEnded: Bool { serial != exchange.serial }
}

/// Requests in the order of their deadlines, which is that of their start, because all are given the same time.
///
/// One that ends early stays until it comes to the front, where it is found to have ended.
struct Deadlines {
    private var entries: [(request: Started, deadline: ContinuousClock.Instant)] = []
    private var first = 0

    mutating func append(_ exchange: Exchange, at deadline: ContinuousClock.Instant) {
        entries.append((Started(exchange), deadline))
    }

    /// The next one that has not ended.
    mutating func next() -> (exchange: Exchange, deadline: ContinuousClock.Instant)? {
        while first < entries.count, entries[first].request.hasEnded { first += 1 }
        if first == entries.count || first > 1_024 {
            entries.removeFirst(first)
            first = 0
        }
        guard first < entries.count else { return nil }
        return (entries[first].request.exchange, entries[first].deadline)
    }
}
