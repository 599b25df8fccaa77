import FanOut
import PusherProtocol

/// The expected query results. The model computes them by searching all connections.
extension ReferenceModel {
    /// The connection's channels.
    func channels(of socket: SocketID) -> [ChannelName] { connections[socket]?.subscriptions.map(\.channel) ?? [] }

    /// The connection's signed-in user.
    func user(of socket: SocketID) -> SignedInUser? { connections[socket]?.user }

    func subscribers(of key: ChannelKey) -> [SocketID] {
        var sockets: [SocketID] = []
        for (socket, connection) in connections where connection.app == key.app {
            for subscription in connection.subscriptions where subscription.channel == key.channel { sockets.append(socket) }
        }
        return sockets
    }

    func distinctUsers(on key: ChannelKey) -> Set<String> {
        var users: Set<String> = []
        for connection in connections.values where connection.app == key.app {
            for subscription in connection.subscriptions where subscription.channel == key.channel {
                if let member = subscription.member { users.insert(member.id) }
            }
        }
        return users
    }

    var subscriptionCount: Int { connections.values.reduce(0) { $0 + $1.subscriptions.count } }

    /// An application's channels with subscribers.
    func occupied(app: AppIndex) -> Set<ChannelName> {
        var names: Set<ChannelName> = []
        for connection in connections.values where connection.app == app {
            names.formUnion(connection.subscriptions.map(\.channel))
        }
        return names
    }

    func connectionCount(app: AppIndex) -> Int { connections.values.reduce(0) { $0 + ($1.app == app ? 1 : 0) } }

    func hasRoomForConnection(app: AppIndex) -> Bool {
        let limit = rules[app].limits.connections
        return limit == 0 || connectionCount(app: app) < limit
    }
}

/// The expected content of an application's event cache: a list, oldest event first.
struct CachedEvents {
    let bytesMax: Int
    private(set) var events: [(channel: ChannelName, frame: Frame, expiry: Int64)] = []
    /// Events evicted because the cache was full.
    private(set) var evictions = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    func event(on channel: ChannelName) -> (frame: Frame, expiry: Int64)? {
        events.first { $0.channel == channel }.map { ($0.frame, $0.expiry) }
    }

    mutating func store(_ frame: Frame, on channel: ChannelName, at now: Int64) {
        events.removeAll { $0.channel == channel }
        events.append((channel, frame, now + 30 * 60 * 1000))
        while bytes > bytesMax {
            events.removeFirst()
            evictions += 1
        }
    }

    mutating func expire(at now: Int64) { events.removeAll { $0.expiry <= now } }

    /// The size of the cache. Each event counts with its frame, its channel's name and 128 bytes of overhead.
    private var bytes: Int { events.reduce(0) { $0 + $1.frame.bytes.count + $1.channel.text.utf8.count + 128 } }
}
