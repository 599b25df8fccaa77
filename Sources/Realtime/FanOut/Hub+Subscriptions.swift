import PusherProtocol

/// Subscribing and unsubscribing, and the events that follow.
extension Hub {
    mutating func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        let app = self[socket].app
        let name = grant.channel
        let limits = apps[app].rules.limits
        if !grant.isLegacy, let denial = denial(of: socket, joining: name) {
            if denial.reason != .notSignedIn || !keep(grant, of: socket) { refuse(name, app, because: denial.reason) }
            // At a code from 4000 to 4099, some stock clients close the connection, which ends their other subscriptions. As
            // the hosted service has no plain channels that refuse, it has no code to imitate.
            return sendError(socket, denial.text, code: name.access == .open ? nil : 4009, &effects)
        }
        if !self[socket].keptNames.isEmpty { _ = forgetKeptName(name, of: socket) }
        let occupied = apps[app].slots[name]
        if let slot = occupied {
            guard !self[socket].subscriptions.contains(slot) else {
                return sendError(socket, "Existing subscription to channel \(name.text)", &effects)
            }
            guard hasRoom(for: grant.member, in: channels[slot]) else {
                refusedSubscriptions.presenceMembers += 1
                refuse(name, app, because: .members)
                let text = "Channel \(name.text) is full: the limit is \(limits.presenceMembers) members"
                return sendError(socket, text, code: 4009, &effects)
            }
        }
        guard self[socket].subscriptions.count < limits.subscriptions else {
            refusedSubscriptions.subscriptions += 1
            refuse(name, app, because: .limit)
            let text = "Cannot subscribe to channel \(name.text): the limit is \(limits.subscriptions) channels per connection"
            return sendError(socket, text, &effects)
        }
        if let limit = exceededLimit(app, isNewChannel: occupied == nil) {
            refuse(name, app, because: .limit)
            // Without a code: at an error with a code, stock clients would close the connection.
            let text = "Cannot subscribe to channel \(name.text): the application has reached its limit of \(limit)"
            return sendError(socket, text, &effects)
        }
        let slot = occupied ?? occupy(name, app)
        self[socket].subscriptions.append(slot)
        if let member = grant.member { self[socket].memberIDs[slot] = member.id }
        channels[slot].add(loop: socket.loop)
        if self[socket].isAnonymous { channels[slot].anonymousCount += 1 }
        apps[app].subscriptionCount += 1
        let joined = grant.isLegacy ? addLegacy(socket, to: slot) : slot
        effects.append(Effect(loop: socket.loop, instruction: .join(joined, socket)))
        confirmSubscription(socket, to: slot, as: grant.member, &effects)
        sendOrScheduleCount(slot, &effects)
        if tellsGateOfSubscriptions, var gate = takeGate() {
            gate.subscribed(to: name, app: app, &self, &effects)
            put(gate)
        }
    }

    private func denial(of socket: SocketID, joining channel: ChannelName) -> SubscriptionDenial? {
        guard !gates.isEmpty else { return nil }
        let subscriber = Subscriber(socket: socket, app: self[socket].app, user: self[socket].user)
        return gates[0].denial(of: subscriber, joining: channel)
    }

    mutating func unsubscribe(_ socket: SocketID, from name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        guard let slot = apps[self[socket].app].slots[name], self[socket].subscriptions.remove(slot) else {
            if forgetKeptName(name, of: socket) { return }
            return sendError(socket, "No current subscription to channel \(name.text), or subscription in progress", &effects)
        }
        leave(slot, socket, &effects)
    }

    /// Ends a subscription. The caller has removed it, or will remove it, from the connection's list.
    mutating func leave(_ slot: ChannelSlot, _ socket: SocketID, _ effects: inout [Effect]) {
        apps[channels[slot].app].subscriptionCount -= 1
        let joined = removeLegacy(socket, from: slot)
        channels[slot].remove(loop: socket.loop)
        if self[socket].isAnonymous { channels[slot].anonymousCount -= 1 }
        effects.append(Effect(loop: socket.loop, instruction: .leave(joined, socket)))
        let userID = channels[slot].presence == nil ? nil : self[socket].memberIDs.removeValue(forKey: slot)
        if let userID, let change = channels[slot].presence?.leave(userID, departure: isClustered ? lastDeparture + 1 : nil) {
            left(userID, slot, change, &effects)
        }
        if channels[slot].loops.isEmpty {
            recordWebhookEvent(.channelVacated, on: slot, WebhookEvent.channelVacated)
            vacate(slot)
        } else {
            sendOrScheduleCount(slot, &effects)
        }
    }

    private mutating func left(_ userID: String, _ slot: ChannelSlot, _ change: Presence.Change, _ effects: inout [Effect]) {
        if change.isLocalEdge { recordClusterChange(of: slot) { .memberLeft($0, userID: userID) } }
        guard change.isEdge else { return }
        if isClustered { depart(userID, channels[slot].name, channels[slot].app) } else { removed(userID, slot, &effects) }
    }

    mutating func removed(_ userID: String, _ slot: ChannelSlot, _ effects: inout [Effect]) {
        fanOut(ServerMessage.memberRemoved(channels[slot].name, userID: userID), on: slot, &effects)
        recordWebhookEvent(.memberRemoved, on: slot) { .memberRemoved($0, userID: userID) }
    }

    private mutating func recordCount(_ slot: ChannelSlot) {
        let (name, app) = (channels[slot].name, channels[slot].app)
        guard apps[app].rules.reportsShares, name.text.utf8.first != UInt8(ascii: "#") else { return }
        clusterChanges.append((app, .count(name, channels[slot].subscriberCount)))
    }

    private mutating func vacate(_ slot: ChannelSlot) {
        if isClustered { recordCount(slot) }
        let (name, app) = (channels[slot].name, channels[slot].app)
        recordClusterChange(of: slot, ClusterChange.vacated)
        channels[slot].presence?.settleAll()
        if let presence = channels[slot].presence, presence.count > 0 { apps[app].remoteMembers[name] = presence }
        apps[app].slots[name] = nil
        free(slot)
    }

    private mutating func occupy(_ name: ChannelName, _ app: AppIndex) -> ChannelSlot {
        let slot = add(Channel(name: name, app: app))
        apps[app].slots[name] = slot
        if let remote = apps[app].remoteMembers.removeValue(forKey: name) { channels[slot].presence = remote }
        recordClusterChange(of: slot, ClusterChange.occupied)
        recordWebhookEvent(.channelOccupied, on: slot, WebhookEvent.channelOccupied)
        return slot
    }

    /// Sends the subscriber `subscription_succeeded`, with the member list on a presence channel. On a cache channel
    /// the cached event or `cache_miss` follows. If the user is a new member, the other subscribers get `member_added`.
    private mutating func confirmSubscription(
        _ socket: SocketID, to slot: ChannelSlot, as member: PresenceMember?, _ effects: inout [Effect]
    ) {
        let name = channels[slot].name
        let change = member.flatMap { channels[slot].presence?.join($0) }
        if let list = channels[slot].presence?.list(named: name, presenceLists) {
            effects.append(Effect(loop: socket.loop, instruction: .sendPresence(list, to: socket)))
        } else {
            send(socket, ServerMessage.subscriptionSucceeded(name), &effects)
        }
        if name.isCache {
            let last = apps[channels[slot].app].cache.event(on: name, at: now)
            let names = hiddenMembers(from: socket, on: name)
            let frame = names.isEmpty ? last?.frame : last.map { ServerMessage.event($0.frame, on: name, hiding: names) }
            send(socket, frame ?? ServerMessage.cacheMiss(name), &effects)
            if last == nil { recordWebhookEvent(.cacheMiss, on: slot, WebhookEvent.cacheMiss) }
        }
        guard let member, let change else { return }
        if change.isLocalEdge { recordClusterChange(of: slot) { .memberJoined($0, member) } }
        if change.isEdge {
            fanOut(ServerMessage.memberAdded(name, member), on: slot, except: socket, &effects)
            recordWebhookEvent(.memberAdded, on: slot) { .memberAdded($0, userID: member.id) }
        }
    }

    /// Whether a subscription stays within the channel's limit of members (protocol point R9). Another connection of a
    /// current member adds no member, so it is always permitted.
    private func hasRoom(for member: PresenceMember?, in channel: Channel) -> Bool {
        guard let member, let presence = channel.presence else { return true }
        return presence.contains(member.id) || presence.count < apps[channel.app].rules.limits.presenceMembers
    }

    /// Counts the application's limit that one more subscription, or watched user, would exceed, and returns it as text; nil
    /// if there is room. A watched user takes as much memory as a channel, and each connection that watches the user as much
    /// as a subscription.
    /// - Parameter addedChannels: the number of channels that are about to be added.
    mutating func exceededLimit(_ app: AppIndex, isNewChannel: Bool, addedChannels: Int = 0) -> String? {
        let limits = apps[app].rules.limits
        let channelCount = apps[app].slots.count + apps[app].users.watchers.count + addedChannels
        if isNewChannel, limits.channels > 0, channelCount >= limits.channels {
            refusedSubscriptions.channels += 1
            return "\(limits.channels) channels"
        }
        let subscriptionCount = apps[app].subscriptionCount + apps[app].watchCount + apps[app].keptNameCount
        if limits.appSubscriptions > 0, subscriptionCount >= limits.appSubscriptions {
            refusedSubscriptions.appSubscriptions += 1
            return "\(limits.appSubscriptions) subscriptions"
        }
        return nil
    }

    // MARK: Subscription counts (protocol point N1)

    /// Sends the channel's new number of subscribers: at once if the channel is small, else when the next interval
    /// starts.
    private mutating func sendOrScheduleCount(_ slot: ChannelSlot, _ effects: inout [Effect]) {
        // In a cluster, the channel's keeper sends the sum over all nodes.
        if isClustered { return recordCount(slot) }
        guard apps[channels[slot].app].rules.subscriptionCounts, !channels[slot].name.isPresence else { return }
        if channels[slot].subscriberCount <= SubscriptionCountThrottle.largestUnthrottledCount {
            sendCount(slot, &effects)
        } else if !channels[slot].countIsDue {
            channels[slot].countIsDue = true
            countThrottle.due.append(slot)
        }
    }

    /// Advances the hub's time. Removes expired cached events and, if an interval starts, sends the
    /// `subscription_count` of the large channels whose count has changed.
    /// - Parameter now: monotonic milliseconds.
    mutating func tick(_ now: Int64, _ effects: inout [Effect]) {
        self.now = max(self.now, now)
        expireEvents()
        releaseMemory()
        settleDepartures(&effects)
        endSignInGraces()
        guard countThrottle.startInterval(at: now) else { return }
        // A channel in the list may have been vacated, and another channel may use its slot now. No count is sent for a
        // vacant slot, or one that was given back. The slot's new channel gets one only if its own `countIsDue` is true.
        for slot in countThrottle.takeDue() where slot < channels.count {
            if channels[slot].countIsDue, !channels[slot].loops.isEmpty { sendCount(slot, &effects) }
        }
    }

    /// The most cached events of all applications that are removed in one tick, because they have expired: some
    /// milliseconds. Those of one second may be hundreds of thousands.
    static let expiriesPerTickMax = 4_000

    private mutating func expireEvents() {
        var left = Self.expiriesPerTickMax
        for offset in apps.indices where left > 0 {
            left -= apps[(firstToExpire + offset) % apps.count].cache.expire(at: now, removalsMax: left)
        }
        firstToExpire = (firstToExpire + 1) % max(1, apps.count)
    }

    private mutating func sendCount(_ slot: ChannelSlot, _ effects: inout [Effect]) {
        let count = channels[slot].subscriberCount
        channels[slot].countIsDue = false
        fanOut(ServerMessage.subscriptionCount(channels[slot].name, count), on: slot, &effects)
        recordWebhookEvent(.subscriptionCount, on: slot) { .subscriptionCount($0, count) }
    }
}
