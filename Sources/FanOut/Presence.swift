import Primitives
import PusherProtocol

/// The members of a presence channel: users, each with one or more connections (protocol point R4), on this node or on
/// other nodes of the cluster.
struct Presence {
    /// A member's connections.
    private struct Connections {
        /// The number on this node.
        var local = 0
        /// Whether the user has some on other nodes.
        var isElsewhere = false
        /// When the last one went, in milliseconds.
        var leftAt: Int64 = 0

        var isEmpty: Bool { local == 0 && !isElsewhere }
    }

    /// What has become of a channel's members.
    struct Change {
        /// Whether the user's first connection on this node came, or the last one went.
        let isLocalEdge: Bool
        /// Whether the user became a member, or is one no longer.
        let isEdge: Bool
    }

    /// In the order of joining.
    private(set) var members: [PresenceMember] = []
    /// By user id.
    private var connections: [Identifier: Connections] = [:]

    var count: Int { members.count }

    func contains(_ userID: String) -> Bool { connections[Identifier(userID)] != nil }

    /// Adds a connection of the user. A later connection does not change the member's info.
    mutating func join(_ member: PresenceMember) -> Change {
        let id = Identifier(member.id)
        let isNew = connections[id] == nil
        connections[id, default: Connections()].local += 1
        if isNew { members.append(member) }
        return Change(isLocalEdge: connections[id]?.local == 1, isEdge: isNew)
    }

    /// Removes a connection of the user.
    /// - Parameter keptFrom: the time, if a user without connections stays a member until ``settle(_:leftUntil:)``.
    mutating func leave(_ userID: String, keptFrom now: Int64? = nil) -> Change {
        let id = Identifier(userID)
        guard let local = connections[id]?.local, local > 0 else {
            preconditionFailure("a user leaves a channel without having joined")
        }
        connections[id]?.local -= 1
        guard let now else { return Change(isLocalEdge: local == 1, isEdge: removeIfGone(id)) }
        connections[id]?.leftAt = now
        return Change(isLocalEdge: local == 1, isEdge: connections[id]?.isEmpty == true)
    }

    /// Ends the membership of a user whose last connection went at a time or before.
    /// - Returns: whether it has ended.
    mutating func settle(_ userID: String, leftUntil time: Int64) -> Bool {
        let id = Identifier(userID)
        return connections[id].map { $0.leftAt <= time } == true && removeIfGone(id)
    }

    /// Ends the memberships of all users who have no connections.
    mutating func settleAll() {
        for (id, _) in connections.filter({ $0.value.isEmpty }) { _ = removeIfGone(id) }
    }

    /// The user has connections on other nodes.
    /// - Returns: whether this makes the user a member.
    mutating func joinElsewhere(_ member: PresenceMember) -> Bool {
        let id = Identifier(member.id)
        let isNew = connections[id] == nil
        connections[id, default: Connections()].isElsewhere = true
        if isNew { members.append(member) }
        return isNew
    }

    /// The user has no connections on other nodes any longer.
    /// - Returns: whether the user has none at all. The user stays a member until ``settle(_:leftUntil:)``.
    mutating func leaveElsewhere(_ userID: String, at now: Int64) -> Bool {
        let id = Identifier(userID)
        guard connections[id]?.isElsewhere == true else { return false }
        connections[id]?.isElsewhere = false
        connections[id]?.leftAt = now
        return connections[id]?.isEmpty == true
    }

    private mutating func removeIfGone(_ id: Identifier) -> Bool {
        guard connections[id]?.isEmpty == true else { return false }
        connections[id] = nil
        members.removeAll { Identifier($0.id) == id }
        return true
    }
}
