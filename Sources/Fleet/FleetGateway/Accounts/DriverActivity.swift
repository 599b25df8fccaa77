import Primitives
import Threads

/// When each driver's last request came, so that drivers who are away for long go offline. The loops write, the store's
/// writer reads.
final class DriverActivity: Sendable {
    private struct State {
        /// Milliseconds since 1970.
        var lastRequests: [Identifier: Int64] = [:]
        /// The number of drivers at which old entries are removed.
        var sweepAt = 10_000
    }

    private let state = Lock(State())
    /// Entries so old say nothing that the store does not know: the driver is offline.
    private static let lifetime: Int64 = 13 * 3_600_000

    func record(_ driverID: String, at now: Int64 = Clock.unixMilliseconds()) {
        state.withLock { state in
            state.lastRequests[Identifier(driverID)] = now
            guard state.lastRequests.count >= state.sweepAt else { return }
            state.lastRequests = state.lastRequests.filter { now - $0.value < Self.lifetime }
            state.sweepAt = max(10_000, state.lastRequests.count * 2)
        }
    }

    func lastRequest(of driverID: String) -> Int64? { state.withLock { $0.lastRequests[Identifier(driverID)] } }
}
