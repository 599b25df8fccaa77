import PusherProtocol

/// Subscriptions of apps that never sign (``Legacy``). They belong to nobody: they confirm nothing, and no
/// push is left out because of them.
///
/// If a rule hides members, its legacy subscribers get other frames than the rest. For the loops they are subscribers of a
/// second channel without a public name, so that each loop encodes an event once for them, whatever their number.
extension Hub {
    /// The legacy subscriptions of a rule.
    package struct LegacyCount: Equatable, Sendable {
        /// The open ones, and the connections that have them.
        package internal(set) var open = 0, connections = 0
        /// Those since the start.
        package internal(set) var total = 0

        /// No subscription so far.
        package init() {}
    }

    /// The legacy subscriptions of an application, by the rule's pattern. A rule that had none is missing.
    package func legacyCounts(app: AppIndex) -> [String: LegacyCount] { apps[app].legacyCounts }

    /// Counts a legacy subscription.
    /// - Returns: the slot that its loop knows: of the channel, or of its subscribers from whom members are hidden.
    mutating func addLegacy(_ socket: SocketID, to slot: ChannelSlot) -> ChannelSlot {
        let app = self[socket].app
        guard let (pattern, legacy) = apps[app].rules.channels?.legacy(of: channels[slot].name) else { return slot }
        let hasOthers = self[socket].legacySlots[pattern] != nil
        self[socket].legacyPatterns[slot] = pattern
        self[socket].legacySlots[pattern, default: IndexedList()].append(slot)
        apps[app].legacyCounts[pattern, default: LegacyCount()].total += 1
        apps[app].legacyCounts[pattern]?.open += 1
        if !hasOthers { apps[app].legacyCounts[pattern]?.connections += 1 }
        guard !legacy.hiddenMembers.isEmpty else { return slot }
        let hidden = apps[app].hiddenSlots[slot] ?? add(Channel(name: .hidden, app: app))
        apps[app].hiddenSlots[slot] = hidden
        channels[hidden].add(loop: socket.loop)
        return hidden
    }

    /// Ends the count of a subscription, if it is a legacy one. Call this while the channel still counts the subscriber:
    /// slots behind the last channel are given back.
    /// - Returns: the slot that its loop knows.
    mutating func removeLegacy(_ socket: SocketID, from slot: ChannelSlot) -> ChannelSlot {
        guard !self[socket].legacyPatterns.isEmpty, let pattern = self[socket].legacyPatterns.removeValue(forKey: slot)
        else { return slot }
        let app = self[socket].app
        apps[app].legacyCounts[pattern]?.open -= 1
        _ = self[socket].legacySlots[pattern]?.remove(slot)
        if self[socket].legacySlots[pattern]?.isEmpty == true {
            self[socket].legacySlots[pattern] = nil
            apps[app].legacyCounts[pattern]?.connections -= 1
        }
        guard let hidden = apps[app].hiddenSlots[slot] else { return slot }
        channels[hidden].remove(loop: socket.loop)
        if channels[hidden].loops.isEmpty {
            apps[app].hiddenSlots[slot] = nil
            free(hidden)
        }
        return hidden
    }

    /// Makes the legacy subscriptions of a connection that has signed in ordinary ones, where its user may subscribe.
    mutating func promoteLegacy(_ socket: SocketID, _ effects: inout [Effect]) {
        guard !self[socket].legacyPatterns.isEmpty else { return }
        for slot in self[socket].legacyPatterns.keys.sorted() where isPermitted(socket, on: channels[slot].name) {
            promoteLegacy(slot, of: socket, &effects)
        }
    }

    /// Whether the connection may have the channel without being an app that never signs.
    private func isPermitted(_ socket: SocketID, on channel: ChannelName) -> Bool {
        guard !gates.isEmpty, let subscriber = subscriber(socket) else { return false }
        return gates[0].permits(subscriber, channel)
    }

    private mutating func promoteLegacy(_ slot: ChannelSlot, of socket: SocketID, _ effects: inout [Effect]) {
        let left = removeLegacy(socket, from: slot)
        guard left != slot else { return }
        effects.append(Effect(loop: socket.loop, instruction: .leave(left, socket)))
        effects.append(Effect(loop: socket.loop, instruction: .join(slot, socket)))
    }

    /// A place in the table of connections.
    struct LegacyEnd {
        var (loop, slot) = (0, 0)
    }

    /// The most connections that one slice of ``endLegacy(_:_:_:)`` looks at, and the most subscriptions that it ends. The hub
    /// is locked so long.
    static let legacySliceMax = 256

    /// Ends legacy subscriptions of a rule whose time is over: a slice of them. The ones that the connection's user may have
    /// anyway become ordinary ones.
    mutating func endLegacy(_ pattern: String, _ app: AppIndex, _ effects: inout [Effect]) {
        var place = apps[app].legacyEnds.removeValue(forKey: pattern) ?? LegacyEnd()
        guard apps[app].legacyCounts[pattern]?.open ?? 0 > 0 else { return }
        var (looks, ends) = (Self.legacySliceMax, Self.legacySliceMax)
        while place.loop < loopCount {
            guard place.slot < connectionSlots(of: place.loop) else {
                place = LegacyEnd(loop: place.loop + 1, slot: 0)
                continue
            }
            guard looks > 0, ends > 0 else {
                apps[app].legacyEnds[pattern] = place
                return
            }
            looks -= 1
            if let socket = connectionSocket(loop: place.loop, slot: place.slot), self[socket].app == app {
                ends -= endLegacy(pattern, of: socket, atMost: ends, &effects)
                // The connection may have more of them.
                if ends == 0 { continue }
            }
            place.slot += 1
        }
    }

    /// - Returns: how many subscriptions are no legacy ones any more.
    private mutating func endLegacy(
        _ pattern: String, of socket: SocketID, atMost countMax: Int, _ effects: inout [Effect]
    ) -> Int {
        let slots = self[socket].legacySlots[pattern]?.elements.prefix(countMax) ?? []
        for slot in slots {
            let channel = channels[slot].name
            if isPermitted(socket, on: channel) {
                promoteLegacy(slot, of: socket, &effects)
                continue
            }
            _ = self[socket].subscriptions.remove(slot)
            leave(slot, socket, &effects)
            sendError(socket, "Your subscription to \(channel.text) has ended: apps must sign in by now", &effects)
        }
        return slots.count
    }

    /// Whether the rule's legacy subscriptions are being ended, and further slices must follow.
    package func isEndingLegacy(_ pattern: String, app: AppIndex) -> Bool { apps[app].legacyEnds[pattern] != nil }

    /// Sends a frame to the subscribers from whom members are hidden.
    func fanOutHidden(_ frame: Frame, on slot: ChannelSlot, except sender: SocketID?, _ effects: inout [Effect]) {
        guard let (hidden, names) = hiddenSlot(of: slot) else { return }
        let name = channels[slot].name
        for loop in channels[hidden].loops {
            effects.append(Effect(loop: loop, instruction: .fanOutHiding(names, in: frame, name, hidden, except: sender)))
        }
    }

    /// The channel's subscribers from whom members are hidden, and these members; nil without such subscribers.
    func hiddenSlot(of slot: ChannelSlot) -> (slot: ChannelSlot, names: [String])? {
        let app = channels[slot].app
        guard !apps[app].hiddenSlots.isEmpty, let hidden = apps[app].hiddenSlots[slot],
            let legacy = apps[app].rules.channels?.legacy(of: channels[slot].name)?.legacy
        else { return nil }
        return (hidden, legacy.hiddenMembers)
    }

    /// The members that are hidden from a subscriber; empty if none are.
    package func hiddenMembers(from socket: SocketID, on channel: ChannelName) -> [String] {
        guard isOpen(socket), let slot = apps[self[socket].app].slots[channel], self[socket].legacyPatterns[slot] != nil else {
            return []
        }
        return apps[self[socket].app].rules.channels?.legacy(of: channel)?.legacy.hiddenMembers ?? []
    }
}
