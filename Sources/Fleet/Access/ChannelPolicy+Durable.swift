import PusherProtocol

/// Durable channels: those of a person, and that of all drivers (`durable: true` in the configuration).
extension ChannelPolicy {
    /// Whose notifications are confirmed and replayed on a durable channel.
    package enum Owner: Equatable, Sendable {
        /// ``Identity/key`` of the one person to whom the channel belongs.
        case person(String)
        /// Every driver owns the channel.
        case everyDriver
    }

    /// The owner of a channel; nil if the channel is not durable. Presence and encrypted channels are not.
    package func owner(of channel: ChannelName) -> Owner? {
        switch channel.access {
        case .open, .signed: break
        case .encrypted, .presence, .user: return nil
        }
        guard let (rule, wildcard) = rule(for: channel), rule.isDurable else { return nil }
        return switch rule.access {
        case .ownDriver: .person("driver:\(wildcard)")
        case .ownCustomer: .person("customer:\(wildcard)")
        case .anyDriver: .everyDriver
        case .open, .admin, .booking, .ops: nil
        }
    }

    /// The public name of a channel, which its mirror shares: `driver-42` for `private-driver-42`.
    package static func plainName(of channel: ChannelName) -> String {
        String(channel.text.dropFirst(prefixByteCount(channel)))
    }
}
