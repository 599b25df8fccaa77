/// When each event is due: at a constant rate, however fast the gateway responds.
///
/// Latency counts from the moment at which an event is due, not from the one at which it was sent. Otherwise a gateway
/// that stalls would also stall the publisher, and the events that should have been sent meanwhile would be missing in
/// the percentiles (coordinated omission).
struct Schedule: Equatable {
    /// When the first event is due, in nanoseconds of the monotonic clock.
    let start: UInt64
    /// Events per second.
    let rate: Double
    let count: Int

    /// When an event is due.
    func time(of event: Int) -> UInt64 { start + UInt64(Double(event) * 1e9 / rate) }

    /// The number of events that are due at `now` or before.
    func dueCount(at now: UInt64) -> Int {
        guard now >= start else { return 0 }
        var due = min(count, Int(Double(now - start) / 1e9 * rate) + 1)
        // The quotient is rounded, so the last event may be one too many or one too few.
        while due > 0, time(of: due - 1) > now { due -= 1 }
        while due < count, time(of: due) <= now { due += 1 }
        return due
    }
}
