import FanOut
import PusherProtocol

/// The naive model of the hub: lists of connections and channels, searched linearly. Computes the bytes that each
/// connection must receive.
struct Model {
    struct Connection {
        let socket: SocketID
        let app: Int
        var subscriptions: [(channel: ChannelName, member: PresenceMember?)] = []
        var user: SignedInUser?
        var sent: [UInt8] = []
    }

    /// The members of a presence channel, and the cached event of a cache channel.
    private struct ChannelState {
        var members: [PresenceMember] = []
        /// The event with the lowest serial number is the oldest.
        var event: (frame: Frame, expiry: Int64, serial: Int)?
    }

    let apps: [AppRules]
    var connections: [Connection] = []
    private(set) var terminated: Set<SocketID> = []
    private(set) var evictions = 0
    private var channels: [[ChannelName: ChannelState]]
    private var now: Int64 = 0
    private var cachedCount = 0

    init(_ apps: [AppRules]) {
        self.apps = apps
        channels = apps.map { _ in [:] }
    }

    // MARK: Queries

    /// The indices of a channel's subscribers in ``connections``.
    func subscribers(of name: ChannelName, _ app: Int) -> [Int] {
        connections.indices.filter { index in
            connections[index].app == app && connections[index].subscriptions.contains { $0.channel == name }
        }
    }

    func users(on name: ChannelName, _ app: Int) -> [String] { channels[app][name]?.members.map(\.id) ?? [] }

    func event(on name: ChannelName, _ app: Int) -> Frame? { channels[app][name]?.event?.frame }

    private func signedIn(_ id: String, _ app: Int) -> [Int] {
        connections.indices.filter { connections[$0].app == app && connections[$0].user?.id == id }
    }

    private func watchers(of id: String, _ app: Int) -> [Int] {
        connections.indices.filter { connections[$0].app == app && connections[$0].user?.watchlist.contains(id) == true }
    }

    // MARK: Channels

    mutating func subscribe(_ index: Int, _ name: ChannelName, as member: PresenceMember?) {
        let app = connections[index].app
        let members = channels[app][name, default: ChannelState()].members
        let isNew = member.map { member in !members.contains { $0.id == member.id } } ?? false
        let limit = apps[app].limits.presenceMembers
        if connections[index].subscriptions.contains(where: { $0.channel == name }) {
            return reject(index, "Existing subscription to channel \(name.text)")
        }
        if isNew, members.count >= limit {
            return reject(index, "Channel \(name.text) is full: the limit is \(limit) members", code: 4009)
        }
        let subscriptionsMax = apps[app].limits.subscriptions
        if connections[index].subscriptions.count >= subscriptionsMax {
            return reject(
                index, "Cannot subscribe to channel \(name.text): the limit is \(subscriptionsMax) channels per connection")
        }
        connections[index].subscriptions.append((name, member))
        if let member {
            if isNew { channels[app][name, default: ChannelState()].members.append(member) }
            send(index, ServerMessage.subscriptionSucceeded(name, members: channels[app][name, default: ChannelState()].members))
        } else {
            send(index, ServerMessage.subscriptionSucceeded(name))
        }
        if name.isCache { send(index, event(on: name, app) ?? ServerMessage.cacheMiss(name)) }
        if isNew, let member { sendAll(name, app, except: connections[index].socket, ServerMessage.memberAdded(name, member)) }
        count(name, app)
    }

    mutating func unsubscribe(_ index: Int, _ name: ChannelName) {
        guard let position = connections[index].subscriptions.firstIndex(where: { $0.channel == name }) else {
            return reject(index, "No current subscription to channel \(name.text), or subscription in progress")
        }
        let app = connections[index].app
        // The last subscription takes the place of the one that ends.
        connections[index].subscriptions.swapAt(position, connections[index].subscriptions.count - 1)
        let left = connections[index].subscriptions.removeLast()
        let others = subscribers(of: name, app).flatMap { connections[$0].subscriptions }.filter { $0.channel == name }
        if let id = left.member?.id, !others.contains(where: { $0.member?.id == id }) {
            channels[app][name]?.members.removeAll { $0.id == id }
            sendAll(name, app, ServerMessage.memberRemoved(name, userID: id))
        }
        count(name, app)
    }

    mutating func close(_ index: Int) -> Connection {
        for subscription in connections[index].subscriptions { unsubscribe(index, subscription.channel) }
        let closed = connections.remove(at: index)
        if let id = closed.user?.id, signedIn(id, closed.app).isEmpty {
            for watcher in watchers(of: id, closed.app) {
                send(watcher, ServerMessage.watchlistEvents(online: [], offline: [id]))
            }
        }
        return closed
    }

    private mutating func count(_ name: ChannelName, _ app: Int) {
        guard apps[app].subscriptionCounts, !name.isPresence else { return }
        sendAll(name, app, ServerMessage.subscriptionCount(name, subscribers(of: name, app).count))
    }

    // MARK: Events

    mutating func publish(_ frame: Frame, on name: ChannelName, _ app: Int, except sender: SocketID?) {
        if name.isCache {
            cachedCount += 1
            channels[app][name, default: ChannelState()].event = (frame, now + 1_800_000, cachedCount)
            while cachedBytes(app) > apps[app].limits.cacheBytes {
                let oldest = channels[app].filter { $0.value.event != nil }.min {
                    $0.value.event?.serial ?? 0 < $1.value.event?.serial ?? 0
                }
                guard let oldest else { break }
                channels[app][oldest.key]?.event = nil
                evictions += 1
            }
        }
        sendAll(name, app, except: sender, frame)
    }

    private func cachedBytes(_ app: Int) -> Int {
        channels[app].reduce(0) { bytes, channel in
            bytes + (channel.value.event.map { $0.frame.bytes.count + channel.key.text.utf8.count + 128 } ?? 0)
        }
    }

    mutating func sendClientEvent(_ index: Int, _ event: ClientEvent, on name: ChannelName) {
        guard let own = connections[index].subscriptions.first(where: { $0.channel == name }) else {
            return reject(index, "Cannot broadcast client event (connection not subscribed to channel \(name.text))")
        }
        let frame = ServerMessage.clientEvent(event, channel: name, userID: own.member?.id)
        sendAll(name, connections[index].app, except: connections[index].socket, frame)
    }

    /// Advances the time and removes expired events.
    /// - Returns: the new time in milliseconds.
    mutating func tick(_ milliseconds: Int64) -> Int64 {
        now += milliseconds
        for app in channels.indices {
            for (name, channel) in channels[app] where channel.event.map({ $0.expiry <= now }) == true {
                channels[app][name]?.event = nil
            }
        }
        return now
    }

    // MARK: Users

    mutating func signin(_ index: Int, _ user: SignedInUser) {
        let (socket, app) = (connections[index].socket, connections[index].app)
        guard connections[index].user == nil else {
            return reject(index, "Already signed in: a connection cannot change its user", code: 4009)
        }
        connections[index].user = user
        send(index, ServerMessage.signinSuccess(user))
        if !user.watchlist.isEmpty {
            let online = user.watchlist.filter { !signedIn($0, app).isEmpty }
            let offline = user.watchlist.filter { signedIn($0, app).isEmpty }
            send(index, ServerMessage.watchlistEvents(online: online, offline: offline))
        }
        guard signedIn(user.id, app).count == 1 else { return }
        for watcher in watchers(of: user.id, app) where connections[watcher].socket != socket {
            send(watcher, ServerMessage.watchlistEvents(online: [user.id], offline: []))
        }
    }

    mutating func terminate(_ id: String, _ app: Int) { terminated.formUnion(signedIn(id, app).map { connections[$0].socket }) }

    // MARK: Sending

    private mutating func send(_ index: Int, _ frame: Frame) { connections[index].sent.append(contentsOf: frame.bytes) }

    private mutating func sendAll(_ name: ChannelName, _ app: Int, except sender: SocketID? = nil, _ frame: Frame) {
        for index in subscribers(of: name, app) where connections[index].socket != sender { send(index, frame) }
    }

    private mutating func reject(_ index: Int, _ text: String, code: Int? = nil) {
        send(index, ServerMessage.error(ProtocolError(text, code: code)))
    }
}
