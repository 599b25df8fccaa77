import Access
import PusherProtocol

extension Hub {
    /// Whether somebody is subscribed to the channel that is his own, under either of its names.
    ///
    /// Subscribers who have proved to be another, an admin who watches, do not count. Those who have proved nothing do: his
    /// backend has signed for them, or the channel is open, and he is the one whose it is.
    ///
    /// It is asked before every push of some kinds, so it looks at his own connections and at nobody else's.
    package func isListening(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        let twin = apps[app].rules.policy?.mirror(of: channel)
        let slots = [channel, twin].compactMap { $0.flatMap { apps[app].slots[$0] } }
        guard !slots.isEmpty else { return false }
        if slots.contains(where: { channels[$0].anonymousCount > 0 }) { return true }
        let own = apps[app].users.connections(of: recipient.key) + (apps[app].socketsByIdentity[recipient.key] ?? [])
        return own.contains { socket in self[socket].subscriptions.contains { slots.contains($0.slot) } }
    }

    /// Somebody is about to prove who he is at a connection: from now on it does not count as anonymous.
    mutating func markIdentified(_ socket: SocketID) {
        guard self[socket].isAnonymous else { return }
        for membership in self[socket].subscriptions { channels[membership.slot].anonymousCount -= 1 }
    }
}
