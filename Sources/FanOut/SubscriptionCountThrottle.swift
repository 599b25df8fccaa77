/// When to send `subscription_count` (N1): at every change in a small channel, every five seconds in a large one.
struct SubscriptionCountThrottle {
    /// A channel with at most this many subscribers gets an event at every change.
    static let promptUpTo = 100
    /// Milliseconds between two counts of a large channel.
    private static let interval: Int64 = 5_000

    /// Large channels whose count has changed.
    var due: [ChannelSlot] = []
    /// When the next interval starts, in monotonic milliseconds.
    private var next: Int64 = 0

    /// Starts the next interval if the current one is over.
    /// - Returns: whether an interval started and counts are due. If none are due, the next chance is an interval
    ///   later.
    mutating func startInterval(at now: Int64) -> Bool {
        guard now >= next else { return false }
        next = now + Self.interval
        return !due.isEmpty
    }

    /// Removes and returns the channels whose count is due.
    mutating func takeDue() -> [ChannelSlot] {
        defer { due.removeAll(keepingCapacity: true) }
        return due
    }
}
