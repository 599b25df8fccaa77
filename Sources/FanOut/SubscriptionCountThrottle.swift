/// When to send `subscription_count`: at every change in a small channel, every five seconds in a large one.
struct SubscriptionCountThrottle {
    /// A channel with at most this many subscribers gets an event at every change.
    static let promptUpTo = 100
    /// Milliseconds.
    private static let interval: Int64 = 5_000

    /// Large channels whose count has changed.
    var due: [ChannelSlot] = []
    private var next: Int64 = 0

    mutating func isTime(_ now: Int64) -> Bool {
        guard now >= next else { return false }
        next = now + Self.interval
        return !due.isEmpty
    }

    mutating func takeDue() -> [ChannelSlot] {
        defer { due.removeAll(keepingCapacity: true) }
        return due
    }
}
