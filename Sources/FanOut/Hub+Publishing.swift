import PusherProtocol

/// Events of backends and of clients.
extension Hub {
    mutating func publish(
        _ publication: Publication, _ app: AppIndex, except sender: SocketID?, _ effects: inout [Effect]
    ) {
        // K5: kept whomever it excludes, and whether or not anybody listens.
        if publication.channel.isCache { apps[app].cache.keep(publication.frame, on: publication.channel, at: now) }
        guard let slot = apps[app].slots[publication.channel] else { return }
        fanOut(publication.frame, on: slot, except: sender, &effects)
    }

    func pass(_ event: ClientEvent, from socket: SocketID, on name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard let slot = apps[self[socket].app].slots[name],
            let membership = self[socket].memberships.first(where: { $0.slot == slot })
        else {
            let text = "Cannot broadcast client event (connection not subscribed to channel \(name.text))"
            return refuse(socket, text, &effects)
        }
        fanOut(
            ServerMessage.clientEvent(event, channel: name, userID: membership.userID), on: slot, except: socket, &effects)
    }

    // MARK: Questions

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

    /// Connections of an application.
    package func connectionCount(app: AppIndex) -> Int { apps[app].connectionCount }

    /// Cached events that went before their time, for want of room, in all applications.
    package var cacheEvictions: Int { apps.reduce(0) { $0 + $1.cache.evictions } }

    private func occupancy(of channel: Channel) -> Occupancy {
        Occupancy(subscriptions: channel.subscriberCount, users: channel.presence?.count)
    }
}
