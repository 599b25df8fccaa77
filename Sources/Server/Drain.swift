import PusherProtocol

/// A drain: which connections a stopping loop still has to close, and how many of them per tick.
struct Drain {
    static let tickSeconds = 0.05

    /// Shuffled by the caller; waves are removed from the end.
    private var remaining: [SocketID]
    private var ticksLeft: Int
    /// Ticks after the last wave during which clients may answer the close frame: one second.
    private var graceTicks = 20

    /// - Parameter seconds: the time over which the closes are spread.
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
