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
        /// The user's first local connection has signed in.
        case signedIn(userID: String)
        /// The user's last local connection has ended.
        case signedOut(userID: String)
        /// A connection has signed in whose user watches others: ``Hub/Input/showWatchlist(_:)`` tells it when it is known who of
        /// them is signed in on other nodes.
        case watches(SocketID, [String])
        /// No local connection watches the user any longer.
        case unwatched(userID: String)
        /// A client has sent an event to a channel. `userID` is the sender's, on a presence channel.
        indirect case relayed(ClientEvent, ChannelName, from: SocketID, userID: String?)
    }

    /// Passes the recorded changes to `consume`, in the order in which they occurred, and removes them. Call this after
    /// each input while the hub is still locked.
    package mutating func drainClusterChanges(_ consume: (AppIndex, ClusterChange) -> Void) {
        for (app, change) in clusterChanges { consume(app, change) }
        clusterChanges.removeAll(keepingCapacity: true)
    }

    /// Records a change of a channel that clients can name.
    mutating func recordClusterChange(of slot: ChannelSlot, _ makeChange: (ChannelName) -> ClusterChange) {
        guard isClustered, channels[slot].name != .watchers, channels[slot].name != .hidden else { return }
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
            if apps[app].remoteMembers[name]?.leaveElsewhere(userID, departure: 0) == true {
                _ = apps[app].remoteMembers[name]?.settle(userID, departure: 0)
            }
            if apps[app].remoteMembers[name]?.count == 0 { apps[app].remoteMembers[name] = nil }
            return
        }
        guard channels[slot].presence?.leaveElsewhere(userID, departure: lastDeparture + 1) == true else { return }
        depart(userID, name, app)
    }

    // MARK: Users of other nodes

    /// A watched user has signed in or out on the other nodes as a whole.
    mutating func remoteUser(_ userID: String, isOnline: Bool, _ app: AppIndex, _ effects: inout [Effect]) {
        let wasOnline = apps[app].users.isOnline(userID)
        apps[app].users.set(userID, isElsewhere: isOnline)
        guard wasOnline != apps[app].users.isOnline(userID), let slot = apps[app].users.watchers[Identifier(userID)] else {
            return
        }
        let (online, offline) = isOnline ? ([userID], []) : ([], [userID])
        fanOut(ServerMessage.watchlistEvents(online: online, offline: offline), on: slot, &effects)
    }

    // MARK: Departures

    /// How long a user without connections stays a member, in milliseconds. A user who opens a connection on one node and
    /// then closes that on another is a member all the time, but the news of the two nodes may come in any order.
    private static let departure: Int64 = 20

    /// A user who may have left a presence channel.
    struct Departure {
        let number: Int64
        let userID: String
        let channel: ChannelName
        let app: AppIndex
        /// When it was first looked at, in milliseconds: the hub's time may be behind when it happens.
        var seenAt: Int64?
    }

    /// Whether ``Input/tick(_:)`` may have users to remove soon.
    package var hasDepartures: Bool { !departures.isEmpty }

    /// Notes the departure of a user whom the caller has just marked with its number, which is the next one.
    mutating func depart(_ userID: String, _ name: ChannelName, _ app: AppIndex) {
        lastDeparture += 1
        departures.append(Departure(number: lastDeparture, userID: userID, channel: name, app: app))
    }

    /// Tells the subscribers of the users who have left, and not come back.
    mutating func settleDepartures(_ effects: inout [Effect]) {
        let due = departures.prefix { departure in departure.seenAt.map { now - $0 >= Self.departure } ?? false }
        departures.removeFirst(due.count)
        for departure in due {
            guard let slot = apps[departure.app].slots[departure.channel],
                channels[slot].presence?.settle(departure.userID, departure: departure.number) == true
            else { continue }
            removed(departure.userID, slot, &effects)
        }
        for index in departures.indices.reversed() {
            guard departures[index].seenAt == nil else { break }
            departures[index].seenAt = now
        }
    }
}
