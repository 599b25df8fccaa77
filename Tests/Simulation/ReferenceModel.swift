import Access
import FanOut
import PusherProtocol

/// Specifies what the hub and the loops together must do, in the simplest way: without loops, slots or batches.
///
/// A publish is delivered to all current subscribers at once. The model stores nothing that it can find by searching
/// all connections. To support a new input of the hub, add a case to ``apply(_:)``.
struct ReferenceModel {
    /// An open connection.
    struct Connection {
        let app: AppIndex
        /// In the order of subscribing until one ends: then the last one takes its place.
        var subscriptions: [Subscription] = []
        var user: SignedInUser?
        /// Those of the user.
        var bookings: [String] = []
        /// The names to which the connection is to be subscribed when it signs in.
        var kept: [SubscriptionGrant] = []
        /// The users of the watchlist for whom there was room.
        var watched: [String] = []
    }

    struct Subscription {
        let channel: ChannelName
        /// Nil except on presence channels.
        let member: PresenceMember?
    }

    /// A channel of an application.
    struct ChannelKey: Hashable {
        let app: AppIndex
        let channel: ChannelName
    }

    let rules: [AppRules]
    /// The rules of each application's channel policy; nil for an application without one.
    let fleetRules: [[ChannelPolicy.Rule]?]
    /// Open connections. No result may depend on their iteration order.
    private(set) var connections: [SocketID: Connection] = [:]
    /// The frames that each connection, open or closed, must receive, in order.
    private(set) var expected: [SocketID: [Frame]] = [:]
    /// Presence members in the order of joining, each with the info of the user's first connection.
    private(set) var members: [ChannelKey: [PresenceMember]] = [:]
    /// The event caches, by application.
    private(set) var caches: [CachedEvents]
    /// Connections of terminated users, open or closed.
    private(set) var terminated: Set<SocketID> = []
    /// The time of the last tick in milliseconds.
    private(set) var now: Int64 = 0
    /// Large channels whose `subscription_count` will be sent at `nextCountsAt`.
    private var dueCounts: [ChannelKey] = []
    private var nextCountsAt: Int64 = 0
    /// Open orders that are assigned to a driver.
    var jobs: [Job] = []
    /// The identities authorized for open connections, oldest first, at most four per connection.
    var identified: [(socket: SocketID, identity: Identity)] = []
    /// For what the identities of open connections were authorized, and with which devices, oldest first.
    var authorizations: [Authorization] = []
    /// Signed-in open connections; those of each user in the order of the hub.
    private(set) var signins: [SocketID] = []
    /// The number of subscriptions that the server ended, because a job was lost or an identity was displaced.
    var revocations = 0
    /// What drivers whose account is not approved may join.
    var restrictions: [(app: AppIndex, driverID: String, restriction: FleetAccess.Restriction)] = []
    /// The webhook events of the last input.
    private(set) var webhookEvents: [AppWebhookEvent] = []

    init(_ rules: [AppRules], fleetRules: [[ChannelPolicy.Rule]?]) {
        self.rules = rules
        self.fleetRules = fleetRules
        caches = rules.map { CachedEvents(bytesMax: $0.limits.cacheBytes) }
    }

    mutating func apply(_ input: SimulatedInput) {
        webhookEvents = []
        switch input {
        case .hub(let input): apply(input)
        case .fleet(let input): apply(input)
        }
    }

    private mutating func apply(_ input: Hub.Input) {
        switch input {
        case .opened(let socket, let app):
            connections[socket] = Connection(app: app)
            expected[socket] = []
        case .subscribe(let socket, let grant): subscribe(socket, grant)
        case .unsubscribe(let socket, let channel): unsubscribe(socket, from: channel)
        case .signin(let socket, let user): signin(socket, user)
        case .clientEvent(let socket, let event, let channel): relay(event, from: socket, on: channel)
        case .publish(let publications, let app, let sender):
            for publication in publications { publish(publication, app, except: sender) }
        case .terminate(let userID, let app): terminated.formUnion(signedIn(as: userID, app))
        case .closed(let socket): close(socket)
        case .tick(let time): tick(time)
        case .endLegacy: break  // the simulated fleet's apps sign
        // Concern clusters, which `ClusterWorld` simulates.
        case .remoteMemberJoined, .remoteMemberLeft, .forgetRemoteMembers, .subscriptionCount, .cache, .remoteUser,
            .showWatchlist, .remoteClientEvent:
            break
        }
    }

    // MARK: Channels

    private mutating func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant) {
        guard let connection = connections[socket] else { return }
        let key = ChannelKey(app: connection.app, channel: grant.channel)
        let isKnown = members[key, default: []].contains { $0.id == grant.member?.id }
        let limits = rules[key.app].limits
        if let reason = denialReason(to: socket, key) {
            if key.channel.access == .open, connection.user == nil { keep(grant, of: socket, connection) }
            return sendError(socket, reason, code: key.channel.access == .open ? nil : 4009)
        }
        connections[socket]?.kept.removeAll { $0.channel == grant.channel }
        if connection.subscriptions.contains(where: { $0.channel == grant.channel }) {
            return sendError(socket, "Existing subscription to channel \(grant.channel.text)")
        }
        if grant.member != nil, !isKnown, members[key, default: []].count >= limits.presenceMembers {
            let text = "Channel \(grant.channel.text) is full: the limit is \(limits.presenceMembers) members"
            return sendError(socket, text, code: 4009)
        }
        if connection.subscriptions.count >= limits.subscriptions {
            let limit = "the limit is \(limits.subscriptions) channels per connection"
            return sendError(socket, "Cannot subscribe to channel \(grant.channel.text): \(limit)")
        }
        if let limit = exceededLimit(key.app, isNewChannel: subscribers(of: key).isEmpty) {
            let text = "the application has reached its limit of \(limit)"
            return sendError(socket, "Cannot subscribe to channel \(grant.channel.text): \(text)")
        }
        if subscribers(of: key).isEmpty { recordWebhookEvent(key, .channelOccupied(grant.channel)) }
        connections[socket]?.subscriptions.append(Subscription(channel: grant.channel, member: grant.member))
        if let member = grant.member {
            if !isKnown { members[key, default: []].append(member) }
            send(socket, ServerMessage.subscriptionSucceeded(grant.channel, members: members[key, default: []]))
        } else {
            send(socket, ServerMessage.subscriptionSucceeded(grant.channel))
        }
        if grant.channel.isCache {
            let last = caches[key.app].event(on: grant.channel)?.frame
            send(socket, last ?? ServerMessage.cacheMiss(grant.channel))
            if last == nil { recordWebhookEvent(key, .cacheMiss(grant.channel)) }
        }
        if let member = grant.member, !isKnown {
            sendAll(key, except: socket, ServerMessage.memberAdded(grant.channel, member))
            recordWebhookEvent(key, .memberAdded(grant.channel, userID: member.id))
        }
        updateCount(key)
    }

    private mutating func keep(_ grant: SubscriptionGrant, of socket: SocketID, _ connection: Connection) {
        guard !connection.kept.contains(where: { $0.channel == grant.channel }), connection.kept.count < 32,
            exceededLimit(connection.app, isNewChannel: false) == nil
        else { return }
        connections[socket]?.kept.append(grant)
    }

    /// The next name to which a signed-in connection is to be subscribed.
    mutating func takeKeptName(of socket: SocketID) -> SubscriptionGrant? {
        guard let connection = connections[socket], connection.user != nil, !connection.kept.isEmpty else { return nil }
        return connections[socket]?.kept.removeFirst()
    }

    /// The application's limit that one more subscription, or watched user, would exceed.
    private func exceededLimit(_ app: AppIndex, isNewChannel: Bool) -> String? {
        let limits = rules[app].limits
        let channels = occupied(app: app)
        let watched = connections.values.filter { $0.app == app }.flatMap(\.watched)
        if limits.channels > 0, isNewChannel, channels.count + Set(watched).count >= limits.channels {
            return "\(limits.channels) channels"
        }
        let subscriptions = channels.reduce(0) { $0 + subscribers(of: ChannelKey(app: app, channel: $1)).count }
        let kept = connections.values.filter { $0.app == app }.reduce(0) { $0 + $1.kept.count }
        let isFull = limits.appSubscriptions > 0 && subscriptions + watched.count + kept >= limits.appSubscriptions
        return isFull ? "\(limits.appSubscriptions) subscriptions" : nil
    }

    private mutating func unsubscribe(_ socket: SocketID, from channel: ChannelName) {
        guard let connection = connections[socket] else { return }
        if connection.subscriptions.contains(where: { $0.channel == channel }) {
            leave(socket, channel)
        } else if connection.kept.contains(where: { $0.channel == channel }) {
            connections[socket]?.kept.removeAll { $0.channel == channel }
        } else {
            sendError(socket, "No current subscription to channel \(channel.text), or subscription in progress")
        }
    }

    mutating func leave(_ socket: SocketID, _ channel: ChannelName) {
        guard let connection = connections[socket] else { return }
        let key = ChannelKey(app: connection.app, channel: channel)
        guard let index = connection.subscriptions.firstIndex(where: { $0.channel == channel }) else { return }
        let left = connection.subscriptions[index]
        // The last subscription takes the place of the one that ends.
        connections[socket]?.subscriptions.swapAt(index, connection.subscriptions.count - 1)
        connections[socket]?.subscriptions.removeLast()
        if let userID = left.member?.id, !distinctUsers(on: key).contains(userID) {
            members[key]?.removeAll { $0.id == userID }
            sendAll(key, ServerMessage.memberRemoved(channel, userID: userID))
            recordWebhookEvent(key, .memberRemoved(channel, userID: userID))
        }
        if subscribers(of: key).isEmpty { recordWebhookEvent(key, .channelVacated(channel)) }
        updateCount(key)
    }

    private mutating func close(_ socket: SocketID) {
        guard let connection = connections[socket] else { return }
        for subscription in connection.subscriptions { leave(socket, subscription.channel) }
        connections[socket] = nil
        identified.removeAll { $0.socket == socket }
        authorizations.removeAll { $0.socket == socket }
        endSignin(of: socket, connection)
        if let id = connection.user?.id, signedIn(as: id, connection.app).isEmpty {
            for watcher in watchers(of: id, connection.app) {
                send(watcher, ServerMessage.watchlistEvents(online: [], offline: [id]))
            }
        }
    }

    /// The user's last connection takes the place of the one that ends.
    private mutating func endSignin(of socket: SocketID, _ connection: Connection) {
        guard let index = signins.firstIndex(of: socket) else { return }
        let last = signins.lastIndex {
            $0 == socket || connections[$0]?.app == connection.app && user(of: $0)?.id == connection.user?.id
        }
        signins.swapAt(index, last ?? index)
        signins.remove(at: last ?? index)
    }

    // MARK: Events

    mutating func publish(_ publication: Hub.Publication, _ app: AppIndex, except sender: SocketID?) {
        if publication.channel.isCache { caches[app].store(publication.frame, on: publication.channel, at: now) }
        sendAll(ChannelKey(app: app, channel: publication.channel), except: sender, publication.frame)
    }

    private mutating func relay(_ event: ClientEvent, from socket: SocketID, on channel: ChannelName) {
        guard let connection = connections[socket] else { return }
        guard let own = connection.subscriptions.first(where: { $0.channel == channel }) else {
            let text = "Cannot broadcast client event (connection not subscribed to channel \(channel.text))"
            return sendError(socket, text)
        }
        let frame = ServerMessage.clientEvent(event, channel: channel, userID: own.member?.id)
        let key = ChannelKey(app: connection.app, channel: channel)
        sendAll(key, except: socket, frame)
        recordWebhookEvent(key, .clientEvent(event, on: channel, from: socket, userID: own.member?.id))
        if let mirrorChannel = mirror(of: key) {
            let mirrored = ServerMessage.clientEvent(event, channel: mirrorChannel, userID: nil)
            sendAll(ChannelKey(app: connection.app, channel: mirrorChannel), except: socket, mirrored)
        }
    }

    // MARK: Users

    private mutating func signin(_ socket: SocketID, _ user: SignedInUser) {
        guard let connection = connections[socket] else { return }
        guard connection.user == nil else {
            return sendError(socket, "Already signed in: a connection cannot change its user", code: 4009)
        }
        let wasOnline = !signedIn(as: user.id, connection.app).isEmpty
        connections[socket]?.user = user
        connections[socket]?.bookings = user.bookings
        signins.append(socket)
        send(socket, ServerMessage.signinSuccess(user))
        if user.isWatchlistTruncated {
            sendError(socket, "The watchlist exceeds the allowed maximum: its first 100 users are watched", code: 4302)
        }
        let watched = watch(user.watchlist, socket, connection.app)
        if !watched.isEmpty {
            let online = watched.filter { !signedIn(as: $0, connection.app).isEmpty }
            let offline = watched.filter { signedIn(as: $0, connection.app).isEmpty }
            send(socket, ServerMessage.watchlistEvents(online: online, offline: offline))
        }
        guard !wasOnline else { return }
        for watcher in watchers(of: user.id, connection.app) where watcher != socket {
            send(watcher, ServerMessage.watchlistEvents(online: [user.id], offline: []))
        }
    }

    /// - Returns: the users for whom there is room.
    private mutating func watch(_ watchlist: [String], _ socket: SocketID, _ app: AppIndex) -> [String] {
        for (count, userID) in watchlist.enumerated() {
            if let limit = exceededLimit(app, isNewChannel: watchers(of: userID, app).isEmpty) {
                let text = "The application has reached its limit of \(limit)"
                sendError(socket, text + ": of the watchlist, the first \(count) users are watched", code: 4302)
                break
            }
            connections[socket]?.watched.append(userID)
        }
        return connections[socket]?.watched ?? []
    }

    func signedIn(as userID: String, _ app: AppIndex) -> [SocketID] {
        connections.compactMap { $0.value.app == app && $0.value.user?.id == userID ? $0.key : nil }
    }

    private func watchers(of userID: String, _ app: AppIndex) -> [SocketID] {
        connections.compactMap { $0.value.app == app && $0.value.watched.contains(userID) ? $0.key : nil }
    }

    // MARK: Time

    private mutating func tick(_ time: Int64) {
        now = time
        for app in caches.indices { caches[app].expire(at: now) }
        guard now >= nextCountsAt else { return }
        nextCountsAt = now + 5_000
        for key in dueCounts { sendCount(key) }
        dueCounts = []
    }

    /// Sends a changed count at once if the channel has at most a hundred subscribers. Larger channels get their count
    /// every five seconds.
    private mutating func updateCount(_ key: ChannelKey) {
        guard rules[key.app].subscriptionCounts, !key.channel.isPresence else { return }
        if subscribers(of: key).count <= 100 {
            dueCounts.removeAll { $0 == key }
            sendCount(key)
        } else if !dueCounts.contains(key) {
            dueCounts.append(key)
        }
    }

    private mutating func sendCount(_ key: ChannelKey) {
        let count = subscribers(of: key).count
        sendAll(key, ServerMessage.subscriptionCount(key.channel, count))
        if count > 0 { recordWebhookEvent(key, .subscriptionCount(key.channel, count)) }
    }

    // MARK: Sending

    private mutating func sendAll(_ key: ChannelKey, except sender: SocketID? = nil, _ frame: Frame) {
        for socket in subscribers(of: key) where socket != sender { send(socket, frame) }
    }

    mutating func sendError(_ socket: SocketID, _ text: String, code: Int? = nil) {
        send(socket, ServerMessage.error(ProtocolError(text, code: code)))
    }

    private mutating func send(_ socket: SocketID, _ frame: Frame) { expected[socket]?.append(frame) }

    private mutating func recordWebhookEvent(_ key: ChannelKey, _ event: WebhookEvent) {
        guard rules[key.app].webhooks.contains(event.kind), !key.channel.text.hasPrefix("#") else { return }
        webhookEvents.append(AppWebhookEvent(app: key.app, event))
    }
}
