import Cluster
import Synchronization
import Threads

/// Whether this node of a cluster lives. A process that was stopped for longer than the other nodes wait for heartbeats is
/// dead to them: they have withdrawn its members, and answer its clients' requests. What lay in its buffers must reach nobody.
/// So each thread asks here before it handles anything; the first that finds the gap ends the node's life, and the cluster's
/// thread begins the next one when all loops have closed their connections.
final class NodeLife: Sendable {
    /// After a gap of so many milliseconds, the other nodes have given this one up.
    private let patience: Int64
    private let isOverFlag = Atomic(false)
    private let loopsClosed = Atomic(0)
    /// When the last heartbeat was sent: milliseconds of the monotonic clock, which goes on while a process is stopped.
    private let heartbeatAt = Atomic(Clock.monotonicMilliseconds())
    /// The others may have heard the last heartbeat earlier than it was noted here, in milliseconds.
    private static let margin: Int64 = 100

    init(heartbeatSeconds: Int) {
        patience = Membership.heartbeatsMissed * Int64(heartbeatSeconds) * 1_000 - Self.margin
    }

    /// Whether the node's life is over, and the next one has not begun.
    var isOver: Bool { isOverFlag.load(ordering: .acquiring) }

    /// Whether a thread may handle what it has got.
    func mayGoOn() -> Bool {
        if Clock.monotonicMilliseconds() - heartbeatAt.load(ordering: .relaxed) > patience {
            isOverFlag.store(true, ordering: .releasing)
        }
        return !isOver
    }

    /// A heartbeat was sent at this time.
    func recordHeartbeat(at time: Int64) { heartbeatAt.store(time, ordering: .relaxed) }

    /// A loop has closed its connections.
    func recordClosed() { loopsClosed.wrappingAdd(1, ordering: .acquiringAndReleasing) }

    /// Begins the next life, once all loops have closed their connections.
    /// - Returns: whether it has begun.
    func beginIfClosed(loopCount: Int) -> Bool {
        guard isOver, loopsClosed.load(ordering: .acquiring) >= loopCount else { return false }
        loopsClosed.store(0, ordering: .releasing)
        heartbeatAt.store(Clock.monotonicMilliseconds(), ordering: .relaxed)
        isOverFlag.store(false, ordering: .releasing)
        return true
    }
}
