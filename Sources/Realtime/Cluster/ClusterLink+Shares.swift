import FanOut
import PusherProtocol

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

    func keepers(of key: ChannelKey) -> Keepers { Keepers(of: key, among: nodes) }

    mutating func countChanged(_ count: Int, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        let keepers = keepers(of: key)
        localShares.setCount(count, of: key, keepers: keepers, at: now)
        report(.count(count), of: key, keepers, &outputs)
    }

    mutating func userChanged(_ userID: String, isHere: Bool, on channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        guard rules[app].reportsShares else { return }
        let key = ChannelKey(app: rules[app].id, channel: channel.text)
        let keepers = keepers(of: key)
        localShares.setUser(userID, isHere: isHere, of: key, keepers: keepers, at: now)
        report(isHere ? .joined(userID: userID) : .left(userID: userID), of: key, keepers, &outputs)
    }

    private mutating func report(_ change: ShareChange, of key: ChannelKey, _ keepers: Keepers, _ outputs: inout [Output]) {
        for keeper in keepers.all {
            report(change, of: key, to: keeper, keeper == keepers.first ? .toKeeper : .toFollower, &outputs)
        }
    }

    private mutating func report(
        _ change: ShareChange, of key: ChannelKey, to keeper: Epoch, _ report: ShareReport, _ outputs: inout [Output]
    ) {
        if keeper == node.epoch {
            applyShare(change, of: node.epoch, to: key, report, &outputs)
        } else {
            publish(.share(key, change, report), to: keeper)
        }
    }

    /// Reports all shares to their keepers.
    mutating func reportAll(_ outputs: inout [Output]) {
        let present = nodes
        for key in localShares.keys { report(localShares.whole(key), of: key, Keepers(of: key, among: present), &outputs) }
    }

    /// Reports all shares of the channels that a node keeps or follows: it has lost some.
    mutating func reportAll(to receiver: Epoch, _ outputs: inout [Output]) {
        publish(.sharesBegin, to: receiver)
        let present = nodes
        var count = 0
        for key in localShares.keys {
            let keepers = Keepers(of: key, among: present)
            guard keepers.contains(receiver) else { continue }
            count += 1
            report(localShares.whole(key), of: key, to: receiver, receiver == keepers.first ? .toKeeper : .toFollower, &outputs)
        }
        publish(.sharesEnd(count), to: receiver)
    }

    /// Reports the shares of channels to their new keepers and followers.
    ///
    /// What has changed shortly before a node's death is reported as untold: the keeper may have died before it told it, and its
    /// follower may have lost the report.
    mutating func reportMoved(from earlier: [Epoch], to present: [Epoch], _ outputs: inout [Output]) {
        let hasDied = diedAt.map { now - $0 <= kept.memory } ?? false
        for moved in localShares.move(from: earlier, to: present) {
            let isUntold = hasDied && now - moved.changedAt <= kept.memory
            for receiver in moved.receivers {
                let kind: ShareReport = !isUntold ? .moved : receiver == moved.keepers.first ? .toKeeper : .toFollower
                report(localShares.whole(moved.key), of: moved.key, to: receiver, kind, &outputs)
            }
        }
    }

    /// Tells the other nodes the digests of what they were reported, so that they notice a loss.
    mutating func sendDigests() {
        guard rules.contains(where: \.reportsShares) else { return }
        for other in membership.nodes {
            let digest = localShares.digest(for: other.epoch)
            publish(.sharesDigest(digest.value), to: other.epoch)
        }
    }
}
