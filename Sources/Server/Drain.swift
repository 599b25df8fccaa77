import PusherProtocol

/// A loop on its way out: who is still to be told, in waves.
struct Drain {
    static let tickSeconds = 0.05

    /// Shuffled by whoever made it; taken from the end.
    private var remaining: [SocketID]
    private var ticksLeft: Int
    /// Ticks after the last wave in which clients may answer the close.
    private var graceTicks = 20

    init(_ sockets: [SocketID], seconds: Int) {
        remaining = sockets
        ticksLeft = max(1, Int(Double(seconds) / Self.tickSeconds))
    }

    /// Whether nobody need be waited for any more.
    var isOver: Bool { remaining.isEmpty && graceTicks <= 0 }

    /// Who is told now: an even share of those left.
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
