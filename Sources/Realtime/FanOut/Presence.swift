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
        /// The number of the departure in which the last one went.
        var departure: Int64 = 0
        /// The member's index in ``joined``.
        var place: Int

        var isEmpty: Bool { local == 0 && !isElsewhere }
    }

    /// What has become of a channel's members.
    struct Change {
        /// Whether the user's first connection on this node came, or the last one went.
        let isLocalEdge: Bool
        /// Whether the user became a member, or is one no longer.
        let isEdge: Bool
    }

    /// In the order of joining, ``chunkCount`` in each array. The places of members who have left stay here for a while, so
    /// that the end of thousands of connections is not a pass over all members for each. The arrays are small, because those
    /// of ``list(named:_:)`` are shared: the next change copies one of them, and not all members.
    private var joined: [[PresenceMember?]] = []
    private var placeCount = 0
    private static let chunkCount = 64
    /// The list of the present members, if anybody has subscribed since they last changed.
    private var list: PresenceList?
    /// By user id.
    private var connections: [Identifier: Connections] = [:]

    /// The number of members, without those who are leaving (``settle(_:departure:)``).
    var count: Int { connections.count - leaving }
    /// The number of members who have no connections.
    private var leaving = 0

    func contains(_ userID: String) -> Bool { connections[Identifier(userID)]?.isEmpty == false }

    /// The ids of the members, in the order of joining, without those who are leaving.
    var userIDs: [String] {
        let ids = members.map(\.id)
        return leaving == 0 ? ids : ids.filter(contains)
    }

    /// Finds the ``userIDs`` of this moment later. It shares the members, but not ``connections``: the next change would
    /// copy all of them.
    var findUserIDs: @Sendable () -> [String] {
        guard leaving == 0 else {
            let ids = userIDs
            return { ids }
        }
        let joined = joined
        return { joined.flatMap { $0.compactMap { $0?.id } } }
    }

    /// The members, in the order of joining, with those who are leaving.
    var members: [PresenceMember] { joined.flatMap { $0.compactMap(\.self) } }

    /// The list of ``members``, which is shared until a member comes or goes.
    /// - Parameter channel: the name of the channel.
    mutating func list(named channel: ChannelName, _ memory: PresenceList.Memory) -> PresenceList {
        if let list { return list }
        let new = PresenceList(channel, joined, memory)
        list = new
        return new
    }

    /// Adds a connection of the user. A later connection does not change the member's info.
    mutating func join(_ member: PresenceMember) -> Change {
        let id = Identifier(member.id)
        let isNew = add(member, id)
        connections[id]?.local += 1
        return Change(isLocalEdge: connections[id]?.local == 1, isEdge: isNew)
    }

    /// Removes a connection of the user.
    /// - Parameter departure: its number, if a user without connections stays a member until ``settle(_:departure:)``.
    mutating func leave(_ userID: String, departure: Int64? = nil) -> Change {
        let id = Identifier(userID)
        guard let local = connections[id]?.local, local > 0 else {
            preconditionFailure("a user leaves a channel without having joined")
        }
        connections[id]?.local -= 1
        let isGone = connections[id]?.isEmpty == true
        if isGone { leaving += 1 }
        if let departure { connections[id]?.departure = departure } else if isGone { _ = removeIfGone(id) }
        return Change(isLocalEdge: local == 1, isEdge: isGone)
    }

    /// Ends the membership of a user whose last connection went in this departure, unless the user has come back.
    /// - Returns: whether it has ended.
    mutating func settle(_ userID: String, departure: Int64) -> Bool {
        let id = Identifier(userID)
        return connections[id]?.departure == departure && removeIfGone(id)
    }

    /// Ends the memberships of all users who have no connections.
    mutating func settleAll() {
        for (id, _) in connections.filter({ $0.value.isEmpty }) { _ = removeIfGone(id) }
    }

    /// The user has connections on other nodes.
    /// - Returns: whether this makes the user a member.
    mutating func joinElsewhere(_ member: PresenceMember) -> Bool {
        let id = Identifier(member.id)
        let isNew = add(member, id)
        connections[id]?.isElsewhere = true
        return isNew
    }

    /// Adds the user if unknown.
    /// - Returns: whether that made the user a member.
    private mutating func add(_ member: PresenceMember, _ id: Identifier) -> Bool {
        if let known = connections[id] {
            if known.isEmpty { leaving -= 1 }
            return false
        }
        connections[id] = Connections(place: placeCount)
        append(member)
        return true
    }

    /// The user has no connections on other nodes any longer.
    /// - Returns: whether the user has none at all. The user stays a member until ``settle(_:departure:)``.
    mutating func leaveElsewhere(_ userID: String, departure: Int64) -> Bool {
        let id = Identifier(userID)
        guard connections[id]?.isElsewhere == true else { return false }
        connections[id]?.isElsewhere = false
        guard connections[id]?.isEmpty == true else { return false }
        connections[id]?.departure = departure
        leaving += 1
        return true
    }

    private mutating func removeIfGone(_ id: Identifier) -> Bool {
        guard connections[id]?.isEmpty == true else { return false }
        leaving -= 1
        list = nil
        if let place = connections.removeValue(forKey: id)?.place {
            joined[place / Self.chunkCount][place % Self.chunkCount] = nil
        }
        // When half of the places are empty: amortized constant time.
        if connections.count * 2 < placeCount { closeGaps() }
        return true
    }

    private mutating func append(_ member: PresenceMember) {
        list = nil
        if placeCount % Self.chunkCount == 0 { joined.append([]) }
        joined[placeCount / Self.chunkCount].append(member)
        placeCount += 1
    }

    private mutating func closeGaps() {
        let members = members
        (joined, placeCount) = ([], 0)
        for member in members {
            connections[Identifier(member.id)]?.place = placeCount
            append(member)
        }
    }
}
