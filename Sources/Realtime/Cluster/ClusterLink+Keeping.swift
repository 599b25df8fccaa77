import FanOut
import Primitives
import PusherProtocol

/// Edges and sums are decided by one node per channel, its keeper. This part is that of keepers.
extension ClusterLink {
    private func keeps(_ key: ChannelKey) -> Bool { keepers(of: key).first == node.epoch }

    // MARK: Shares

    /// A node's share of a channel has changed.
    ///
    /// While nodes come and go, the sender and this node may know different ones. If the sender takes this node for the
    /// keeper and another one is, that one is told that there is something to tell. So an edge may be told twice then, but is
    /// not lost.
    mutating func applyShare(
        _ change: ShareChange, of sender: Epoch, to key: ChannelKey, _ report: ShareReport, _ outputs: inout [Output]
    ) {
        guard !membership.isReplaced(sender) else { return }
        let keeper = keepers(of: key).first
        let arrival = KeptChannel.Arrival(
            now: now, isKeeper: keeper == node.epoch, isMoved: report == .moved, isSettled: agreement.isSettled(at: now))
        let facts = kept.apply(change, of: sender, to: key, arrival)
        if keeper == node.epoch {
            tellDue(key, &outputs)
        } else if let keeper, report == .toKeeper, !facts.isEmpty {
            publish(.handOver(key, facts.map { HandedFact($0, told: nil) }), to: keeper)
        }
    }

    /// A node has named the digest of what it has reported.
    mutating func compareShares(_ digest: UInt64, of sender: Epoch) {
        guard membership.lives(sender) else { return }
        let isEqual = kept.digest(of: sender).value == digest
        if agreement.compare(sender, isEqual: isEqual, at: now, patience: heartbeatMilliseconds / 2) {
            publish(.sharesQuestion, to: sender)
        }
    }

    /// A node has reported all its shares.
    mutating func endWholeShares(of sender: Epoch, count: Int, _ outputs: inout [Output]) {
        for key in kept.endWhole(of: sender, count: count) {
            // The keeper gets a report of its own.
            applyShare(.whole(count: 0, users: []), of: sender, to: key, .toFollower, &outputs)
        }
    }

    /// Another node hands over what it knows of a channel that this one keeps or follows from now on.
    mutating func receive(_ facts: [HandedFact], of key: ChannelKey, _ outputs: inout [Output]) {
        kept.receive(facts, of: key, at: now)
        tellDue(key, &outputs)
        tellIfLast(&outputs)
    }

    // MARK: Nodes that come and go

    /// The set of nodes has changed.
    /// - Parameter died: the node that has died, if one has.
    mutating func moveShares(from earlier: [Epoch], to present: [Epoch], died: Epoch?, _ outputs: inout [Output]) {
        let me = node.epoch
        handOver(from: earlier, to: present, died: died, &outputs)
        for gone in earlier where !present.contains(gone) && gone != me {
            kept.remove(gone, at: now) { Keepers(of: $0, among: present).first == me }
        }
        if died != nil { diedAt = now }
        reportMoved(from: earlier, to: present, &outputs)
        forgetOldShares()
        agreement.begin(at: now)
    }

    /// Hands over the facts of channels that have other keepers now.
    private mutating func handOver(from earlier: [Epoch], to present: [Epoch], died: Epoch?, _ outputs: inout [Output]) {
        let isAgreed = agreement.wasReached
        for next in handovers(from: earlier, to: present, died: died) {
            let facts = kept.handOver(next.key, at: now, died: next.hasDied, resigns: next.resigns, isAgreed: isAgreed)
            guard !facts.isEmpty else { continue }
            for receiver in next.receivers { publish(.handOver(next.key, facts), to: receiver) }
        }
    }

    /// A channel whose facts this node hands over.
    private struct Handover {
        let key: ChannelKey
        /// The nodes that keep or follow the channel from now on.
        let receivers: [Epoch]
        /// Whether the keeper has died, and this node goes on in its place.
        let hasDied: Bool
        /// Whether another node is the keeper now.
        let resigns: Bool
    }

    /// Lists, in order, the channels that this node has kept, or keeps in the place of a dead node, and that have new keepers.
    private func handovers(from earlier: [Epoch], to present: [Epoch], died: Epoch?) -> [Handover] {
        let me = node.epoch
        return kept.keys.compactMap { key in
            let (before, after) = (Keepers(of: key, among: earlier), Keepers(of: key, among: present))
            let hasDied = died != nil && before.first == died && after.first == me
            guard before.first == me || hasDied else { return nil }
            let resigns = after.first != me
            let newcomers = after.all.filter { $0 != me && (!before.contains($0) || resigns) }
            guard hasDied || !newcomers.isEmpty else { return nil }
            return Handover(key: key, receivers: newcomers, hasDied: hasDied, resigns: resigns)
        }
    }

    /// Another node had given this one up, and has told edges in its place.
    mutating func beginAnew(_ outputs: inout [Output]) {
        let patience = Membership.heartbeatsMissed * heartbeatMilliseconds
        // All of them say it.
        guard begunAnewAt.map({ now - $0 > patience }) ?? true else { return }
        begunAnewAt = now
        kept.doubtAll(at: now)
        agreement.begin(at: now)
        reportAll(&outputs)
    }

    /// Prepares this node's end: hands over what was not told, or tells it if no node can receive it.
    mutating func endKeeping(_ outputs: inout [Output]) {
        let (me, present) = ([node.epoch], nodes.filter { $0 != node.epoch })
        if present.isEmpty || !isUp {
            tellLast(&outputs)
        } else {
            handOver(from: me + present, to: present, died: nil, &outputs)
        }
    }

    /// After this node's goodbye: tells what other nodes hand over, if all of them end too.
    mutating func tellIfLast(_ outputs: inout [Output]) {
        if isEnding, nodes.isEmpty { tellLast(&outputs) }
    }

    private mutating func tellLast(_ outputs: inout [Output]) {
        for key in kept.due(at: .max) { tell(kept.takeEdges(of: key, at: now, isLast: true), of: key, &outputs) }
    }

    // MARK: Telling

    /// Whether edges may be told. While this node is cut off, it does not know the others' shares.
    private mutating func mayTell() -> Bool {
        let patience = Membership.heartbeatsMissed * heartbeatMilliseconds
        return isUp && agreement.isReached(among: membership.nodes.lazy.map(\.epoch), at: now, patience: patience)
    }

    private mutating func tellDue(_ key: ChannelKey, _ outputs: inout [Output]) {
        guard kept.isDue(key, at: now), keeps(key), mayTell() else { return }
        tell(kept.takeEdges(of: key, at: now), of: key, &outputs)
    }

    mutating func tickShares(_ outputs: inout [Output]) {
        let withLargeCounts = now >= countsAt
        if withLargeCounts { countsAt = now + Timing.keeperCountInterval }
        if kept.hasDue, mayTell() {
            let (me, present) = (node.epoch, nodes)
            for key in kept.due(at: withLargeCounts ? .max : now) where Keepers(of: key, among: present).first == me {
                tell(kept.takeEdges(of: key, at: now, withLargeCounts: withLargeCounts), of: key, &outputs)
            }
        }
        if now >= sweepAt { forgetOldShares() }
    }

    private mutating func forgetOldShares() {
        sweepAt = now + max(Timing.keeperSweepInterval, Int64(kept.count / 10))
        let (me, present) = (node.epoch, nodes)
        kept.forgetOld(at: now, me: me, living: Set(present)) { Keepers(of: $0, among: present) }
    }

    private mutating func tell(_ edges: [ChannelEdge], of key: ChannelKey, _ outputs: inout [Output]) {
        guard let app = index(ofApp: key.app), let channel = ChannelName(key.channel, lengthMax: .max) else { return }
        for edge in edges {
            let event: WebhookEvent
            switch edge {
            case .occupied: event = .channelOccupied(channel)
            case .vacated: event = .channelVacated(channel)
            case .memberAdded(let userID): event = .memberAdded(channel, userID: userID)
            case .memberRemoved(let userID): event = .memberRemoved(channel, userID: userID)
            case .count(let count):
                tellCount(count, of: channel, app: app, &outputs)
                continue
            }
            outputs.append(.webhook(AppWebhookEvent(app: app, event)))
        }
    }

    private mutating func tellCount(_ count: Int, of channel: ChannelName, app: AppIndex, _ outputs: inout [Output]) {
        guard count > 0, rules[app].countsSubscriptions, !channel.isPresence else { return }
        publish(.subscriptionCount(count), on: subjects.channel(channel, app: rules[app].id), &outputs)
        outputs.append(.hub(.subscriptionCount(count, on: channel, app: app)))
        outputs.append(.webhook(AppWebhookEvent(app: app, .subscriptionCount(channel, count))))
    }
}
