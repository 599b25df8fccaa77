/// When large channels hear how many they are: every change in a small one, every five seconds in a large one.
struct SubscriptionCountThrottle {
    /// Subscribers up to which every change is told at once.
    static let promptUpTo = 100
    private static let interval: Int64 = 5_000

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
