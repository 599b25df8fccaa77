import Access
import PusherProtocol

extension Hub {
    /// Whether the recipient of a push is subscribed to `channel`, which is the recipient's own channel, or to the
    /// channel's mirror. For example, the mirror of `driver-42` is `private-driver-42` (``ChannelPolicy/mirror(of:)``).
    ///
    /// A subscriber that is identified as another user, such as an admin, does not count. If a backend has signed the
    /// subscription without naming a user, it may be the recipient's, so it counts as the recipient's. An anonymous
    /// subscription that nobody has signed is nobody's, whatever the channel's rule permits: otherwise any stranger could
    /// keep a driver's pushes back by subscribing to the driver's channel.
    ///
    /// A push of the `fallback` kind is sent only if this returns false. The call precedes each such push, while the
    /// hub is locked, so it must be cheap: it uses the channels' ``Channel/anonymousCount`` and searches only the
    /// recipient's connections, not all subscribers.
    package func isListening(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        let mirror = apps[app].rules.policy?.mirror(of: channel)
        let slots = [channel, mirror].compactMap { $0.flatMap { apps[app].slots[$0] } }
        guard !slots.isEmpty else { return false }
        if slots.contains(where: { channels[$0].signedAnonymousCount > 0 }) { return true }
        let own = apps[app].users.connections(of: recipient.key) + (apps[app].socketsByIdentity[recipient.key] ?? [])
        return own.contains { socket in slots.contains { self[socket].subscriptions.contains($0) } }
    }

    /// Whether the recipient has a connection, as far as that can be told: one with the recipient's identity, or one that
    /// listens on the recipient's channel.
    package func isConnected(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        !apps[app].users.connections(of: recipient.key).isEmpty
            || apps[app].socketsByIdentity[recipient.key]?.isEmpty == false || isListening(recipient, on: channel, app: app)
    }

    /// Subtracts an anonymous connection from ``Channel/anonymousCount`` of its channels. Call this before you add an
    /// identity or a user to a connection, because the connection is not anonymous afterwards. Does nothing if the
    /// connection is not anonymous.
    mutating func stopCountingAsAnonymous(_ socket: SocketID) {
        guard self[socket].isAnonymous else { return }
        for slot in self[socket].subscriptions.elements { channels[slot].anonymousCount -= 1 }
    }
}
