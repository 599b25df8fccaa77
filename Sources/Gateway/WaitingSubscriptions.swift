import FanOut
import PusherProtocol

/// A loop's subscriptions that wait until events of the cluster's other nodes reach this one.
struct WaitingSubscriptions {
    private struct Key: Hashable {
        let app: AppIndex
        let channel: ChannelName
    }

    private var waiting: [Key: [(socket: SocketID, grant: SubscriptionGrant)]] = [:]

    /// - Returns: false if the connection waits for this channel already.
    mutating func add(_ socket: SocketID, _ grant: SubscriptionGrant, app: AppIndex) -> Bool {
        let key = Key(app: app, channel: grant.channel)
        guard waiting[key]?.contains(where: { $0.socket == socket }) != true else { return false }
        waiting[key, default: []].append((socket, grant))
        return true
    }

    /// Ends the wait of a subscription, because the client unsubscribes.
    /// - Returns: false if none waits.
    mutating func cancel(_ socket: SocketID, _ channel: ChannelName, app: AppIndex) -> Bool {
        let key = Key(app: app, channel: channel)
        guard let index = waiting[key]?.firstIndex(where: { $0.socket == socket }) else { return false }
        waiting[key]?.remove(at: index)
        if waiting[key]?.isEmpty == true { waiting[key] = nil }
        return true
    }

    /// The number of subscriptions that wait for a channel.
    func count(_ channel: ChannelName, app: AppIndex) -> Int { waiting[Key(app: app, channel: channel)]?.count ?? 0 }

    /// Removes and returns a subscription to a channel, to open it; nil if none waits. Its connection may have closed.
    mutating func popLast(_ channel: ChannelName, app: AppIndex) -> (socket: SocketID, grant: SubscriptionGrant)? {
        let key = Key(app: app, channel: channel)
        guard let subscription = waiting[key]?.popLast() else { return nil }
        if waiting[key]?.isEmpty == true { waiting[key] = nil }
        return subscription
    }
}
