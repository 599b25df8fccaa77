import Access
import Fleet
import Threads

/// The sign-ins by code and the customers whose tokens are refused, in memory, so that each request can be decided by the
/// newest state.
///
/// The writer's thread records an end after its commit and before its reply: who has the reply finds the end in force.
/// Loops read on their own threads.
final class EndedSessions: Sendable {
    private struct Ends {
        /// When each key is over, in monotonic milliseconds: a jump of the wall clock must not bring a token back.
        var untils: [String: Int64] = [:]
        /// At so many keys, those that are over are forgotten.
        var pruneAt = 1_024
    }

    /// More than the time from the end of a sign-in until none of its tokens can be refreshed, in milliseconds: the wall clock
    /// may be wrong when an end is recorded.
    private static let lifetimeMin = (CustomerTokenClaims.lifetime + CustomerTokenClaims.refreshTime + 120) * 1_000

    private let ends = Lock(Ends())

    func contains(_ identity: Identity) -> Bool {
        guard let session = identity.session else { return false }
        return ends.withLock { $0.untils[session.id] != nil || $0.untils[identity.key] != nil }
    }

    /// - Parameters:
    ///   - wall: milliseconds since 1970.
    ///   - now: monotonic milliseconds.
    func record(
        _ ended: EndedTokens, wall: Int64 = Clock.unixMilliseconds(), now: Int64 = Clock.monotonicMilliseconds()
    ) {
        ends.withLock { ends in
            ends.untils[ended.key] = now + max(ended.until - wall, Self.lifetimeMin)
            guard ends.untils.count >= ends.pruneAt else { return }
            ends.untils = ends.untils.filter { $0.value > now }
            ends.pruneAt = max(1_024, ends.untils.count * 2)
        }
    }
}
