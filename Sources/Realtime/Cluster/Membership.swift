import Primitives

/// Which nodes live, by their heartbeats.
///
/// While this node has no connection to the bus, it declares no node dead: it would hear none of them. After each
/// reconnect it gives all of them the whole time again, and those that it has not heard since the time to connect again.
package struct Membership: Sendable {
    /// A node that has missed this number of heartbeats is dead.
    package static let heartbeatsMissed: Int64 = 3

    package enum Change: Equatable, Sendable {
        case came(ClusterNode)
        /// - Parameter isOrderly: whether the node has said so.
        case went(ClusterNode, isOrderly: Bool)
    }

    private struct Life {
        let node: ClusterNode
        var heardAt: Int64
    }

    private let heartbeatMilliseconds: Int64
    private var lives: [Epoch: Life] = [:] {
        didSet {
            if lives.count != oldValue.count { nodes = lives.values.map(\.node).sorted { $0.epoch.value < $1.epoch.value } }
        }
    }
    /// Nodes that have gone: their late messages do not bring them back. Forgotten after a minute.
    private var gone: [Epoch: Int64] = [:]
    /// Nodes that were replaced by one of their name, and when: their processes should have ended. Forgotten after a minute.
    private var replaced: [Epoch: Int64] = [:]
    /// Names that several nodes have, by an operator's mistake: none of them replaces another.
    private var sharedNames: Set<String> = []
    /// Nodes that have gone without a word: they may live, and have connections. Forgotten after ten minutes.
    private var lost: [Epoch: (name: String, at: Int64)] = [:]
    /// Nil while there is no connection.
    private var connectedAt: Int64?
    private var wasConnected = false
    /// How long after the last connection a node that was not heard since is not declared dead, in milliseconds, if that is
    /// longer than the patience.
    private var grace: Int64 = 0

    package init(heartbeatMilliseconds: Int64) { self.heartbeatMilliseconds = heartbeatMilliseconds }

    /// The other nodes that live, in the order of their epochs.
    package private(set) var nodes: [ClusterNode] = []

    /// The number of the other nodes that live.
    package var count: Int { lives.count }

    package func lives(_ epoch: Epoch) -> Bool { lives[epoch] != nil }

    /// Whether messages of this sender are void: it has ended.
    package func hasEnded(_ epoch: Epoch) -> Bool { gone[epoch] != nil }

    /// Whether a node was declared dead: also if another one has its name now.
    package func isLost(_ epoch: Epoch, at now: Int64) -> Bool {
        lost[epoch] != nil || replaced[epoch].map { now - $0 >= heartbeatMilliseconds } ?? false
    }

    /// Whether another node has this one's name, and this one has not been heard since.
    package func isReplaced(_ epoch: Epoch) -> Bool { replaced[epoch] != nil }

    /// Whether a node that nobody hears may have connections.
    package var hasLost: Bool { !lost.isEmpty }

    /// The connection to the bus is there.
    package mutating func connected(at now: Int64) {
        let isAgain = wasConnected
        wasConnected = true
        resume(at: now)
        grace = isAgain ? Timing.busReconnectMax : 0
    }

    /// This node was frozen: what the others have sent meanwhile is yet to be read.
    mutating func resume(at now: Int64) {
        // What is left of it: the others are still connecting again.
        grace = connectedAt.map { max(0, grace - (now - $0)) } ?? 0
        connectedAt = now
        for epoch in lives.keys { lives[epoch]?.heardAt = now }
    }

    package mutating func disconnected() { connectedAt = nil }

    /// A node has sent a heartbeat. Another epoch of the same name replaces the earlier one at once: that process has ended.
    /// If it goes on with heartbeats, both live from then on.
    package mutating func heard(_ node: ClusterNode, at now: Int64) -> [Change] {
        guard !hasEnded(node.epoch) else { return [] }
        if let replacedAt = replaced[node.epoch] {
            // The bus may be late with the last heartbeat of a process that has ended.
            guard now - replacedAt >= heartbeatMilliseconds else { return [] }
            replaced[node.epoch] = nil
            sharedNames.insert(node.name)
        }
        guard lives[node.epoch] == nil else {
            lives[node.epoch]?.heardAt = now
            return []
        }
        var changes: [Change] = []
        for earlier in nodes where earlier.name == node.name && !sharedNames.contains(node.name) {
            changes += remove(earlier.epoch, isOrderly: false, at: now)
            replaced[earlier.epoch] = now
        }
        lives[node.epoch] = Life(node: node, heardAt: now)
        // A process that has the name of an earlier one has replaced it.
        lost = lost.filter { $0.key != node.epoch && $0.value.name != node.name }
        return changes + [.came(node)]
    }

    /// A node has ended in order.
    package mutating func left(_ epoch: Epoch, at now: Int64) -> [Change] {
        let changes = remove(epoch, isOrderly: true, at: now)
        gone[epoch] = now
        return changes
    }

    /// Finds the nodes that have been silent for too long.
    package mutating func tick(at now: Int64) -> [Change] {
        gone = gone.filter { now - $0.value < 60_000 }
        replaced = replaced.filter { now - $0.value < 60_000 }
        lost = lost.filter { now - $0.value.at < 600_000 }
        let patience = Self.heartbeatsMissed * heartbeatMilliseconds
        guard let connectedAt, now - connectedAt >= patience else { return [] }
        return nodes.filter { node in
            let heardAt = lives[node.epoch]?.heardAt ?? now
            let silence = now - heardAt
            // A node that was heard has connected again.
            return silence > patience && (heardAt > connectedAt || silence >= grace)
        }.flatMap { remove($0.epoch, isOrderly: false, at: now) }
    }

    private mutating func remove(_ epoch: Epoch, isOrderly: Bool, at now: Int64) -> [Change] {
        guard let life = lives.removeValue(forKey: epoch) else { return [] }
        if lives.values.count(where: { $0.node.name == life.node.name }) < 2 { sharedNames.remove(life.node.name) }
        // A silent node that goes on with the same epoch comes back with its next heartbeat. One that has ended does not.
        if isOrderly { gone[epoch] = now } else { lost[epoch] = (life.node.name, now) }
        return [.went(life.node, isOrderly: isOrderly)]
    }
}
