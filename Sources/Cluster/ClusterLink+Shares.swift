import FanOut
import Primitives
import PusherProtocol

/// This node's shares of channels, which it reports to their keepers, and the sums of the channels that it keeps itself.
struct Shares {
    /// The local subscribers of each channel.
    var counts: [ChannelKey: Int] = [:]
    /// The channels that the last local subscriber has left a moment ago, or while the bus was away, and when: their
    /// keepers may not have heard of it.
    var left: [ChannelKey: Int64] = [:]
    /// How long they are remembered, in milliseconds.
    static let leftMemory: Int64 = 10_000
    /// The users with local connections, by presence channel.
    var users: [ChannelKey: Set<Identifier>] = [:]
    var kept = KeptChannels()
    /// Large channels whose count has changed since it was last told.
    var dueCounts: [ChannelKey: Int] = [:]
    /// When their counts are told, in milliseconds.
    var countsAt: Int64 = 0

    /// A channel with at most this many subscribers gets its new count at each change; a larger one at most once per
    /// ``countInterval`` (protocol point N1).
    static let largestUnthrottledCount = 100
    static let countInterval: Int64 = 5_000
    /// When channels are looked for that need not be kept, and how often, in milliseconds: that takes a while.
    var sweepAt: Int64 = 0
    static let sweepInterval: Int64 = 2_000
}

/// Edges and sums are decided by one node per channel, its keeper.
extension ClusterLink {
    /// This node and the others.
    package var nodes: [Epoch] { [node.epoch] + membership.nodes.map(\.epoch) }

    private func keeps(_ key: ChannelKey) -> Bool {
        Keeper.keeper(of: key.channel, app: key.app, among: nodes) == node.epoch
    }

    // MARK: Reporting

    mutating func countChanged(_ count: Int, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        shares.counts[key] = count == 0 ? nil : count
        shares.left[key] = count == 0 ? now : nil
        report(.count(count), of: key, &outputs)
    }

    mutating func userChanged(_ userID: String, isHere: Bool, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        guard rules[app].reportsShares else { return }
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        if isHere {
            shares.users[key, default: []].insert(Identifier(userID))
        } else {
            shares.users[key]?.remove(Identifier(userID))
            if shares.users[key]?.isEmpty == true { shares.users[key] = nil }
        }
        report(isHere ? .joined(userID: userID) : .left(userID: userID), of: key, &outputs)
    }

    private mutating func report(_ change: ShareChange, of key: ChannelKey, _ outputs: inout [Output]) {
        let keepers = Keeper.keepers(of: key, among: nodes)
        for receiver in keepers { report(change, of: key, to: receiver, keeper: keepers.first, &outputs) }
    }

    private mutating func report(
        _ change: ShareChange, of key: ChannelKey, to receiver: Epoch, keeper: Epoch?, _ outputs: inout [Output]
    ) {
        if receiver == node.epoch {
            applyShare(change, of: node.epoch, to: key, keeper: keeper, &outputs)
        } else {
            publish(.share(key, change, keeper: keeper), on: subjects.node(receiver), &outputs)
        }
    }

    /// Reports all shares of this node anew, after it could not for a while.
    mutating func reportAll(_ outputs: inout [Output]) {
        for key in localShares {
            let keepers = Keeper.keepers(of: key, among: nodes)
            for receiver in keepers { reportWhole(key, to: receiver, keeper: keepers.first, &outputs) }
        }
        let left = shares.left.keys.sorted { ($0.app, $0.channel) < ($1.app, $1.channel) }
        for key in left {
            report(.users([]), of: key, &outputs)
            report(.count(0), of: key, &outputs)
        }
    }

    /// Reports the shares of the channels that a node keeps, also of those that were left lately.
    mutating func reportAll(to receiver: Epoch, _ outputs: inout [Output]) {
        let left = shares.left.keys.sorted { ($0.app, $0.channel) < ($1.app, $1.channel) }
        for key in localShares + left {
            let keepers = Keeper.keepers(of: key, among: nodes)
            guard keepers.contains(receiver) else { continue }
            if shares.users[key] == nil { report(.users([]), of: key, to: receiver, keeper: keepers.first, &outputs) }
            reportWhole(key, to: receiver, keeper: keepers.first, &outputs)
        }
    }

    /// Reports the shares of the channels that have other keepers, now that the set of nodes has changed.
    mutating func reportMoved(from earlier: [Epoch], to present: [Epoch], _ outputs: inout [Output]) {
        for key in localShares {
            let before = Keeper.keepers(of: key, among: earlier)
            for keeper in Keeper.keepers(of: key, among: present) where !before.contains(keeper) {
                reportWhole(key, to: keeper, keeper: nil, &outputs)
            }
        }
    }

    private var localShares: [ChannelKey] {
        Set(shares.counts.keys).union(shares.users.keys).sorted { ($0.app, $0.channel) < ($1.app, $1.channel) }
    }

    private mutating func reportWhole(_ key: ChannelKey, to receiver: Epoch, keeper: Epoch?, _ outputs: inout [Output]) {
        report(.count(shares.counts[key] ?? 0), of: key, to: receiver, keeper: keeper, &outputs)
        guard let users = shares.users[key] else { return }
        report(.users(users.map(\.text).sorted()), of: key, to: receiver, keeper: keeper, &outputs)
    }

    // MARK: Keeping

    /// A node's share of a channel has changed.
    ///
    /// While nodes come and go, this node and the sender may know different ones. The edge is told by whom the sender
    /// believes to be the keeper, or if that has gone, by this node, which was to follow it: the present keeper gets the
    /// share as one that has moved. So an edge may be told twice then, but is not lost.
    /// - Parameter keeper: whom the sender believes to be the keeper; nil: the share has moved.
    mutating func applyShare(
        _ change: ShareChange, of sender: Epoch, to key: ChannelKey, keeper: Epoch?, _ outputs: inout [Output]
    ) {
        let edges = shares.kept.apply(change, of: sender, to: key, at: now)
        guard let keeper else { return }
        if keeper == node.epoch || !membership.lives(keeper) || keeps(key) { tell(edges, of: key, &outputs) }
    }

    /// A node has gone, and with it its shares. If it has died, it may not have told the last edges of its channels.
    mutating func removeShares(
        of gone: Epoch, isOrderly: Bool, from earlier: [Epoch], to present: [Epoch], _ outputs: inout [Output]
    ) {
        let me = node.epoch
        let keeps = { (key: ChannelKey) in Keeper.keeper(of: key.channel, app: key.app, among: present) == me }
        if !isOrderly {
            let retold = shares.kept.edgesToRetell(at: now) { key in
                Keeper.keeper(of: key.channel, app: key.app, among: earlier) == gone && keeps(key)
            }
            for (key, edges) in retold { tell(edges, of: key, &outputs) }
        }
        for (key, edges) in shares.kept.remove(gone, at: now) where keeps(key) { tell(edges, of: key, &outputs) }
    }

    mutating func tickShares(_ outputs: inout [Output]) {
        if isUp { shares.left = shares.left.filter { now - $0.value < Shares.leftMemory } }
        if now >= shares.countsAt {
            shares.countsAt = now + Shares.countInterval
            let due = shares.dueCounts.sorted { ($0.key.app, $0.key.channel) < ($1.key.app, $1.key.channel) }
            shares.dueCounts = [:]
            for (key, count) in due { tellCount(count, of: key, &outputs) }
        }
        guard now >= shares.sweepAt else { return }
        shares.sweepAt = now + Shares.sweepInterval
        let (me, present) = (node.epoch, nodes)
        shares.kept.tick(at: now) { Keeper.keepers(of: $0, among: present).contains(me) }
    }

    private mutating func tell(_ edges: [KeptChannels.Edge], of key: ChannelKey, _ outputs: inout [Output]) {
        guard let app = index(ofApp: key.app), let channel = ChannelName(key.channel, lengthMax: .max) else { return }
        for edge in edges {
            let event: WebhookEvent
            switch edge {
            case .occupied: event = .channelOccupied(channel)
            case .vacated: event = .channelVacated(channel)
            case .memberAdded(let userID): event = .memberAdded(channel, userID: userID)
            case .memberRemoved(let userID): event = .memberRemoved(channel, userID: userID)
            case .count(let count):
                if count <= Shares.largestUnthrottledCount {
                    shares.dueCounts[key] = nil
                    tellCount(count, of: key, &outputs)
                } else {
                    shares.dueCounts[key] = count
                }
                continue
            }
            outputs.append(.webhook(AppWebhookEvent(app: app, event)))
        }
    }

    private mutating func tellCount(_ count: Int, of key: ChannelKey, _ outputs: inout [Output]) {
        guard count > 0, let app = index(ofApp: key.app), rules[app].countsSubscriptions,
            let channel = ChannelName(key.channel, lengthMax: .max), !channel.isPresence
        else { return }
        publish(.subscriptionCount(count), on: subjects.channel(channel, app: key.app), &outputs)
        outputs.append(.hub(.subscriptionCount(count, on: channel, app: app)))
        outputs.append(.webhook(AppWebhookEvent(app: app, .subscriptionCount(channel, count))))
    }
}
