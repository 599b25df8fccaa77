import PusherProtocol

extension ChannelPolicy {
    /// The mirror of a channel: `private-driver-42` and `driver-42` mirror each other. An event published to either
    /// reaches the subscribers of both, under the name that each subscribed to. Nil for channels without a rule, and
    /// for encrypted and presence channels.
    package func mirror(of channel: ChannelName) -> ChannelName? {
        guard match(channel) != nil else { return nil }
        switch channel.access {
        case .open: return Self.name("private-" + channel.text, .signed)
        case .signed: return Self.name(String(channel.text.dropFirst("private-".count)), .open)
        case .encrypted, .presence, .user: return nil
        }
    }

    /// Nil if the name has another kind than expected: `private-` turns `encrypted-x` into an encrypted channel.
    private static func name(_ text: String, _ access: ChannelName.Access) -> ChannelName? {
        ChannelName(text, lengthMax: mirrorLengthMax).flatMap { $0.access == access ? $0 : nil }
    }

    /// Bytes. Longer than any name one can subscribe to: the mirror of a name at the limit has no subscribers.
    private static let mirrorLengthMax = 256
}
