import PusherProtocol

/// Queries. Results are values: nothing is encoded under the lock.
extension Hub {
    /// Whether an application may have one more connection.
    package func hasRoomForConnection(app: AppIndex) -> Bool {
        let limit = apps[app].rules.limits.connections
        return limit == 0 || apps[app].connectionCount < limit
    }

    /// The loops that hold subscribers of a channel: a publish needs room in their mailboxes.
    package func loops(of channel: ChannelName, app: AppIndex) -> LoopSet {
        apps[app].slots[channel].map { channels[$0].loops } ?? []
    }

    /// The size of an occupied channel.
    package struct Occupancy: Equatable, Sendable {
        /// Connections subscribed.
        package let subscriptions: Int
        /// Distinct users; on presence channels only.
        package let users: Int?
    }

    /// Nil for a channel without subscribers.
    package func occupancy(of channel: ChannelName, app: AppIndex) -> Occupancy? {
        apps[app].slots[channel].map { occupancy(of: channels[$0]) }
    }

    /// An application's occupied channels whose names begin with `prefix`, sorted by name. Leaves out the private
    /// server-to-user channels (`#…`).
    package func occupiedChannels(app: AppIndex, prefix: String) -> [(name: String, occupancy: Occupancy)] {
        apps[app].slots.filter { $0.key.text.hasPrefix(prefix) && !$0.key.text.hasPrefix("#") }
            .map { ($0.key.text, occupancy(of: channels[$0.value])) }
            .sorted { $0.0 < $1.0 }
    }

    /// The user ids of a presence channel's members, in the order of joining; empty without subscribers.
    package func userIDs(on channel: ChannelName, app: AppIndex) -> [String] {
        apps[app].slots[channel].flatMap { channels[$0].presence?.members.map(\.id) } ?? []
    }

    /// A cache channel's event and its remaining lifetime in seconds.
    package func cachedEvent(on channel: ChannelName, app: AppIndex) -> (frame: Frame, secondsLeft: Int)? {
        apps[app].cache.event(on: channel, at: now).map { ($0.frame, Int(($0.expiry - now + 999) / 1000)) }
    }

    /// The current numbers of an application.
    package struct AppStatistics: Equatable, Sendable {
        /// Open connections.
        package let connections: Int
        /// Channels with at least one subscriber.
        package let channels: Int
        /// Subscriptions of all connections.
        package let subscriptions: Int
        /// Users with at least one signed-in connection.
        package let users: Int
    }

    /// The statistics of an application. Linear in its channels.
    package func statistics(app: AppIndex) -> AppStatistics {
        AppStatistics(
            connections: apps[app].connectionCount, channels: apps[app].slots.count,
            subscriptions: apps[app].slots.values.reduce(0) { $0 + channels[$1].subscriberCount },
            users: apps[app].users.count)
    }

    /// The number of an application's connections.
    package func connectionCount(app: AppIndex) -> Int { apps[app].connectionCount }

    /// Events evicted from the caches of all applications before they expired.
    package var cacheEvictions: Int { apps.reduce(0) { $0 + $1.cache.evictions } }

    private func occupancy(of channel: Channel) -> Occupancy {
        Occupancy(subscriptions: channel.subscriberCount, users: channel.presence?.count)
    }
}
