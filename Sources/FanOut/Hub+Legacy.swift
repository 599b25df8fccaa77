import Access
import PusherProtocol

/// Subscriptions of apps that never sign (``ChannelPolicy/Legacy``). They belong to nobody: they confirm nothing, and no
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
        guard let (pattern, legacy) = apps[app].rules.policy?.legacy(of: channels[slot].name) else { return slot }
        let hasOthers = self[socket].legacyPatterns.values.contains(pattern)
        self[socket].legacyPatterns[slot] = pattern
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
        if !self[socket].legacyPatterns.values.contains(pattern) { apps[app].legacyCounts[pattern]?.connections -= 1 }
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
            let left = removeLegacy(socket, from: slot)
            guard left != slot else { continue }
            effects.append(Effect(loop: socket.loop, instruction: .leave(left, socket)))
            effects.append(Effect(loop: socket.loop, instruction: .join(slot, socket)))
        }
    }

    /// Ends the legacy subscriptions of a rule whose time is over.
    mutating func endLegacy(_ pattern: String, _ app: AppIndex, _ effects: inout [Effect]) {
        guard apps[app].legacyCounts[pattern]?.open ?? 0 > 0 else { return }
        for loop in 0..<loopCount {
            for place in 0..<connectionSlots(of: loop) {
                guard let socket = connectionSocket(loop: loop, slot: place), self[socket].app == app,
                    !self[socket].legacyPatterns.isEmpty
                else { continue }
                let names = self[socket].legacyPatterns.filter { $0.value == pattern }.keys.map { channels[$0].name }
                endSubscriptions(of: socket, because: "apps must sign in by now", &effects) { names.contains($0) }
            }
        }
    }

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
            let legacy = apps[app].rules.policy?.legacy(of: channels[slot].name)?.legacy
        else { return nil }
        return (hidden, legacy.hiddenMembers)
    }

    /// The members that are hidden from a subscriber; empty if none are.
    package func hiddenMembers(from socket: SocketID, on channel: ChannelName) -> [String] {
        guard isOpen(socket), let slot = apps[self[socket].app].slots[channel], self[socket].legacyPatterns[slot] != nil else {
            return []
        }
        return apps[self[socket].app].rules.policy?.legacy(of: channel)?.legacy.hiddenMembers ?? []
    }
}
