import PusherProtocol

/// Queries. They return values, which the caller encodes after it has unlocked the hub, so that the lock is held only
/// briefly.
extension Hub {
    /// The event loops with subscribers of a channel. The caller publishes to the channel only if the mailboxes of
    /// these loops have room.
    package func loops(of channel: ChannelName, app: AppIndex) -> LoopSet {
        apps[app].slots[channel].map { channels[$0].loops } ?? []
    }

    /// The size of an occupied channel.
    package struct Occupancy: Equatable, Sendable {
        /// The number of subscribed connections.
        package let subscriptions: Int
        /// The number of distinct users; nil unless this is a presence channel.
        package let users: Int?

        package init(subscriptions: Int, users: Int?) {
            self.subscriptions = subscriptions
            self.users = users
        }
    }

    /// Whether a connection of this node is open.
    package func hasConnection(_ socket: SocketID) -> Bool { isOpen(socket) }

    /// Whether a connection is subscribed to a channel.
    package func isSubscribed(_ socket: SocketID, to channel: ChannelName) -> Bool {
        guard isOpen(socket), let slot = apps[self[socket].app].slots[channel] else { return false }
        return self[socket].subscriptions.contains(slot)
    }

    /// A channel's occupancy; nil if the channel has no subscribers.
    package func occupancy(of channel: ChannelName, app: AppIndex) -> Occupancy? {
        apps[app].slots[channel].map { occupancy(of: channels[$0]) }
    }

    /// Whether a channel has subscribers.
    package func isOccupied(_ channel: ChannelName, app: AppIndex) -> Bool { apps[app].slots[channel] != nil }

    /// An application's occupied channels whose names begin with `prefix`, sorted by name. Leaves out the private
    /// channels (`#…`).
    ///
    /// All channels are searched, ``slotsPerSlice`` at a time. The list is not a snapshot: each slice shows the hub at
    /// the time of its read.
    /// - Parameter read: passes the hub to its argument. The caller locks the hub only while `read` runs, once for each
    ///   slice.
    package static func occupiedChannels(
        app: AppIndex, prefix: String, read: (_ body: (Hub) -> Void) -> Void
    ) -> [(name: String, occupancy: Occupancy)] {
        var list: [(name: String, occupancy: Occupancy)] = []
        // Memory is allocated here, not while the hub is locked.
        var slice: [(name: String, occupancy: Occupancy)] = []
        slice.reserveCapacity(slotsPerSlice)
        var (start, end) = (0, 0)
        repeat {
            read { hub in
                end = hub.channels.count
                hub.appendOccupiedChannels(app, prefix, slots: start..<max(start, min(start + slotsPerSlice, end)), to: &slice)
            }
            list += slice
            slice.removeAll(keepingCapacity: true)
            start += slotsPerSlice
        } while start < end
        list.sort { $0.name < $1.name }
        // A channel that was vacated and occupied again between two reads may have been found in both slots.
        var previous: String?
        list.removeAll { entry in
            defer { previous = entry.name }
            return entry.name == previous
        }
        return list
    }

    /// The number of channels that ``occupiedChannels(app:prefix:read:)`` searches at a time: a fraction of a
    /// millisecond.
    package static let slotsPerSlice = 4_096

    private func appendOccupiedChannels(
        _ app: AppIndex, _ prefix: String, slots: Range<ChannelSlot>, to list: inout [(name: String, occupancy: Occupancy)]
    ) {
        for slot in slots where channels[slot].app == app && !channels[slot].loops.isEmpty {
            let name = channels[slot].name.text
            guard name.utf8.starts(with: prefix.utf8), name.utf8.first != UInt8(ascii: "#") else { continue }
            list.append((name, occupancy(of: channels[slot])))
        }
    }

    /// The user ids of a presence channel's members, in the order of joining; empty if the channel has no subscribers.
    package func userIDs(on channel: ChannelName, app: AppIndex) -> [String] {
        apps[app].slots[channel].flatMap { channels[$0].presence?.userIDs } ?? []
    }

    /// A function that finds ``userIDs(on:app:)`` as they are now. For many members this takes long, so call it when the hub
    /// is unlocked.
    package func findUserIDs(on channel: ChannelName, app: AppIndex) -> @Sendable () -> [String] {
        guard let slot = apps[app].slots[channel], let presence = channels[slot].presence else { return { [] } }
        return presence.findUserIDs
    }

    /// A cache channel's event and its remaining lifetime in seconds, rounded up; nil if the channel has no event.
    package func cachedEvent(on channel: ChannelName, app: AppIndex) -> (frame: Frame, secondsLeft: Int)? {
        apps[app].cache.event(on: channel, at: now).map { ($0.frame, Int(($0.expiry - now + 999) / 1000)) }
    }

    /// The channels that have a cached event.
    package func cachedChannels(app: AppIndex) -> [ChannelName] { apps[app].cache.channels }

    /// A cache channel's event and the rest of its lifetime in milliseconds; nil if the channel has none.
    package func cachedCopy(on channel: ChannelName, app: AppIndex) -> (frame: Frame, millisecondsLeft: Int64)? {
        apps[app].cache.event(on: channel, at: now).map { ($0.frame, $0.expiry - now) }
    }

    /// The current numbers of an application.
    package struct AppStatistics: Equatable, Sendable {
        /// The number of open connections.
        package let connections: Int
        /// The number of channels with at least one subscriber.
        package let channels: Int
        /// The number of subscriptions of all connections.
        package let subscriptions: Int
        /// The number of users with at least one signed-in connection.
        package let users: Int
    }

    /// The statistics of an application.
    package func statistics(app: AppIndex) -> AppStatistics {
        AppStatistics(
            connections: apps[app].connectionCount, channels: apps[app].slots.count,
            subscriptions: apps[app].subscriptionCount, users: apps[app].users.count)
    }

    /// The number of an application's connections.
    package func connectionCount(app: AppIndex) -> Int { apps[app].connectionCount }

    /// The number of events evicted before they expired, from the caches of all applications.
    package var cacheEvictions: Int { apps.reduce(0) { $0 + $1.cache.evictions } }

    func occupancy(of channel: Channel) -> Occupancy {
        Occupancy(subscriptions: channel.subscriberCount, users: channel.presence?.count)
    }
}
