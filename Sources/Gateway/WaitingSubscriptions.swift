import FanOut
import Primitives
import PusherProtocol

/// A loop's subscriptions that wait until events of the cluster's other nodes reach this one.
struct WaitingSubscriptions {
    private struct Key: Hashable {
        let app: AppIndex
        let channel: ChannelName
    }

    private var waiting: [Key: [(socket: SocketID, grant: SubscriptionGrant)]] = [:]
    private var released = FIFO<(SocketID, SubscriptionGrant)>()

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

    /// The subscriptions to a channel may be opened.
    mutating func release(_ channel: ChannelName, app: AppIndex) {
        for subscription in waiting.removeValue(forKey: Key(app: app, channel: channel)) ?? [] {
            released.append((subscription.socket, subscription.grant))
        }
    }

    /// The next subscription to open. Its connection may have closed.
    mutating func popReleased() -> (socket: SocketID, grant: SubscriptionGrant)? { released.popFirst() }
}
