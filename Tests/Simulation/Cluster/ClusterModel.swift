import PusherProtocol

/// The naive hub: one list of subscriptions for all nodes, which begin with the client's success.
struct ClusterModel {
    struct Subscription {
        let socket: SocketID
        let node: Int
        let channel: ChannelName
        /// The member's user id; nil unless on a presence channel.
        let userID: String?
        let since: Int64
        /// Whether events of all nodes reach it.
        var isComplete: Bool
        /// The members as the client knows them.
        var members: Set<String> = []
        /// The number of subscribers that the client knows.
        var count: Int?
    }

    struct Membership: Hashable {
        let channel: ChannelName
        let userID: String
    }

    /// In the order of the successes.
    private(set) var subscriptions: [Subscription] = []
    /// When a member was absent last, until a time or still.
    private var absences: [Membership: Int64] = [:]
    /// When a member left last.
    private var departures: [Membership: Int64] = [:]

    func index(_ socket: SocketID, _ channel: ChannelName) -> Int? {
        subscriptions.firstIndex { $0.socket == socket && $0.channel == channel }
    }

    subscript(index: Int) -> Subscription {
        get { subscriptions[index] }
        set { subscriptions[index] = newValue }
    }

    func subscribers(of channel: ChannelName) -> [Subscription] { subscriptions.filter { $0.channel == channel } }

    func members(of channel: ChannelName) -> Set<String> { Set(subscribers(of: channel).compactMap(\.userID)) }

    // MARK: Changes

    mutating func add(_ subscription: Subscription, at now: Int64) {
        if let userID = subscription.userID, !members(of: subscription.channel).contains(userID) {
            absences[Membership(channel: subscription.channel, userID: userID)] = now
        }
        subscriptions.append(subscription)
    }

    mutating func remove(at now: Int64, where isGone: (Subscription) -> Bool) {
        let gone = subscriptions.filter(isGone)
        subscriptions.removeAll(where: isGone)
        for subscription in gone {
            guard let userID = subscription.userID, !members(of: subscription.channel).contains(userID) else { continue }
            departures[Membership(channel: subscription.channel, userID: userID)] = now
        }
    }

    /// Calls `body` with the subscriptions that it may change.
    mutating func change(_ body: (inout Subscription) -> Void) {
        for index in subscriptions.indices { body(&subscriptions[index]) }
    }

    /// Whether the user was no member at some time since `start`.
    func wasAbsent(_ userID: String, _ channel: ChannelName, since start: Int64) -> Bool {
        guard members(of: channel).contains(userID) else { return true }
        return absences[Membership(channel: channel, userID: userID), default: 0] >= start
    }

    /// Whether the user has been no member since `start`.
    func hasLeft(_ userID: String, _ channel: ChannelName, before start: Int64) -> Bool {
        !members(of: channel).contains(userID)
            && departures[Membership(channel: channel, userID: userID), default: 0] < start
    }
}
