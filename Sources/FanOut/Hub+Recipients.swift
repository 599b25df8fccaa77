import Access
import PusherProtocol

extension Hub {
    /// Whether the recipient is subscribed to their own channel, under either of its mirrored names.
    ///
    /// Subscribers identified as another user (an admin who watches) do not count. Anonymous ones do: the recipient's
    /// backend signed the subscription, or the channel is open.
    ///
    /// Called before each push of the `fallback` kind, so it looks at the recipient's connections only.
    package func isListening(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        let mirror = apps[app].rules.policy?.mirror(of: channel)
        let slots = [channel, mirror].compactMap { $0.flatMap { apps[app].slots[$0] } }
        guard !slots.isEmpty else { return false }
        if slots.contains(where: { channels[$0].anonymousCount > 0 }) { return true }
        let own = apps[app].users.connections(of: recipient.key) + (apps[app].socketsByIdentity[recipient.key] ?? [])
        return own.contains { socket in self[socket].subscriptions.contains { slots.contains($0.slot) } }
    }

    /// Stops counting the connection as anonymous. Call before adding its first identity or user.
    mutating func markIdentified(_ socket: SocketID) {
        guard self[socket].isAnonymous else { return }
        for subscription in self[socket].subscriptions { channels[subscription.slot].anonymousCount -= 1 }
    }
}
