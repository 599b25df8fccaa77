import FleetRules
import PusherProtocol

extension Hub {
    /// Whether somebody is subscribed to the channel that is his own, under either of its names.
    ///
    /// Subscribers who have proved to be another, an admin who watches, do not count. Those who have proved nothing do: his
    /// backend has signed for them, or the channel is open, and he is the one whose it is.
    package func isListening(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        let twin = apps[app].rules.policy?.twin(of: channel)
        let slots = [channel, twin].compactMap { $0.flatMap { apps[app].slots[$0] } }
        guard !slots.isEmpty else { return false }
        let own = apps[app].users.connections(of: recipient.key) + (apps[app].vouched[recipient.key] ?? [])
        if own.contains(where: { self[$0].isSubscribed(toAnyOf: slots) }) { return true }
        return slots.reduce(false) { found, slot in
            found
                || channels[slot].loops.contains { loop in
                    connections[loop].contains { $0.app == app && $0.isAnonymous && $0.isSubscribed(toAnyOf: [slot]) }
                }
        }
    }
}

extension Connection {
    fileprivate var isAnonymous: Bool { identities.isEmpty && user == nil }

    fileprivate func isSubscribed(toAnyOf slots: [ChannelSlot]) -> Bool {
        memberships.contains { slots.contains($0.slot) }
    }
}
