import Primitives
import PusherProtocol

/// The fan-out core of the gateway: connections, subscriptions, presence, signed-in users. ``apply(_:_:)`` takes an
/// input and appends its effects. What runs on top of it decides by a ``HubGate``.
///
/// The hub is deterministic: it does no I/O and uses no clock or random numbers, so the same inputs produce the same
/// effects. All event loops share the hub behind one lock, so each call must do little work: for each channel the hub
/// stores *which loops* have subscribers, not which connections, and an event is one effect per loop, not one per
/// subscriber. Webhook events are not effects, because no loop performs them; see ``drainWebhookEvents(_:)``.
package struct Hub {
    /// A change of connections, users or time, or an event to publish.
    package enum Input: Sendable {
        case opened(SocketID, app: AppIndex)
        case subscribe(SocketID, SubscriptionGrant)
        case unsubscribe(SocketID, ChannelName)
        case signin(SocketID, SignedInUser)
        case clientEvent(SocketID, ClientEvent, on: ChannelName)
        case publish([Publication], app: AppIndex, except: SocketID?)
        case terminate(userID: String, app: AppIndex)
        /// The time of a rule's legacy subscriptions is over: ends some of them. Repeat it while
        /// ``Hub/isEndingLegacy(_:app:)``.
        case endLegacy(pattern: String, app: AppIndex)
        /// A user has come to a presence channel on the other nodes of the cluster: the user's first connection there.
        case remoteMemberJoined(PresenceMember, on: ChannelName, app: AppIndex)
        /// The user's last connection on the other nodes has left the channel.
        case remoteMemberLeft(userID: String, on: ChannelName, app: AppIndex)
        /// In a cluster: the number of a channel's subscribers on all nodes, for those of this one.
        case subscriptionCount(Int, on: ChannelName, app: AppIndex)
        /// In a cluster: a client of another node has sent an event.
        case remoteClientEvent(Publication, app: AppIndex, from: SocketID)
        /// In a cluster: a watched user has signed in or out on the other nodes.
        case remoteUser(userID: String, isOnline: Bool, app: AppIndex)
        /// In a cluster: tells a connection who of those that it watches is signed in.
        case showWatchlist(SocketID)
        /// In a cluster: the last event of a cache channel, as another node has it.
        case cache(Frame, millisecondsLeft: Int64, on: ChannelName, app: AppIndex)
        /// This node no longer learns who is on the channel elsewhere. The channel has no local subscribers.
        case forgetRemoteMembers(on: ChannelName, app: AppIndex)
        case closed(SocketID)
        /// The current time in milliseconds of a monotonic clock; sent once a second.
        case tick(Int64)
    }

    /// One encoded event for one channel.
    package struct Publication: Equatable, Sendable {
        /// The channel whose subscribers get the frame.
        package let channel: ChannelName
        private let encoded: Frame
        /// The channel that `encoded` names, if it is another one.
        private let original: ChannelName?

        /// The event, encoded with the channel's name. For a mirror it is encoded here: most mirrors have no
        /// subscribers, so the hub does not ask for it.
        package var frame: Frame {
            original.map { ServerMessage.event(encoded, on: $0, movedTo: channel) } ?? encoded
        }

        /// - Parameter frame: must name `channel`.
        package init(channel: ChannelName, frame: Frame) {
            self.channel = channel
            encoded = frame
            original = nil
        }

        /// The same event for the channel that mirrors the channel of `publication`.
        /// - Parameter publication: an event that ``ServerMessage/event(name:channel:data:)`` encoded.
        package init(_ publication: Publication, mirroredOn mirror: ChannelName) {
            channel = mirror
            encoded = publication.encoded
            original = publication.original ?? publication.channel
        }
    }

    /// An instruction for one event loop. The caller appends it to that loop's mailbox before it unlocks the hub;
    /// otherwise the effects of two inputs could change order.
    package struct Effect: Equatable, Sendable {
        /// The loop's index.
        package let loop: Int
        /// What the loop must do.
        package let instruction: Instruction
    }

    let loopCount: Int
    /// What runs on top of the hub: at most one, and none while it changes the hub. In an array for the reason that
    /// ``AppRules`` gives; and it is changed in place.
    var gates: [any HubGate]
    /// Whether ``HubGate/subscribed(to:app:_:_:)`` is called.
    package var tellsGateOfSubscriptions = false
    var apps: [AppState]
    var channels: [Channel] = []
    private var freeSlots: [ChannelSlot] = []
    /// By loop, then by slot.
    private var connections: [[Connection]]
    /// The time of the last tick, in monotonic milliseconds.
    package internal(set) var now: Int64 = 0
    var countThrottle = SubscriptionCountThrottle()
    /// The application whose expired events are removed first at the next tick.
    var firstToExpire: AppIndex = 0
    /// The refused subscriptions of all applications.
    package internal(set) var refusedSubscriptions = RefusedSubscriptions()
    /// Refused subscriptions; see ``drainRefusals(_:)``.
    var refusals: [(AppIndex, SubscriptionRefusal)] = []
    /// Connections that may still sign in, so that their kept names do not count as refused; the first one first.
    var signInGraces = FIFO<SignInGrace>()
    /// Webhook events in the order in which they occurred; see ``drainWebhookEvents(_:)``.
    var webhookEvents: [AppWebhookEvent] = []
    /// Whether the hub is a node of a cluster, so that it records ``clusterChanges``.
    private(set) var isClustered: Bool
    /// What other nodes must know, in the order in which it happened; see ``drainClusterChanges(_:)``.
    var clusterChanges: [(AppIndex, ClusterChange)] = []
    /// In a cluster: users who may have left presence channels, the first who went first.
    var departures: [Departure] = []
    /// The number of the last of them.
    var lastDeparture: Int64 = 0
    /// The memory for the lists that presence channels keep.
    package let presenceLists = PresenceList.Memory()
    /// What the gate has reported; see ``drainReports(_:)``.
    var reports: [String] = []

    /// The number of subscriptions of all connections.
    package var subscriptionCount: Int { apps.reduce(0) { $0 + $1.subscriptionCount } }
    /// The number of channels with at least one subscriber.
    package var channelCount: Int { apps.reduce(0) { $0 + $1.slots.count } }

    /// - Parameters:
    ///   - loopCount: the number of event loops (1–64, see ``LoopSet/loopsMax``).
    ///   - apps: the rules of the applications, by ``AppIndex``.
    ///   - isClustered: whether ``drainClusterChanges(_:)`` is to have something.
    ///   - gate: nil if nothing runs on top of the hub.
    package init(loopCount: Int, apps: [AppRules], isClustered: Bool = false, gate: (any HubGate)? = nil) {
        self.isClustered = isClustered
        gates = gate.map { [$0] } ?? []
        precondition((1...LoopSet.loopsMax).contains(loopCount), "Hub needs 1 to 64 event loops, got \(loopCount)")
        self.loopCount = loopCount
        self.apps = apps.map { AppState($0) }
        connections = Array(repeating: [], count: loopCount)
    }

    /// Applies an input and appends its effects to `effects`, in the order in which the loops must perform them.
    package mutating func apply(_ input: Input, _ effects: inout [Effect]) {
        switch input {
        case .opened(let socket, let app): open(socket, app)
        case .subscribe(let socket, let grant): subscribe(socket, grant, &effects)
        case .unsubscribe(let socket, let channel): unsubscribe(socket, from: channel, &effects)
        case .signin(let socket, let user): signin(socket, user, &effects)
        case .clientEvent(let socket, let event, let channel): relay(event, from: socket, on: channel, &effects)
        case .publish(let publications, let app, let sender):
            for publication in publications { publish(publication, app, except: sender, &effects) }
        case .terminate(let userID, let app): terminate(userID, app, &effects)
        case .endLegacy(let pattern, let app): endLegacy(pattern, app, &effects)
        case .remoteMemberJoined(let member, let channel, let app): remoteJoin(member, channel, app, &effects)
        case .remoteMemberLeft(let userID, let channel, let app): remoteLeave(userID, channel, app, &effects)
        case .subscriptionCount(let count, let channel, let app):
            guard let slot = apps[app].slots[channel] else { return }
            fanOut(ServerMessage.subscriptionCount(channel, count), on: slot, &effects)
        case .remoteClientEvent(let publication, let app, let sender):
            guard let slot = apps[app].slots[publication.channel] else { return }
            channels[slot].events.add(at: now)
            fanOut(publication.frame, on: slot, except: sender, &effects)
        case .remoteUser(let userID, let isOnline, let app): remoteUser(userID, isOnline: isOnline, app, &effects)
        case .showWatchlist(let socket): showWatchlist(socket, &effects)
        case .cache(let frame, let left, let channel, let app):
            apps[app].cache.store(frame, on: channel, at: min(now, now - EventCache.lifetime + left))
        case .forgetRemoteMembers(let channel, let app): apps[app].remoteMembers[channel] = nil
        case .closed(let socket): close(socket, &effects)
        case .tick(let now): tick(now, &effects)
        }
    }

    // MARK: Events of backends

    private mutating func publish(
        _ publication: Publication, _ app: AppIndex, except sender: SocketID?, _ effects: inout [Effect]
    ) {
        // Protocol point K5: the event is cached even if a connection is excluded from it, or the channel has no
        // subscribers.
        let slot = apps[app].slots[publication.channel]
        let isCached = publication.channel.isCache
        guard slot != nil || isCached else { return }
        let frame = publication.frame
        if isCached { apps[app].cache.store(frame, on: publication.channel, at: now) }
        guard let slot else { return }
        channels[slot].events.add(at: now)
        fanOut(frame, on: slot, except: sender, &effects)
    }

    // MARK: Connections

    private mutating func open(_ socket: SocketID, _ app: AppIndex) {
        let missing = socket.slot + 1 - connections[socket.loop].count
        if missing > 0 { connections[socket.loop].append(contentsOf: repeatElement(Connection(), count: missing)) }
        precondition(connections[socket.loop][socket.slot].socket == nil, "slot \(socket.slot) already has an open connection")
        connections[socket.loop][socket.slot] = Connection(socket: socket, app: app, openedAt: now)
        apps[app].connectionCount += 1
    }

    private mutating func close(_ socket: SocketID, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        let connection = self[socket]
        forgetKeptNames(of: socket)
        for slot in connection.subscriptions.elements { leave(slot, socket, &effects) }
        if let user = connection.user { signOut(user, socket, connection.app, &effects) }
        if !gates.isEmpty { gates[0].closed(socket) }
        apps[connection.app].connectionCount -= 1
        self[socket] = Connection()
    }

    /// Whether the connection is open. An input may name a closed connection, whose slot is vacant or has a new
    /// connection.
    func isOpen(_ socket: SocketID) -> Bool {
        socket.loop < loopCount && socket.slot < connections[socket.loop].count
            && connections[socket.loop][socket.slot].socket == socket
    }

    /// The number of a loop's slots, vacant ones included.
    func connectionSlots(of loop: Int) -> Int { connections[loop].count }

    /// The connection in a slot; nil if it is vacant.
    func connectionSocket(loop: Int, slot: Int) -> SocketID? { connections[loop][slot].socket }

    /// Changes the connection in place. With `get` and `set`, each change would copy the connection's lists.
    subscript(socket: SocketID) -> Connection {
        _read { yield connections[socket.loop][socket.slot] }
        _modify { yield &connections[socket.loop][socket.slot] }
    }

    // MARK: Channels

    /// Stores a channel in a free slot.
    mutating func add(_ channel: Channel) -> ChannelSlot {
        while let slot = freeSlots.popLast() {
            guard slot < channels.count else { continue }  // given back
            channels[slot] = channel
            return slot
        }
        channels.append(channel)
        return channels.count - 1
    }

    /// Frees the slot of a vacated channel. The slot can be reused at once, because each loop receives the last
    /// `.leave` of this channel before the first `.join` of the slot's next channel.
    mutating func free(_ slot: ChannelSlot) {
        channels[slot] = Channel.vacant
        freeSlots.append(slot)
        // Slots behind the last channel are given back. `freeSlots` may still name them.
        while channels.last?.loops.isEmpty == true { channels.removeLast() }
    }

    /// Gives back memory that channels, users and cached events needed that are gone. Call it once a second. It copies the
    /// rest of at most one table, so that the hub is not locked for long.
    mutating func releaseMemory() {
        if channels.releaseSpareCapacity() || freeSlots.releaseSpareCapacity() { return }
        for app in apps.indices where apps[app].releaseMemory() { return }
        if !gates.isEmpty { _ = gates[0].releaseMemory() }
    }

    // MARK: Effects

    func send(_ socket: SocketID, _ frame: Frame, _ effects: inout [Effect]) {
        effects.append(Effect(loop: socket.loop, instruction: .send(frame, to: socket)))
    }

    func sendError(_ socket: SocketID, _ text: String, code: Int? = nil, _ effects: inout [Effect]) {
        send(socket, ServerMessage.error(ProtocolError(text, code: code)), &effects)
    }

    func fanOut(_ frame: Frame, on slot: ChannelSlot, except sender: SocketID? = nil, _ effects: inout [Effect]) {
        for loop in channels[slot].loops {
            effects.append(Effect(loop: loop, instruction: .fanOut(frame, slot, except: sender)))
        }
        fanOutHidden(frame, on: slot, except: sender, &effects)
    }
}

/// An application's index in the configured list of applications.
package typealias AppIndex = Int

/// A channel's index in the tables of the hub and of every loop. It is reused after the channel is vacated.
package typealias ChannelSlot = Int

/// The hub's state of one connection.
struct Connection {
    /// Nil while the slot is vacant.
    var socket: SocketID?
    var app: AppIndex = 0
    /// In milliseconds of the monotonic clock, as of the last tick.
    var openedAt: Int64 = 0
    /// The slots of the channels to which the connection is subscribed.
    var subscriptions = IndexedList<ChannelSlot>()
    /// The member's user id on each presence channel to which the connection is subscribed.
    var memberIDs: [ChannelSlot: String] = [:]
    /// The patterns of the rules by which the connection is subscribed without a signature, by the channel's slot.
    var legacyPatterns: [ChannelSlot: String] = [:]
    /// The same subscriptions, by the rule's pattern. Without them a pattern is missing.
    var legacySlots: [String: IndexedList<ChannelSlot>] = [:]
    /// The plain names to which the connection is to be subscribed when it signs in, in the order in which it asked.
    var keptNames: [SubscriptionGrant] = []
    /// Whether the kept names do not count as refused yet.
    var hasGrace = false
    /// Nil until the connection signs in.
    var user: SignedInUser?
    /// Those that were verified for this connection, beside its user's id: see ``Hub/setIdentifiers(_:of:)``.
    var identifiers: [String] = []
    /// Whether the connection gets events about its user's watchlist.
    var isWatching = false
    /// How many users of the watchlist count for the application's limits: the first ones. The others are not watched.
    var watchedCount: Int32 = 0

    /// True until the connection signs in or gets its first identifiers; it never becomes true again. See
    /// ``Hub/stopCountingAsAnonymous(_:)``.
    var isAnonymous: Bool { user == nil && identifiers.isEmpty }
}

/// The hub's state of one application.
struct AppState {
    let rules: AppRules
    /// The slots of the occupied channels.
    var slots: [ChannelName: ChannelSlot] = [:]
    /// The channels' subscribers from whom members are hidden, by the channel's slot; see ``Hub/addLegacy(_:to:)``.
    var hiddenSlots: [ChannelSlot: ChannelSlot] = [:]
    /// By the rule's pattern.
    var legacyCounts: [String: Hub.LegacyCount] = [:]
    /// Where the next slice goes on that ends a rule's legacy subscriptions, by the rule's pattern.
    var legacyEnds: [String: Hub.LegacyEnd] = [:]
    var cache: EventCache
    var users = UserDirectory()
    /// The members of presence channels without local subscribers on other nodes. Those of occupied channels are in
    /// ``Channel/presence``.
    var remoteMembers: [ChannelName: Presence] = [:]
    var connectionCount = 0
    /// The number of subscriptions of all connections.
    var subscriptionCount = 0
    /// The number of names that connections want when they sign in.
    var keptNameCount = 0
    /// The number of watched users, counted for each connection that watches them.
    var watchCount = 0

    init(_ rules: AppRules) {
        self.rules = rules
        cache = EventCache(bytesMax: rules.limits.cacheBytes)
    }

    /// Gives back the memory of one table that was far larger.
    /// - Returns: whether there was one.
    mutating func releaseMemory() -> Bool {
        slots.releaseSpareCapacity() || cache.releaseMemory() || users.releaseMemory()
            || remoteMembers.releaseSpareCapacity()
    }
}

/// How many subscriptions were refused, by limit.
package struct RefusedSubscriptions: Equatable, Sendable {
    /// Refused because of ``Limits/subscriptions``.
    package var subscriptions = 0
    /// Refused because of ``Limits/presenceMembers``.
    package var presenceMembers = 0
    /// Refused because of ``Limits/channels``.
    package var channels = 0
    /// Refused because of ``Limits/appSubscriptions``.
    package var appSubscriptions = 0
    /// Not kept until the connection signs in, because of ``Hub/keptNamesMax`` or ``Limits/appSubscriptions``.
    package var keptNames = 0

    package init() {}
}
