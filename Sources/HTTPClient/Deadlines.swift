/// Requests in the order of their deadlines, which is that of their start, because all are given the same time.
///
/// One that ends early stays until it comes to the front, where its serial tells that it has ended.
struct Deadlines {
    private struct Entry {
        let exchange: Exchange
        let serial: Int
        let deadline: ContinuousClock.Instant
    }

    private var entries: [Entry] = []
    private var first = 0

    mutating func append(_ exchange: Exchange, at deadline: ContinuousClock.Instant) {
        entries.append(Entry(exchange: exchange, serial: exchange.serial, deadline: deadline))
    }

    /// The next one that has not ended.
    mutating func next() -> (exchange: Exchange, deadline: ContinuousClock.Instant)? {
        while first < entries.count, entries[first].serial != entries[first].exchange.serial { first += 1 }
        if first == entries.count || first > 1_024 {
            entries.removeFirst(first)
            first = 0
        }
        guard first < entries.count else { return nil }
        return (entries[first].exchange, entries[first].deadline)
    }
}
