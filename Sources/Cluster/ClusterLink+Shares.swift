import FanOut
import Primitives
import PusherProtocol

/// This node's shares of channels, and what their keepers were told of them.
struct LocalShares {
    /// The local subscribers of each channel.
    private(set) var counts: [ChannelKey: Int] = [:]
    /// The users with local connections, by presence channel.
    private(set) var users: [ChannelKey: Set<Identifier>] = [:]
    /// What each other node was told, or would have been if the bus were there.
    private var digests: [Epoch: ShareDigest] = [:]

    var keys: [ChannelKey] { Set(counts.keys).union(users.keys).sorted(by: ChannelKey.precedes) }

    func digest(for keeper: Epoch) -> ShareDigest { digests[keeper] ?? ShareDigest() }

    func whole(_ key: ChannelKey) -> ShareChange {
        .whole(count: counts[key] ?? 0, users: (users[key] ?? []).map(\.text).sorted())
    }

    mutating func setCount(_ count: Int, of key: ChannelKey, keepers: [Epoch]) {
        let before = counts[key] ?? 0
        counts[key] = count == 0 ? nil : count
        for keeper in keepers { digests[keeper, default: ShareDigest()].replace(before, with: count, of: key) }
    }

    mutating func setUser(_ userID: String, isHere: Bool, of key: ChannelKey, keepers: [Epoch]) {
        let isNew: Bool
        if isHere {
            isNew = users[key, default: []].insert(Identifier(userID)).inserted
        } else {
            isNew = users[key]?.remove(Identifier(userID)) != nil
            if users[key]?.isEmpty == true { users[key] = nil }
        }
        guard isNew else { return }
        for keeper in keepers {
            if isHere {
                digests[keeper, default: ShareDigest()].add(userID, of: key)
            } else {
                digests[keeper]?.remove(userID, of: key)
            }
        }
    }

    /// The set of nodes has changed, and with it the keepers.
    mutating func setKeepers(_ keepers: (ChannelKey) -> [Epoch]) {
        digests = [:]
        for key in keys {
            for keeper in keepers(key) {
                digests[keeper, default: ShareDigest()].replace(0, with: counts[key] ?? 0, of: key)
                for user in users[key] ?? [] { digests[keeper]?.add(user.text, of: key) }
            }
        }
    }
}

/// As what a node reports a share.
package enum ShareReport: UInt8, Sendable {
    /// To the channel's keeper, which tells what it changes.
    case toKeeper = 1
    /// To the node that is to follow the keeper.
    case toFollower = 2
    /// To a node that was neither before: what the share had changed was told by another node.
    case moved = 3
}

/// Edges and sums are decided by one node per channel, its keeper. This part reports to keepers.
extension ClusterLink {
    /// This node, unless it ends, and the others.
    package var nodes: [Epoch] { (isEnding ? [] : [node.epoch]) + membership.nodes.map(\.epoch) }

    func keepers(of key: ChannelKey) -> [Epoch] { Keeper.keepers(of: key, among: nodes) }

    mutating func countChanged(_ count: Int, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        let keepers = keepers(of: key)
        localShares.setCount(count, of: key, keepers: keepers)
        report(.count(count), of: key, keepers, &outputs)
    }

    mutating func userChanged(_ userID: String, isHere: Bool, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        guard rules[app].reportsShares else { return }
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        let keepers = keepers(of: key)
        localShares.setUser(userID, isHere: isHere, of: key, keepers: keepers)
        report(isHere ? .joined(userID: userID) : .left(userID: userID), of: key, keepers, &outputs)
    }

    private mutating func report(_ change: ShareChange, of key: ChannelKey, _ keepers: [Epoch], _ outputs: inout [Output]) {
        for (index, keeper) in keepers.enumerated() {
            report(change, of: key, to: keeper, index == 0 ? .toKeeper : .toFollower, &outputs)
        }
    }

    private mutating func report(
        _ change: ShareChange, of key: ChannelKey, to keeper: Epoch, _ report: ShareReport, _ outputs: inout [Output]
    ) {
        if keeper == node.epoch {
            applyShare(change, of: node.epoch, to: key, report, &outputs)
        } else {
            publish(.share(key, change, report), on: subjects.node(keeper), &outputs)
        }
    }

    /// Reports all shares to their keepers.
    mutating func reportAll(_ outputs: inout [Output]) {
        for key in localShares.keys { report(localShares.whole(key), of: key, keepers(of: key), &outputs) }
    }

    /// Reports all shares of the channels that a node keeps or follows: it has lost some.
    mutating func reportAll(to receiver: Epoch, _ outputs: inout [Output]) {
        publish(.sharesBegin, on: subjects.node(receiver), &outputs)
        var count = 0
        for key in localShares.keys {
            let keepers = keepers(of: key)
            guard keepers.contains(receiver) else { continue }
            count += 1
            report(localShares.whole(key), of: key, to: receiver, receiver == keepers.first ? .toKeeper : .toFollower, &outputs)
        }
        publish(.sharesEnd(count), on: subjects.node(receiver), &outputs)
    }

    /// Reports the shares of channels to those that have not kept them before the set of nodes changed.
    mutating func reportMoved(from earlier: [Epoch], to present: [Epoch], _ outputs: inout [Output]) {
        for key in localShares.keys {
            let before = Keeper.keepers(of: key, among: earlier)
            for keeper in Keeper.keepers(of: key, among: present) where !before.contains(keeper) {
                report(localShares.whole(key), of: key, to: keeper, .moved, &outputs)
            }
        }
    }

    /// Tells the other nodes the digests of what they were reported, so that they notice a loss.
    mutating func sendDigests(_ outputs: inout [Output]) {
        guard rules.contains(where: \.reportsShares) else { return }
        for other in membership.nodes {
            let digest = localShares.digest(for: other.epoch)
            publish(.sharesDigest(digest.value), on: subjects.node(other.epoch), &outputs)
        }
    }
}
