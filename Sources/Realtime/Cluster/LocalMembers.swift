import Primitives
import PusherProtocol

/// The members of presence channels that are connected to this node, with versions, by which other nodes notice that they
/// have lost a change.
struct LocalMembers {
    private struct Channel {
        var version: UInt64
        var members: [Identifier: PresenceMember] = [:]
        var changedAt: Int64 = 0
    }

    private var channels: [PresenceChannel: Channel] = [:]
    /// Those that have changed a moment ago, and those without members: few of what may be a hundred thousand.
    private var recent: Set<PresenceChannel> = []
    private var empty: Set<PresenceChannel> = []
    /// The number of channels that have been added. Versions begin with it, so that those of a channel increase even if the
    /// channel was forgotten in between.
    private var additions: UInt64 = 0

    /// A version with this remainder is the first change of a channel.
    static func isFirst(_ version: UInt64) -> Bool { version & 0xFFFF_FFFF == 1 }

    /// - Returns: the new version.
    mutating func join(_ member: PresenceMember, on channel: PresenceChannel, at now: Int64) -> UInt64 {
        change(channel, at: now) { $0[Identifier(member.id)] = member }
    }

    /// - Returns: the new version.
    mutating func leave(_ userID: String, on channel: PresenceChannel, at now: Int64) -> UInt64 {
        change(channel, at: now) { $0[Identifier(userID)] = nil }
    }

    private mutating func change(
        _ channel: PresenceChannel, at now: Int64, _ body: (inout [Identifier: PresenceMember]) -> Void
    ) -> UInt64 {
        if channels[channel] == nil {
            additions += 1
            channels[channel] = Channel(version: additions << 32)
        }
        body(&channels[channel, default: Channel(version: 0)].members)
        channels[channel]?.version += 1
        channels[channel]?.changedAt = now
        recent.insert(channel)
        if channels[channel]?.members.isEmpty == true { empty.insert(channel) } else { empty.remove(channel) }
        return channels[channel]?.version ?? 0
    }

    /// What a node that asks for the members gets, in any order.
    func members(of channel: PresenceChannel) -> (version: PresenceVersion, members: [PresenceMember]) {
        let known = channels[channel]
        return (PresenceVersion(channel: channel, version: known?.version ?? 0), known.map { Array($0.members.values) } ?? [])
    }

    /// The versions that heartbeats name, in the order in which the channels were added.
    mutating func recentVersions(at now: Int64) -> [PresenceVersion] {
        recent = recent.filter { channel in
            channels[channel].map { now - $0.changedAt <= Timing.memberVersionAnnounced } ?? false
        }
        return recent.map { PresenceVersion(channel: $0, version: channels[$0]?.version ?? 0) }
            .sorted { $0.version < $1.version }
    }

    mutating func tick(at now: Int64) {
        for channel in empty where now - (channels[channel]?.changedAt ?? now) >= Timing.memberVersionKept {
            channels[channel] = nil
            empty.remove(channel)
        }
    }
}

/// Copies of the members that one presence channel has on other nodes.
struct RemoteMembers {
    /// A user came to or left the other nodes as a whole.
    enum Change: Equatable {
        case joined(PresenceMember)
        case left(userID: String)
    }

    private struct Copy {
        var version: UInt64
        var members: [Identifier: PresenceMember]
    }

    private var copies: [Epoch: Copy] = [:]
    /// The nodes that have been asked, and when.
    private(set) var asked: [Epoch: Int64] = [:]
    /// When the first of them was asked; nil if one has not answered in time.
    private var askedSince: Int64?

    /// The nodes that have not answered in time. They are asked again with their next heartbeat.
    private(set) var unanswered: Set<Epoch> = []

    var isComplete: Bool { asked.isEmpty }

    mutating func ask(_ node: Epoch, at now: Int64) {
        if asked.isEmpty { askedSince = now }
        asked[node] = now
        unanswered.remove(node)
    }

    /// Waits no longer for answers to questions that were asked at `time` or before.
    mutating func giveUp(askedUntil time: Int64) {
        unanswered.formUnion(asked.filter { $0.value <= time }.keys)
        if asked.contains(where: { $0.value <= time }) { askedSince = nil }
        asked = asked.filter { $0.value > time }
    }

    /// Call it after an answer.
    /// - Returns: the milliseconds from the first question to the last answer; nil if it was not the last.
    mutating func takeSyncTime(at now: Int64) -> Int64? {
        guard asked.isEmpty, let since = askedSince.take() else { return nil }
        return now - since
    }

    /// A node's answer replaces its copy.
    mutating func replace(_ node: Epoch, version: UInt64, _ members: [PresenceMember]) -> [Change] {
        asked[node] = nil
        unanswered.remove(node)
        if let copy = copies[node], copy.version > version { return [] }
        let new = Dictionary(members.map { (Identifier($0.id), $0) }, uniquingKeysWith: { first, _ in first })
        let old = copies[node]?.members ?? [:]
        var changes: [Change] = []
        copies[node] = Copy(version: version, members: new)
        for (id, member) in old where new[id] == nil && !isElsewhere(id, than: node) { changes.append(.left(userID: member.id)) }
        for member in members where old[Identifier(member.id)] == nil && !isElsewhere(Identifier(member.id), than: node) {
            changes.append(.joined(member))
        }
        return changes.sorted()
    }

    /// What became of a change that a node has reported.
    enum Outcome: Equatable {
        case changed([Change])
        /// A change before it was lost: ask the node.
        case missing
    }

    mutating func change(_ node: Epoch, version: UInt64, _ change: Change) -> Outcome {
        if let copy = copies[node] {
            if version <= copy.version { return .changed([]) }
            let isNext = version == copy.version &+ 1 || LocalMembers.isFirst(version) && copy.members.isEmpty
            guard isNext else { return .missing }
        } else {
            // The answer that is on its way contains the change.
            guard asked[node] == nil else { return .changed([]) }
            guard LocalMembers.isFirst(version) else { return .missing }
            copies[node] = Copy(version: version - 1, members: [:])
        }
        copies[node]?.version = version
        switch change {
        case .joined(let member):
            let id = Identifier(member.id)
            guard copies[node]?.members.updateValue(member, forKey: id) == nil, !isElsewhere(id, than: node) else {
                return .changed([])
            }
        case .left(let userID):
            let id = Identifier(userID)
            guard copies[node]?.members.removeValue(forKey: id) != nil, !isElsewhere(id, than: node) else {
                return .changed([])
            }
        }
        return .changed([change])
    }

    /// Whether the node has a newer version than the copy.
    func isBehind(_ node: Epoch, version: UInt64) -> Bool { asked[node] == nil && (copies[node]?.version ?? 0) < version }

    /// Withdraws the members of a node that has gone.
    mutating func remove(_ node: Epoch) -> [Change] {
        asked[node] = nil
        unanswered.remove(node)
        guard let copy = copies.removeValue(forKey: node) else { return [] }
        return copy.members.filter { !isElsewhere($0.key, than: node) }.map { .left(userID: $0.value.id) }.sorted()
    }

    private func isElsewhere(_ id: Identifier, than node: Epoch) -> Bool {
        copies.contains { $0.key != node && $0.value.members[id] != nil }
    }
}

extension [RemoteMembers.Change] {
    /// In the order of the ids, those who left first: the order of a dictionary differs from run to run.
    fileprivate func sorted() -> Self {
        sorted { one, other in
            switch (one, other) {
            case (.left(let one), .left(let other)): one < other
            case (.joined(let one), .joined(let other)): one.id < other.id
            case (.left, .joined): true
            case (.joined, .left): false
            }
        }
    }
}
