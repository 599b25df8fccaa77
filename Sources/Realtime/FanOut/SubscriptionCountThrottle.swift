import Primitives

/// Decides when `subscription_count` is sent (protocol point N1): in a small channel at every change, in a large
/// channel at most once every five seconds.
struct SubscriptionCountThrottle {
    /// A channel with at most this many subscribers is small: it gets an event at every change.
    static let largestUnthrottledCount = 100

    /// Large channels whose count has changed since it was last sent.
    var due: [ChannelSlot] = []
    /// When the next interval starts, in monotonic milliseconds.
    private var next: Int64 = 0

    /// Starts the next interval if the current one is over.
    /// - Returns: whether an interval has started and at least one count is due. An interval also starts if no count is
    ///   due; a count that becomes due during it is sent when the next interval starts.
    mutating func startInterval(at now: Int64) -> Bool {
        guard now >= next else { return false }
        next = now + Timing.subscriptionCountInterval
        return !due.isEmpty
    }

    /// Removes and returns the channels whose count is due.
    mutating func takeDue() -> [ChannelSlot] {
        defer { due.removeAll(keepingCapacity: true) }
        return due
    }
}

extension Timing {
    /// The shortest time between two counts of a large channel (protocol point N1).
    static let subscriptionCountInterval = milliseconds(5_000)
}
