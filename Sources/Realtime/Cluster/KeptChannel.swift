import Primitives
import PusherProtocol

/// A change of a node's share of a channel.
package enum ShareChange: Equatable, Sendable {
    /// The number of local subscribers.
    case count(Int)
    /// The user's first local connection has subscribed to the presence channel.
    case joined(userID: String)
    /// The user's last local connection has left the presence channel.
    case left(userID: String)
    /// The whole share: the number of local subscribers, and all users with local connections.
    case whole(count: Int, users: [String])
}

/// What webhooks, or subscribers, are told about a channel.
package enum ChannelFact: Hashable, Sendable {
    /// Whether it has subscribers.
    case occupancy
    /// Whether a user is on the presence channel.
    case membership(userID: String)
    /// How many subscribers it has.
    case count
}

/// An edge, or a new sum.
enum ChannelEdge: Equatable {
    case occupied
    case vacated
    case memberAdded(userID: String)
    case memberRemoved(userID: String)
    case count(Int)
}

/// The shares that all nodes have of one channel, and what was told about their sum.
///
/// An edge is no event that could be lost, but a difference: between what holds and what was told last. So whatever
/// was lost, delayed or decided elsewhere meanwhile, the right edge follows as soon as the shares are right.
struct KeptChannel {
    /// A channel with at most this many subscribers gets its new count at each change; a larger one at most once per
    /// ``Timing/keeperCountInterval`` (protocol point N1).
    static let largestUnthrottledCount = 100

    private struct Told {
        enum Certainty {
            /// This node has told it, or the keeper that hands it over.
            case certain
            /// This node has it from a share that moved here, or follows the keeper.
            case presumed
            /// Others may have told the opposite in this node's place. They have not if they say that the fact holds.
            case doubtful
            /// Another node may have told something else, or nothing: what holds is told again.
            case uncertain
        }

        /// What was told last, as far as this node knows.
        var value: Bool
        var certainty = Certainty.certain
        /// When the fact has changed or was told, in milliseconds; nil: long ago.
        var changedAt: Int64?
        /// Whether the fact has held since it was told not to hold, and nobody was told: both are to be told.
        var hasHeldUntold = false

        mutating func presume(_ value: Bool) { (self.value, certainty, hasHeldUntold) = (value, .presumed, false) }

        mutating func doubt(at now: Int64) {
            if certainty != .uncertain { certainty = .doubtful }
            changedAt = now
        }

        /// Whether the present state is to be told.
        func isDue(_ holds: Bool) -> Bool {
            switch certainty {
            case .certain, .presumed: value != holds || hasHeldUntold
            case .doubtful, .uncertain: true
            }
        }

        /// What another node must know.
        func handedOver(as fact: ChannelFact, holds: Bool, withPresumptions: Bool) -> HandedFact? {
            switch certainty {
            case .certain: HandedFact(fact, told: value)
            case .presumed: withPresumptions || value != holds ? HandedFact(fact, told: value) : nil
            case .doubtful, .uncertain: HandedFact(fact, told: nil)
            }
        }

        func isRecent(at now: Int64, within memory: Int64) -> Bool { changedAt.map { now - $0 <= memory } ?? false }
    }

    private var counts: [Epoch: Int] = [:]
    private var users: [Identifier: Set<Epoch>] = [:]
    private var occupancy: Told?
    private var memberships: [Identifier: Told] = [:]
    /// The users whose memberships are due.
    private var dueUsers: Set<Identifier> = []
    private var isCountDue = false
    /// The count that this node has told since it keeps the channel.
    private var toldCount: Int?
    private var countedAt: Int64?
    /// Before this time nothing is to be told, in milliseconds. The count of a large channel is not considered.
    private(set) var wakeAt = Int64.max

    private var sum: Int { counts.values.reduce(0, &+) }

    /// Whether nothing need be remembered.
    var isEmpty: Bool { counts.isEmpty && users.isEmpty && occupancy == nil && memberships.isEmpty && !isCountDue }

    /// Whether something is to be told, now or later.
    var isDue: Bool { isOccupancyDue || !dueUsers.isEmpty || isCountDue }

    private var isOccupancyDue: Bool { occupancy?.isDue(sum > 0) ?? false }

    /// Whether a node has a share.
    func hasShare(of node: Epoch) -> Bool { counts[node] != nil || users.values.contains { $0.contains(node) } }

    /// The nodes that have shares.
    var nodes: Set<Epoch> { users.values.reduce(into: Set(counts.keys)) { $0.formUnion($1) } }

    /// The number of a node's subscribers.
    func count(of node: Epoch) -> Int { counts[node] ?? 0 }

    /// A node's users, in the order of their ids.
    func userIDs(of node: Epoch) -> [String] { users.filter { $0.value.contains(node) }.map(\.key.text).sorted() }

    // MARK: Shares

    /// How a share comes to this node.
    struct Arrival {
        let now: Int64
        /// Whether this node is the channel's keeper. If not, it believes that the keeper tells each change.
        let isKeeper: Bool
        /// Whether the share is older than this node's part in the channel: another keeper has told it.
        let isMoved: Bool
        /// Whether the set of nodes has not changed for a while, or this change is that one: the share of a node that knew of
        /// the change later, and says what was told, cannot be under way.
        let isSettled: Bool
    }

    /// Sets the number of a node's subscribers.
    /// - Returns: what has changed in the sum.
    mutating func setCount(_ count: Int, of node: Epoch, _ arrival: Arrival) -> [ChannelFact] {
        let before = sum
        counts[node] = count == 0 ? nil : count
        let after = sum
        Self.update(&occupancy, from: before > 0, to: after > 0, arrival)
        guard before != after else { return [] }
        if !arrival.isMoved { countedAt = arrival.now }
        if arrival.isKeeper, !arrival.isMoved || toldCount != nil, toldCount != after { isCountDue = true }
        wakeAt = min(wakeAt, occupancyWakeAt, countWakeAt)
        return ((before > 0) == (after > 0) ? [] : [.occupancy]) + [.count]
    }

    /// Adds a user to those of a node, or removes him.
    /// - Returns: whether that has changed the node's share, and what it has changed in the sum.
    mutating func setUser(
        _ userID: String, isHere: Bool, of node: Epoch, _ arrival: Arrival
    ) -> (isNew: Bool, facts: [ChannelFact]) {
        let id = Identifier(userID)
        let before = users[id] != nil
        let isNew: Bool
        if isHere {
            isNew = users[id, default: []].insert(node).inserted
        } else {
            isNew = users[id]?.remove(node) != nil
            if users[id]?.isEmpty == true { users[id] = nil }
        }
        let after = users[id] != nil
        Self.update(&memberships[id], from: before, to: after, arrival)
        noteDue(id)
        if dueUsers.contains(id) { wakeAt = min(wakeAt, membershipWakeAt(id)) }
        return (isNew, before == after ? [] : [.membership(userID: userID)])
    }

    private static func update(_ told: inout Told?, from before: Bool, to after: Bool, _ arrival: Arrival) {
        if before != after {
            var next = told ?? Told(value: before, certainty: arrival.isMoved || !arrival.isSettled ? .presumed : .certain)
            if !arrival.isMoved { next.changedAt = arrival.now }
            next.hasHeldUntold = before && !next.value && [.certain, .presumed].contains(next.certainty)
            if !arrival.isKeeper { next.presume(after) }
            told = next
        }
        guard arrival.isMoved, after, let certainty = told?.certainty, [.presumed, .doubtful].contains(certainty) else { return }
        told?.presume(true)
    }

    private mutating func noteDue(_ id: Identifier) {
        guard let told = memberships[id] else {
            dueUsers.remove(id)
            return
        }
        if told.isDue(users[id] != nil) { dueUsers.insert(id) } else { dueUsers.remove(id) }
    }

    // MARK: Telling

    /// Removes what is due.
    /// - Parameters:
    ///   - isLast: whether this node ends and no other one lives: then nothing is delayed.
    ///   - withLargeCounts: whether counts of large channels are told too.
    mutating func takeEdges(at now: Int64, isLast: Bool = false, withLargeCounts: Bool = false) -> [ChannelEdge] {
        var edges: [ChannelEdge] = []
        let sum = sum
        if isOccupancyDue, sum > 0 || occupancy?.hasHeldUntold == true {
            occupancy = Told(value: true, changedAt: sum > 0 ? now : occupancy?.changedAt)
            edges.append(.occupied)
        }
        for id in dueUsers.sorted(by: { $0.text < $1.text }) {
            let isHere = users[id] != nil
            if !isHere, let told = memberships[id], told.hasHeldUntold {
                memberships[id] = Told(value: true, changedAt: told.changedAt)
                edges.append(.memberAdded(userID: id.text))
            }
            guard isHere || isLast || isRipe(memberships[id], now) else { continue }
            memberships[id] = Told(value: isHere, changedAt: now)
            dueUsers.remove(id)
            edges.append(isHere ? .memberAdded(userID: id.text) : .memberRemoved(userID: id.text))
        }
        if isCountDue, withLargeCounts || sum <= Self.largestUnthrottledCount {
            isCountDue = false
            toldCount = sum
            edges.append(.count(sum))
        }
        if isOccupancyDue, sum == 0, isLast || isRipe(occupancy, now) {
            occupancy = Told(value: false, changedAt: now)
            edges.append(.vacated)
        }
        setWakeAt()
        return edges
    }

    private func isRipe(_ told: Told?, _ now: Int64) -> Bool { Self.ripeAt(told) <= now }

    /// When an absence may be told.
    private static func ripeAt(_ told: Told?) -> Int64 { told?.changedAt.map { $0 + Timing.keeperAbsence } ?? .min }

    private var occupancyWakeAt: Int64 {
        guard isOccupancyDue else { return .max }
        return sum > 0 || occupancy?.hasHeldUntold == true ? .min : Self.ripeAt(occupancy)
    }
    private var countWakeAt: Int64 { isCountDue && sum <= Self.largestUnthrottledCount ? .min : .max }
    private func membershipWakeAt(_ id: Identifier) -> Int64 {
        users[id] != nil || memberships[id]?.hasHeldUntold == true ? .min : Self.ripeAt(memberships[id])
    }

    private mutating func setWakeAt() {
        wakeAt = dueUsers.reduce(min(occupancyWakeAt, countWakeAt)) { min($0, membershipWakeAt($1)) }
    }

    // MARK: Another keeper

    /// The keeper has died: what it may not have told is told again.
    mutating func takeOver(at now: Int64, memory: Int64) {
        if occupancy?.isRecent(at: now, within: memory) == true { occupancy?.certainty = .uncertain }
        for (id, told) in memberships where told.isRecent(at: now, within: memory) {
            memberships[id]?.certainty = .uncertain
            dueUsers.insert(id)
        }
        if let countedAt, now - countedAt <= memory { isCountDue = true }
        setWakeAt()
    }

    /// What another node must know if it is to keep the channel, or to follow the keeper.
    /// - Parameter withPresumptions: whether this node's presumptions are right: it has been the keeper for a while, or it has
    ///   followed one that has died.
    func factsToHandOver(withPresumptions: Bool) -> [HandedFact] {
        let ofChannel = occupancy?.handedOver(as: .occupancy, holds: sum > 0, withPresumptions: withPresumptions)
        let ofUsers = memberships.sorted { $0.key.text < $1.key.text }
            .compactMap { id, told in
                let fact = ChannelFact.membership(userID: id.text)
                return told.handedOver(as: fact, holds: users[id] != nil, withPresumptions: withPresumptions)
            }
        let facts = (ofChannel.map { [$0] } ?? []) + ofUsers
        return isCountDue ? facts + [HandedFact(.count, told: nil)] : facts
    }

    /// Another node hands facts over.
    mutating func receive(_ facts: [HandedFact], at now: Int64) {
        for fact in facts {
            switch fact.fact {
            case .occupancy:
                let isOccupied = sum > 0
                Self.receive(fact, &occupancy, holds: isOccupied, now)
            case .membership(let userID):
                let id = Identifier(userID)
                let isHere = users[id] != nil
                Self.receive(fact, &memberships[id], holds: isHere, now)
                noteDue(id)
            case .count:
                countedAt = now
                if fact.told == nil { isCountDue = true }
            }
        }
        setWakeAt()
    }

    private static func receive(_ fact: HandedFact, _ told: inout Told?, holds: Bool, _ now: Int64) {
        var next = Told(value: fact.told ?? holds, certainty: fact.told == nil ? .uncertain : .certain, changedAt: now)
        // Both nodes have told something, and the order is unknown.
        if let told, told.certainty == .doubtful, told.value != fact.told { next.certainty = .uncertain }
        told = next
    }

    /// Another node is the keeper now, and tells what was due.
    mutating func resign() {
        isCountDue = false
        toldCount = nil
        if isOccupancyDue { presumeOccupancyTold() }
        for id in dueUsers { presumeTold(id) }
    }

    private mutating func presumeOccupancyTold() {
        let isOccupied = sum > 0
        occupancy?.presume(isOccupied)
    }

    private mutating func presumeTold(_ id: Identifier) {
        let isHere = users[id] != nil
        memberships[id]?.presume(isHere)
        dueUsers.remove(id)
    }

    /// Forgets facts that do not hold and were told long ago.
    /// - Parameter isKeeper: if not, what is due for long is forgotten too: the keeper has told it.
    /// - Returns: whether it had something to forget.
    mutating func forgetOld(at now: Int64, memory: Int64, isKeeper: Bool) -> Bool {
        let before = (memberships.count, dueUsers.count, isDue, occupancy == nil)
        if !isKeeper {
            if isOccupancyDue, occupancy?.isRecent(at: now, within: memory) == false { presumeOccupancyTold() }
            for id in dueUsers where memberships[id]?.isRecent(at: now, within: memory) == false { presumeTold(id) }
        }
        if sum == 0, !isOccupancyDue, occupancy?.isRecent(at: now, within: memory) == false { occupancy = nil }
        for (id, told) in memberships where users[id] == nil && !dueUsers.contains(id) {
            if !told.isRecent(at: now, within: memory) { memberships[id] = nil }
        }
        // The shares of a channel that was handed over may still be under way.
        if sum == 0 || !isKeeper, countedAt.map({ now - $0 > memory }) ?? true { isCountDue = false }
        return before != (memberships.count, dueUsers.count, isDue, occupancy == nil)
    }

    /// Forgets all shares, and doubts what was told: other nodes have kept the channel meanwhile.
    mutating func doubtAll(at now: Int64) {
        counts = [:]
        users = [:]
        toldCount = nil
        occupancy?.doubt(at: now)
        for id in memberships.keys { memberships[id]?.doubt(at: now) }
        dueUsers = Set(memberships.keys)
        setWakeAt()
    }
}

/// A fact that one node hands over to another.
package struct HandedFact: Equatable, Sendable {
    let fact: ChannelFact
    /// What was told; nil: that is not known, or what holds was not told.
    let told: Bool?

    init(_ fact: ChannelFact, told: Bool?) {
        self.fact = fact
        self.told = told
    }

    var sizeHint: Int { if case .membership(let userID) = fact { 8 + userID.utf8.count } else { 8 } }
}
