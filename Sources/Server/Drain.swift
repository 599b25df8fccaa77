import PusherProtocol

/// The schedule by which a stopping loop closes its connections gradually: which ones are still to close, and how many
/// of them per tick.
struct Drain {
    /// The time between two waves.
    static let tickSeconds = 0.05

    /// The connections still to close. Each wave takes the last ones.
    private var remaining: [SocketID]
    /// The number of waves still to close, one per tick.
    private var ticksLeft: Int
    /// Ticks after the last wave during which clients may respond to the close frame: one second.
    private var graceTicks = 20

    /// - Parameters:
    ///   - sockets: the connections to close, in random order. The last ones are closed first.
    ///   - seconds: the time over which the closes are spread.
    init(_ sockets: [SocketID], seconds: Int) {
        remaining = sockets
        ticksLeft = max(1, Int(Double(seconds) / Self.tickSeconds))
    }

    /// Whether all waves are closed and the grace period is over.
    var isOver: Bool { remaining.isEmpty && graceTicks <= 0 }

    /// The connections to close in this tick: an even share of the remaining ones.
    mutating func nextWave() -> [SocketID] {
        guard ticksLeft > 0 else {
            graceTicks -= 1
            return []
        }
        let share = (remaining.count + ticksLeft - 1) / ticksLeft
        ticksLeft -= 1
        defer { remaining.removeLast(share) }
        return remaining.suffix(share)
    }
}
