import Access
import FleetRules
import Threads

/// The sign-ins by code and the customers whose tokens are refused, in memory, so that each request can be decided by the
/// newest state.
///
/// The writer's thread records an end after its commit and before its reply: who has the reply finds the end in force.
/// Loops read on their own threads.
final class EndedSessions: Sendable {
    private struct Ends {
        /// When each key is over, in milliseconds since 1970.
        var untils: [String: Int64] = [:]
        /// At so many keys, those that are over are forgotten.
        var pruneAt = 1_024
    }

    private let ends = Lock(Ends())

    func contains(_ identity: Identity) -> Bool {
        guard let session = identity.session else { return false }
        return ends.withLock { $0.untils[session.id] != nil || $0.untils[identity.key] != nil }
    }

    /// - Parameter now: milliseconds since 1970.
    func record(_ ended: EndedTokens, now: Int64) {
        ends.withLock { ends in
            ends.untils[ended.key] = ended.until
            guard ends.untils.count >= ends.pruneAt else { return }
            ends.untils = ends.untils.filter { $0.value > now }
            ends.pruneAt = max(1_024, ends.untils.count * 2)
        }
    }
}
