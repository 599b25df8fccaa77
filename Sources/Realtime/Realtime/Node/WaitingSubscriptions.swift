import FanOut
import PusherProtocol

/// A loop's subscriptions that wait until events of the cluster's other nodes reach this one.
struct WaitingSubscriptions {
    private struct Key: Hashable {
        let app: AppIndex
        let channel: ChannelName
    }

    /// The subscriptions that wait for a channel. Found by their connections: a channel may have thousands.
    private struct Subscriptions {
        var sockets = IndexedList<SocketID>()
        var grants: [SocketID: SubscriptionGrant] = [:]
    }

    private var waiting: [Key: Subscriptions] = [:]

    /// - Returns: false if the connection waits for this channel already.
    mutating func add(_ socket: SocketID, _ grant: SubscriptionGrant, app: AppIndex) -> Bool {
        let key = Key(app: app, channel: grant.channel)
        guard waiting[key]?.grants[socket] == nil else { return false }
        waiting[key, default: Subscriptions()].sockets.append(socket)
        waiting[key]?.grants[socket] = grant
        return true
    }

    /// Ends the wait of a subscription, because the client unsubscribes.
    /// - Returns: false if none waits.
    mutating func cancel(_ socket: SocketID, _ channel: ChannelName, app: AppIndex) -> Bool {
        let key = Key(app: app, channel: channel)
        return remove(socket, key) != nil
    }

    /// The number of subscriptions that wait for a channel.
    func count(_ channel: ChannelName, app: AppIndex) -> Int { waiting[Key(app: app, channel: channel)]?.sockets.count ?? 0 }

    /// Removes and returns a subscription to a channel, to open it; nil if none waits. Its connection may have closed.
    mutating func popLast(_ channel: ChannelName, app: AppIndex) -> (socket: SocketID, grant: SubscriptionGrant)? {
        let key = Key(app: app, channel: channel)
        guard let socket = waiting[key]?.sockets.elements.last, let grant = remove(socket, key) else { return nil }
        return (socket, grant)
    }

    private mutating func remove(_ socket: SocketID, _ key: Key) -> SubscriptionGrant? {
        guard let grant = waiting[key]?.grants.removeValue(forKey: socket) else { return nil }
        _ = waiting[key]?.sockets.remove(socket)
        if waiting[key]?.sockets.isEmpty == true { waiting[key] = nil }
        return grant
    }
}
