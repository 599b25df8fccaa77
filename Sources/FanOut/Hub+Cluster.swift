import Primitives
import PusherProtocol

/// What the hub knows of the other nodes of a cluster, and what they must know of it.
extension Hub {
    /// A change that other nodes must know.
    package enum ClusterChange: Equatable, Sendable {
        /// A channel has its first local subscriber.
        case occupied(ChannelName)
        /// A channel has lost its last local subscriber.
        case vacated(ChannelName)
        /// A user's first local connection has subscribed to a presence channel.
        case memberJoined(ChannelName, PresenceMember)
        /// A user's last local connection has left a presence channel.
        case memberLeft(ChannelName, userID: String)
        /// The channel's number of local subscribers. Only of applications whose ``AppRules/reportsShares`` is set.
        case count(ChannelName, Int)
        /// A client has sent an event to a channel. `userID` is the sender's, on a presence channel.
        indirect case relayed(ClientEvent, ChannelName, from: SocketID, userID: String?)
    }

    /// Whether ``drainClusterChanges(_:)`` has changes to pass.
    package var hasClusterChanges: Bool { !clusterChanges.isEmpty }

    /// Passes the recorded changes to `consume`, in the order in which they occurred, and removes them. Call this after
    /// each input while the hub is still locked.
    package mutating func drainClusterChanges(_ consume: (AppIndex, ClusterChange) -> Void) {
        for (app, change) in clusterChanges { consume(app, change) }
        clusterChanges.removeAll(keepingCapacity: true)
    }

    /// Records a change of a channel that clients can name.
    mutating func recordClusterChange(of slot: ChannelSlot, _ makeChange: (ChannelName) -> ClusterChange) {
        guard isClustered, channels[slot].name != .watchers else { return }
        clusterChanges.append((channels[slot].app, makeChange(channels[slot].name)))
    }

    // MARK: Members of other nodes

    mutating func remoteJoin(_ member: PresenceMember, _ name: ChannelName, _ app: AppIndex, _ effects: inout [Effect]) {
        guard let slot = apps[app].slots[name] else {
            _ = apps[app].remoteMembers[name, default: Presence()].joinElsewhere(member)
            return
        }
        guard channels[slot].presence?.joinElsewhere(member) == true else { return }
        fanOut(ServerMessage.memberAdded(name, member), on: slot, &effects)
    }

    mutating func remoteLeave(_ userID: String, _ name: ChannelName, _ app: AppIndex, _ effects: inout [Effect]) {
        guard let slot = apps[app].slots[name] else {
            if apps[app].remoteMembers[name]?.leaveElsewhere(userID, at: now) == true {
                _ = apps[app].remoteMembers[name]?.settle(userID, leftUntil: now)
            }
            if apps[app].remoteMembers[name]?.count == 0 { apps[app].remoteMembers[name] = nil }
            return
        }
        if channels[slot].presence?.leaveElsewhere(userID, at: now) == true { depart(userID, name, app) }
    }

    // MARK: Departures

    /// How long a user without connections stays a member, in milliseconds. A user who opens a connection on one node and
    /// then closes that on another is a member all the time, but the news of the two nodes may come in any order. Half of
    /// it is how much the hub's time may be behind.
    private static let departure: Int64 = 200

    /// A user who may have left a presence channel.
    struct Departure {
        let userID: String
        let channel: ChannelName
        let app: AppIndex
        let at: Int64
    }

    mutating func depart(_ userID: String, _ name: ChannelName, _ app: AppIndex) {
        departures.append(Departure(userID: userID, channel: name, app: app, at: now))
    }

    /// Tells the subscribers of the users who have left, and not come back.
    mutating func settleDepartures(_ effects: inout [Effect]) {
        while let departure = departures.first, now - departure.at >= Self.departure {
            _ = departures.popFirst()
            guard let slot = apps[departure.app].slots[departure.channel],
                channels[slot].presence?.settle(departure.userID, leftUntil: departure.at) == true
            else { continue }
            removed(departure.userID, slot, &effects)
        }
    }
}
