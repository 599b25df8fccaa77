import FanOut
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
    /// hub is locked, so it must be cheap: it uses the channels' counts of anonymous subscribers and searches only the
    /// recipient's connections, not all subscribers.
    package func isListening(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        let mirror = fleet?.apps[app].policy?.mirror(of: channel)
        let names = [channel, mirror].compactMap(\.self).filter { isOccupied($0, app: app) }
        guard !names.isEmpty else { return false }
        if names.contains(where: { hasSignedAnonymousSubscribers(on: $0, app: app) }) { return true }
        let own = fleet?.connections(of: recipient.key, app: app, self) ?? []
        return own.contains { socket in names.contains { isSubscribed(socket, to: $0) } }
    }

    /// Whether the recipient has a connection, as far as that can be told: one with the recipient's identity, or one that
    /// listens on the recipient's channel.
    package func isConnected(_ recipient: Identity, on channel: ChannelName, app: AppIndex) -> Bool {
        fleet?.connections(of: recipient.key, app: app, self).isEmpty == false || isListening(recipient, on: channel, app: app)
    }
}
