import PusherProtocol

/// What may be asked of the hub. Answers are values: nothing is encoded under the lock.
extension Hub {
    /// Whether an application may have one more connection.
    package func hasRoomForConnection(app: AppIndex) -> Bool {
        let limit = apps[app].rules.limits.connections
        return limit == 0 || apps[app].connectionCount < limit
    }

    /// Which loops hold subscribers of a channel: those that a publish needs room on.
    package func loops(of channel: ChannelName, app: AppIndex) -> LoopSet {
        apps[app].slots[channel].map { channels[$0].loops } ?? []
    }

    /// What can be asked of an occupied channel.
    package struct Occupancy: Equatable, Sendable {
        /// Connections subscribed.
        package let subscriptions: Int
        /// Distinct users; on presence channels only.
        package let users: Int?
    }

    /// Nil for a channel that nobody is subscribed to.
    package func occupancy(of channel: ChannelName, app: AppIndex) -> Occupancy? {
        apps[app].slots[channel].map { occupancy(of: channels[$0]) }
    }

    /// All occupied channels of an application whose names begin with `prefix`, by name; those that belong to a single
    /// user are nobody else's business.
    package func occupiedChannels(app: AppIndex, prefix: String) -> [(name: String, occupancy: Occupancy)] {
        apps[app].slots.filter { $0.key.text.hasPrefix(prefix) && !$0.key.text.hasPrefix("#") }
            .map { ($0.key.text, occupancy(of: channels[$0.value])) }
            .sorted { $0.0 < $1.0 }
    }

    /// The ids of a presence channel's members, in the order of joining; empty for one that nobody is subscribed to.
    package func userIDs(on channel: ChannelName, app: AppIndex) -> [String] {
        apps[app].slots[channel].flatMap { channels[$0].presence?.members.map(\.id) } ?? []
    }

    /// The event that a cache channel holds, and for how many seconds more.
    package func cachedEvent(on channel: ChannelName, app: AppIndex) -> (frame: Frame, secondsLeft: Int)? {
        apps[app].cache.event(on: channel, at: now).map { ($0.frame, Int(($0.expiry - now + 999) / 1000)) }
    }

    /// How much an application has of everything: connections, occupied channels, subscriptions, signed-in users.
    package struct AppStatistics: Equatable, Sendable {
        package let connections: Int
        package let channels: Int
        package let subscriptions: Int
        package let users: Int
    }

    /// Counts what an application has; takes time in proportion to its channels.
    package func statistics(app: AppIndex) -> AppStatistics {
        AppStatistics(
            connections: apps[app].connectionCount, channels: apps[app].slots.count,
            subscriptions: apps[app].slots.values.reduce(0) { $0 + channels[$1].subscriberCount },
            users: apps[app].users.count)
    }

    /// Connections of an application.
    package func connectionCount(app: AppIndex) -> Int { apps[app].connectionCount }

    /// Cached events that went before their time, for want of room, in all applications.
    package var cacheEvictions: Int { apps.reduce(0) { $0 + $1.cache.evictions } }

    private func occupancy(of channel: Channel) -> Occupancy {
        Occupancy(subscriptions: channel.subscriberCount, users: channel.presence?.count)
    }
}
