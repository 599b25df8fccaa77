import Primitives
import PusherProtocol

/// The channels that this node keeps, or of which it follows the keeper.
///
/// Two nodes that both get their first subscriber within one round trip see nobody else, so no node can tell by itself
/// whether it made the channel occupied. The keeper sees the shares of all nodes, and tells each edge once. The node that is
/// to follow it (``Keepers``) has the same shares, and tells nothing; when the keeper has died, it tells again what the
/// keeper may not have told.
struct KeptChannels {
    /// Facts that have changed so long ago, in milliseconds, are told again after the keeper's death: it may have noticed
    /// nothing since it was cut off, and may have had them in its queue of webhooks.
    let memory: Int64
    private var channels: [ChannelKey: KeptChannel] = [:]
    /// The channels of which something is to be told, and not before when, in milliseconds.
    private var due: [ChannelKey: Int64] = [:]
    /// The digests of the shares that the other nodes have reported.
    private var digests: [Epoch: ShareDigest] = [:]
    /// The nodes that are reporting all their shares.
    private var wholeReports: [Epoch: WholeShareReport] = [:]

    private struct WholeShareReport {
        /// The channels of which the node has said nothing yet.
        var unconfirmed: Set<ChannelKey>
        var received = 0
    }

    init(memory: Int64) { self.memory = memory }

    var count: Int { channels.count }

    func digest(of node: Epoch) -> ShareDigest { digests[node] ?? ShareDigest() }

    // MARK: Shares

    /// Applies a change of a node's share.
    /// - Returns: what has changed in the sums.
    @discardableResult
    mutating func apply(
        _ change: ShareChange, of node: Epoch, to key: ChannelKey, _ arrival: KeptChannel.Arrival
    ) -> [ChannelFact] {
        // Out of the table, so that its sets are not copied.
        var kept = channels.removeValue(forKey: key) ?? KeptChannel()
        defer { set(kept, key) }
        switch change {
        case .count(let count): return setCount(count, of: node, in: &kept, key, arrival)
        case .joined(let userID): return setUser(userID, isHere: true, of: node, in: &kept, key, arrival)
        case .left(let userID): return setUser(userID, isHere: false, of: node, in: &kept, key, arrival)
        case .whole(let count, let userIDs):
            wholeReports[node]?.unconfirmed.remove(key)
            wholeReports[node]?.received += 1
            let present = Set(userIDs.map(Identifier.init))
            let gone = kept.userIDs(of: node).filter { !present.contains(Identifier($0)) }
            let left = gone.flatMap { setUser($0, isHere: false, of: node, in: &kept, key, arrival) }
            let joined = userIDs.flatMap { setUser($0, isHere: true, of: node, in: &kept, key, arrival) }
            return left + joined + setCount(count, of: node, in: &kept, key, arrival)
        }
    }

    private mutating func setCount(
        _ count: Int, of node: Epoch, in kept: inout KeptChannel, _ key: ChannelKey, _ arrival: KeptChannel.Arrival
    ) -> [ChannelFact] {
        digests[node, default: ShareDigest()].replace(kept.count(of: node), with: count, of: key)
        return kept.setCount(count, of: node, arrival)
    }

    private mutating func setUser(
        _ userID: String, isHere: Bool, of node: Epoch, in kept: inout KeptChannel, _ key: ChannelKey,
        _ arrival: KeptChannel.Arrival
    ) -> [ChannelFact] {
        let (isNew, facts) = kept.setUser(userID, isHere: isHere, of: node, arrival)
        if isNew, isHere { digests[node, default: ShareDigest()].add(userID, of: key) }
        if isNew, !isHere { digests[node, default: ShareDigest()].remove(userID, of: key) }
        return facts
    }

    private mutating func set(_ kept: KeptChannel, _ key: ChannelKey) {
        channels[key] = kept.isEmpty ? nil : kept
        due[key] = kept.isDue ? kept.wakeAt : nil
    }

    /// Withdraws the shares of a node that has gone.
    mutating func remove(_ node: Epoch, at now: Int64, isKeeper: (ChannelKey) -> Bool) {
        for key in keys(of: node) {
            apply(
                .whole(count: 0, users: []), of: node, to: key,
                KeptChannel.Arrival(now: now, isKeeper: isKeeper(key), isMoved: false, isSettled: true))
        }
        digests[node] = nil
        wholeReports[node] = nil
    }

    /// The channels of which a node has a share. A list, because a loop over the table would hold a copy while it is changed.
    private func keys(of node: Epoch) -> [ChannelKey] {
        channels.compactMap { key, kept in kept.hasShare(of: node) ? key : nil }
    }

    /// A node begins to report all its shares.
    mutating func beginWhole(of node: Epoch) {
        wholeReports[node] = WholeShareReport(unconfirmed: Set(keys(of: node)))
    }

    /// A node has reported all its shares.
    /// - Parameter count: the number of its reports.
    /// - Returns: the channels of which it had shares and has none; none if a report was lost.
    mutating func endWhole(of node: Epoch, count: Int) -> [ChannelKey] {
        guard let report = wholeReports.removeValue(forKey: node), report.received == count else { return [] }
        return report.unconfirmed.sorted(by: ChannelKey.precedes)
    }

    // MARK: Telling

    /// Whether something is to be told about any channel, now or later.
    var hasDue: Bool { !due.isEmpty }

    /// Whether something is to be told about a channel, now or later.
    func isDue(_ key: ChannelKey) -> Bool { due[key] != nil }

    /// Whether something is to be told about a channel now.
    func isDue(_ key: ChannelKey, at now: Int64) -> Bool { due[key].map { $0 <= now } ?? false }

    /// The channels of which something is to be told now, in order; `.max`: or later.
    func due(at now: Int64) -> [ChannelKey] { due.filter { $0.value <= now }.keys.sorted(by: ChannelKey.precedes) }

    /// Removes what is due about a channel.
    mutating func takeEdges(
        of key: ChannelKey, at now: Int64, isLast: Bool = false, withLargeCounts: Bool = false
    ) -> [ChannelEdge] {
        guard var kept = channels.removeValue(forKey: key) else { return [] }
        let edges = kept.takeEdges(at: now, isLast: isLast, withLargeCounts: withLargeCounts)
        set(kept, key)
        return edges
    }

    // MARK: Other keepers

    /// What other nodes must know of the channels that they keep or follow from now on.
    /// - Parameters:
    ///   - died: whether the keeper has died, and this node goes on in its place.
    ///   - resigns: whether another node is the keeper now.
    mutating func handOver(_ key: ChannelKey, at now: Int64, died: Bool, resigns: Bool, isAgreed: Bool) -> [HandedFact] {
        guard var kept = channels.removeValue(forKey: key) else { return [] }
        if died { kept.takeOver(at: now, memory: memory) }
        let facts = kept.factsToHandOver(withPresumptions: died || isAgreed)
        if resigns { kept.resign() }
        set(kept, key)
        return facts
    }

    mutating func receive(_ facts: [HandedFact], of key: ChannelKey, at now: Int64) {
        var kept = channels.removeValue(forKey: key) ?? KeptChannel()
        kept.receive(facts, at: now)
        set(kept, key)
    }

    /// All channels, in order.
    var keys: [ChannelKey] { channels.keys.sorted(by: ChannelKey.precedes) }

    /// Forgets channels that this node no longer keeps, the shares of nodes that do not live, and facts that were told long
    /// ago.
    mutating func forgetOld(at now: Int64, me: Epoch, living: Set<Epoch>, keepers: (ChannelKey) -> Keepers) {
        for node in Set(digests.keys).subtracting(living) { remove(node, at: now) { keepers($0).first == me } }
        var (changed, foreign): ([ChannelKey], [ChannelKey]) = ([], [])
        var slot = channels.startIndex
        while slot != channels.endIndex {
            let key = channels.keys[slot]
            let keepers = keepers(key)
            if !keepers.contains(me) {
                foreign.append(key)
            } else if channels.values[slot].forgetOld(at: now, memory: memory, isKeeper: keepers.first == me) {
                changed.append(key)
            }
            channels.formIndex(after: &slot)
        }
        for key in changed {
            if let kept = channels.removeValue(forKey: key) { set(kept, key) }
        }
        for key in foreign { remove(key) }
    }

    private mutating func remove(_ key: ChannelKey) {
        due[key] = nil
        guard let kept = channels.removeValue(forKey: key) else { return }
        for node in kept.nodes {
            digests[node]?.replace(kept.count(of: node), with: 0, of: key)
            for userID in kept.userIDs(of: node) { digests[node]?.remove(userID, of: key) }
        }
    }

    /// Forgets all shares, and doubts what was told: other nodes have kept the channels meanwhile.
    mutating func doubtAll(at now: Int64) {
        for key in Array(channels.keys) {
            guard var kept = channels.removeValue(forKey: key) else { continue }
            kept.doubtAll(at: now)
            set(kept, key)
        }
        digests = [:]
        wholeReports = [:]
    }
}
