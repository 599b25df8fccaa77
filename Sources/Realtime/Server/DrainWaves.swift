import Primitives
import PusherProtocol

/// The schedule by which a stopping loop closes its connections gradually: which ones are still to close, and how many
/// of them per tick.
struct DrainWaves {
    /// The close code of all connections, also of those whose upgrade request arrives during the drain.
    let code: CloseCode
    static let reason = "Server is restarting: connect again"
    /// The connections still to close. Each wave takes the last ones.
    private var remaining: [SocketID]
    private let total: Int
    /// The number of waves, one per tick.
    private let ticks: Int
    /// The number of waves so far.
    private var tick = 0
    /// Ticks after the last wave during which clients may respond to the close frame.
    private var graceTicks = Timing.drainGrace / Timing.drainTick
    /// Ticks in which requests under way may still be answered.
    private var requestTicks: Int

    /// - Parameters:
    ///   - sockets: the connections to close, in random order. The last ones are closed first.
    ///   - seconds: the time over which the closes are spread; 0: all are closed at once.
    ///   - requestSeconds: the time in which requests under way may still be answered.
    init(_ sockets: [SocketID], seconds: Int, requestSeconds: Int, closingWith code: CloseCode) {
        self.code = code
        remaining = sockets
        total = sockets.count
        ticks = max(1, Self.ticks(seconds))
        requestTicks = Self.ticks(requestSeconds)
    }

    private static func ticks(_ seconds: Int) -> Int { Int(Int64(seconds) * 1_000 / Timing.drainTick) }

    /// Whether all waves are closed, and the grace period is over, as well as the time of requests, if there are any.
    /// - Parameter hasRequests: evaluated only when nothing else keeps the loop.
    func isOver(hasRequests: @autoclosure () -> Bool) -> Bool {
        remaining.isEmpty && graceTicks <= 0 && (requestTicks <= 0 || !hasRequests())
    }

    /// The connections to close in this tick, so that after each tick the same share of connections is closed as of the
    /// time is over: with fewer connections than ticks, some waves are empty.
    mutating func nextWave() -> [SocketID] {
        requestTicks -= 1
        guard tick < ticks else {
            graceTicks -= 1
            return []
        }
        tick += 1
        let closed = (total * tick + ticks - 1) / ticks  // rounded up, so that a single connection need not wait
        let share = closed - (total - remaining.count)
        defer { remaining.removeLast(share) }
        return remaining.suffix(share)
    }
}
