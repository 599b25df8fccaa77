import PusherProtocol

extension ChannelPolicy {
    /// The mirror of a channel: `private-driver-42` and `driver-42` mirror each other. An event published to one of
    /// them is sent to the subscribers of both, each time with the channel name to which the client subscribed. Nil for
    /// channels without a rule, and for encrypted, presence and server-to-user channels.
    package func mirror(of channel: ChannelName) -> ChannelName? {
        guard match(channel) != nil else { return nil }
        switch channel.access {
        case .open: return Self.name("private-" + channel.text, .signed)
        case .signed: return Self.name(String(channel.text.dropFirst("private-".count)), .open)
        case .encrypted, .presence, .user: return nil
        }
    }

    /// The channel of a signed-in user of the fleet whose name is written in the way that official server SDKs accept: they
    /// refuse the colon of `#server-to-user-driver:42`, so backends may publish to `#server-to-user-driver-42`. Nil for all
    /// other channels.
    package func userChannel(aliasedBy channel: ChannelName) -> ChannelName? {
        guard case .user(let id) = channel.access, let user = Identity(alias: id) else { return nil }
        return ChannelName("#server-to-user-" + user.key, lengthMax: .max)
    }

    /// The key of a user of the fleet, for the same reason: backends may name `driver-42`.
    package func userID(aliasedBy id: String) -> String? { Identity(alias: id)?.key }

    /// The channel with this name; nil if its access is not `access`. For example, `private-` and `encrypted-x` make
    /// the name of an encrypted channel.
    private static func name(_ text: String, _ access: ChannelName.Access) -> ChannelName? {
        ChannelName(text, lengthMax: mirrorLengthMax).flatMap { $0.access == access ? $0 : nil }
    }

    /// The maximum length of a mirror's name in bytes. It exceeds the limit for subscriptions (200) by more than the
    /// length of `private-`, so that each plain name with a rule has a mirror and publishing needs no exception. A
    /// mirror above the limit for subscriptions never has subscribers.
    private static let mirrorLengthMax = 256
}
