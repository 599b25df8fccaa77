import Primitives
import PusherProtocol

/// A channel of an application, by the application's id.
package struct ChannelKey: Hashable, Sendable {
    package let app: String
    package let channel: String

    package init(app: String, channel: String) {
        self.app = app
        self.channel = channel
    }
}

/// A change of a node's share of a channel.
package enum ShareChange: Equatable, Sendable {
    /// The number of local subscribers.
    case count(Int)
    /// The user's first local connection has subscribed to the presence channel.
    case joined(userID: String)
    /// The user's last local connection has left the presence channel.
    case left(userID: String)
    /// All users with local connections on the presence channel.
    case users([String])
}

/// The sums of the channels that this node keeps: how many connections of all nodes are subscribed, and who is present.
///
/// Two nodes that both get their first subscriber within one round trip see nobody else, so no node can tell by itself
/// whether it made the channel occupied. The keeper sees the shares of all nodes, and tells each edge once. The node that is
/// to follow the keeper (``Keeper``) has the same shares, and tells nothing; when the keeper has died, it tells again what
/// the keeper may not have told.
struct KeptChannels {
    /// An edge, or a new sum.
    enum Edge: Equatable {
        case occupied
        case vacated
        case memberAdded(userID: String)
        case memberRemoved(userID: String)
        case count(Int)
    }

    /// Edges of so long ago, in milliseconds, are told again after the keeper's death: it may have had them in its queue of
    /// webhooks.
    static let retold: Int64 = 10_000

    private struct Kept {
        var counts: [Epoch: Int] = [:]
        var users: [Identifier: Set<Epoch>] = [:]
        /// The last edge of the channel, and of each user, and when it was.
        var edge: (edge: Edge, at: Int64)?
        var userEdges: [Identifier: (edge: Edge, at: Int64)] = [:]
        /// When the sum of the counts has changed last.
        var countedAt: Int64 = 0

        var sum: Int { counts.values.reduce(0, &+) }
    }

    private var channels: [ChannelKey: Kept] = [:]

    var count: Int { channels.count }

    /// Applies a change of a node's share.
    /// - Returns: the edges that it causes. Those of a share that has moved here are no edges.
    mutating func apply(_ change: ShareChange, of node: Epoch, to key: ChannelKey, at now: Int64) -> [Edge] {
        var kept = channels[key] ?? Kept()
        defer { channels[key] = kept }
        switch change {
        case .count(let count):
            let before = kept.sum
            kept.counts[node] = count == 0 ? nil : count
            let after = kept.sum
            guard after != before else { return [] }
            kept.countedAt = now
            if before == 0 { kept.edge = (.occupied, now) }
            if after == 0 { kept.edge = (.vacated, now) }
            return (before == 0 ? [.occupied] : []) + [.count(after)] + (after == 0 ? [.vacated] : [])
        case .joined(let userID):
            let id = Identifier(userID)
            let isFirst = kept.users[id] == nil
            kept.users[id, default: []].insert(node)
            guard isFirst else { return [] }
            kept.userEdges[id] = (.memberAdded(userID: userID), now)
            return [.memberAdded(userID: userID)]
        case .left(let userID):
            let id = Identifier(userID)
            guard kept.users[id]?.remove(node) != nil, kept.users[id]?.isEmpty == true else { return [] }
            kept.users[id] = nil
            kept.userEdges[id] = (.memberRemoved(userID: userID), now)
            return [.memberRemoved(userID: userID)]
        case .users(let userIDs):
            let present = Set(userIDs.map(Identifier.init))
            let gone = kept.users.filter { $0.value.contains(node) && !present.contains($0.key) }.map(\.key.text).sorted()
            channels[key] = kept
            let edges =
                gone.flatMap { apply(.left(userID: $0), of: node, to: key, at: now) }
                + userIDs.flatMap { apply(.joined(userID: $0), of: node, to: key, at: now) }
            kept = channels[key] ?? Kept()
            return edges
        }
    }

    /// Withdraws the shares of a node that has gone.
    mutating func remove(_ node: Epoch, at now: Int64) -> [(key: ChannelKey, edges: [Edge])] {
        var found: [(key: ChannelKey, edges: [Edge])] = []
        for key in sortedKeys {
            guard let kept = channels[key] else { continue }
            let users = kept.users.filter { $0.value.contains(node) }.map(\.key.text).sorted()
            var edges = users.flatMap { apply(.left(userID: $0), of: node, to: key, at: now) }
            if kept.counts[node] != nil { edges += apply(.count(0), of: node, to: key, at: now) }
            if !edges.isEmpty { found.append((key, edges)) }
        }
        return found
    }

    /// The last edges and sums of the channels that were kept by a node that has died, as far as they are recent.
    /// - Parameter isKeptByDead: whether the dead node kept the channel, and this one does now.
    mutating func edgesToRetell(at now: Int64, where isKeptByDead: (ChannelKey) -> Bool) -> [(key: ChannelKey, edges: [Edge])] {
        sortedKeys.filter(isKeptByDead).compactMap { key in
            guard let kept = channels[key] else { return nil }
            let recent = [kept.edge].compactMap { $0 } + kept.userEdges.sorted { $0.key.text < $1.key.text }.map(\.value)
            var edges = recent.filter { now - $0.at <= Self.retold }.map(\.edge)
            if kept.sum > 0, now - kept.countedAt <= Self.retold { edges.append(.count(kept.sum)) }
            return edges.isEmpty ? nil : (key, edges)
        }
    }

    /// Forgets channels that this node no longer keeps, and edges that are too old to be told again.
    mutating func tick(at now: Int64, keeps: (ChannelKey) -> Bool) {
        for (key, kept) in channels {
            guard keeps(key) else {
                channels[key] = nil
                continue
            }
            if kept.userEdges.contains(where: { now - $0.value.at > Self.retold }) {
                channels[key]?.userEdges = kept.userEdges.filter { now - $0.value.at <= Self.retold }
            }
            let isOld = kept.edge.map { now - $0.at > Self.retold } ?? true
            if kept.counts.isEmpty, kept.users.isEmpty, isOld { channels[key] = nil }
        }
    }

    private var sortedKeys: [ChannelKey] { channels.keys.sorted { ($0.app, $0.channel) < ($1.app, $1.channel) } }
}
