import Primitives
import PusherProtocol

/// Which nodes have the same view of their shares as this node, since the set of nodes has changed, or a report was lost.
///
/// While nodes come and go, a keeper has the shares of some nodes and not of others, and would tell edges that are none. It
/// tells nothing until all have compared: each names the digest of what it has reported.
struct Agreement {
    private var agreed: Set<Epoch> = []
    /// Since when a node's digest has differed, or when the node was asked last.
    private var differing: [Epoch: Int64] = [:]
    private var begunAt: Int64
    /// When the set of nodes has changed last.
    private var changedAt: Int64
    private var hasEnded = false
    /// Whether it has ever been reached since this node is connected.
    private(set) var wasReached = false
    /// Whether another node has named a digest. Before that, this node may have just started, and may not know the others.
    private var hasMetOthers = false

    /// - Parameter now: milliseconds.
    init(at now: Int64) { (begunAt, changedAt) = (now, now) }

    /// This node is connected.
    mutating func connected(at now: Int64) {
        begin(at: now)
        wasReached = false
    }

    /// The set of nodes has changed, or others have kept this node's channels meanwhile.
    mutating func begin(at now: Int64) {
        (agreed, differing, begunAt, changedAt, hasEnded) = ([], [:], now, now, false)
    }

    /// Whether the set of nodes has not changed for a while.
    func isSettled(at now: Int64) -> Bool { now - changedAt >= Timing.keeperSettling }

    /// A node has named the digest of its shares.
    /// - Returns: whether it must report all of them: it differs for so long that no report can be under way.
    mutating func compare(_ node: Epoch, isEqual: Bool, at now: Int64, patience: Int64) -> Bool {
        hasMetOthers = true
        if isEqual {
            differing[node] = nil
            agreed.insert(node)
            return false
        }
        guard let since = differing[node] else {
            differing[node] = now
            agreed.remove(node)
            (begunAt, hasEnded) = (now, false)
            return false
        }
        guard now - since >= patience else { return false }
        differing[node] = now
        return true
    }

    /// Whether edges may be told.
    /// - Parameter patience: milliseconds after which edges are told even without agreement (at least once).
    mutating func isReached(among nodes: some Sequence<Epoch>, at now: Int64, patience: Int64) -> Bool {
        if now - begunAt >= patience { hasEnded = true }
        if !hasEnded, hasMetOthers, isSettled(at: now) { hasEnded = nodes.allSatisfy(agreed.contains) }
        if hasEnded { wasReached = true }
        return hasEnded
    }
}
