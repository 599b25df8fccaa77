import Access
import Fleet
import Observability
import Primitives
import PusherAPI
import PusherProtocol
import Realtime
import Threads

/// The rates of each subject's requests on all loops. Any thread may use it.
final class SubjectRates: Sendable {
    /// The most subjects that are stored for each rate; at most some 20 MB.
    private static let subjectsMax = 100_000

    private let authorizations: Lock<SubjectLimits>
    private let commands: Lock<SubjectLimits>
    private let queries: Lock<SubjectLimits>
    private let locations: Lock<SubjectLimits>
    private let counters: FleetCounters
    private let metrics: NodeMetrics

    /// - Parameters:
    ///   - limits: those of the fleet's app, as `fleetLimits`.
    ///   - metrics: counts rejected requests, but for positions, which `counters` counts.
    init(_ limits: Limits, _ fleetLimits: FleetLimits, _ metrics: NodeMetrics, _ counters: FleetCounters) {
        self.counters = counters
        locations = Lock(SubjectLimits(RateLimit(perSecond: 2, burst: 10), countMax: Self.subjectsMax))
        authorizations = Lock(SubjectLimits(limits.rate(fleetLimits.authRequestsPerSecond), countMax: Self.subjectsMax))
        commands = Lock(SubjectLimits(fleetLimits.commandRate, countMax: Self.subjectsMax))
        queries = Lock(SubjectLimits(fleetLimits.queryRate, countMax: Self.subjectsMax))
        self.metrics = metrics
    }

    /// Counts a request, and returns whether its sender may make it now. Commands of admins, and queries of admins and ops,
    /// have no rate: a backend may make the requests of all dispatchers with one token. They wait in turn.
    func permits(_ sender: Sender, _ rate: SubjectRate) -> Bool {
        guard let key = sender.key else { return true }
        let now = Int64(Clock.monotonicNanoseconds())
        switch rate {
        case .authorization:
            return check(authorizations.withLock { $0.permits(key, now: now) }, .authRequestsPerSecond)
        case .command where sender.role == .admin: return true
        case .command:
            return check(commands.withLock { $0.permits(key, now: now) }, .fleetCommandsPerSecond)
        case .query where sender.role == .admin || sender.role == .ops: return true
        case .query:
            return check(queries.withLock { $0.permits(key, now: now) }, .fleetQueriesPerSecond)
        case .location:
            let isPermitted = locations.withLock { $0.permits(key, now: now) }
            if !isPermitted { counters.trips.countLimited() }
            return isPermitted
        }
    }

    /// Takes further tokens for a command that is more work than one.
    func charge(_ sender: Sender, commands tokens: Int) {
        guard let key = sender.key, sender.role != .admin else { return }
        let now = Int64(Clock.monotonicNanoseconds())
        commands.withLock { $0.charge(key, tokens, now: now) }
    }

    /// Takes further tokens for a query that has read more rows than an ordinary one.
    /// - Parameter rows: those of a part of the query, if it has several.
    func charge(_ sender: Sender, rows: Int) {
        let tokens = SubjectRate.tokens(ofReading: rows)
        guard tokens > 0, let key = sender.key, sender.role != .admin, sender.role != .ops else { return }
        let now = Int64(Clock.monotonicNanoseconds())
        queries.withLock { $0.charge(key, tokens, now: now) }
    }

    private func check(_ isPermitted: Bool, _ limit: Limit) -> Bool {
        if !isPermitted { metrics.countLimited(limit) }
        return isPermitted
    }
}
