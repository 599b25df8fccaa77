import Access
import FanOut
import PusherProtocol

/// The expected owners of durable channels, and their devices.
extension ReferenceModel {
    /// The authorization endpoint has signed something for a connection.
    struct Authorization {
        let socket: SocketID
        /// Nil for a sign-in.
        let channel: ChannelName?
        /// ``Identity/key``
        let owner: String
        let device: String
    }

    /// What a subscription of the owner of a durable channel is: ``FleetAccess/Ownership``.
    struct Ownership: Equatable, CustomStringConvertible {
        let channel: String
        let owner: String
        let device: String

        var description: String { "\(owner) owns \(channel) with the device '\(device)'" }
    }

    /// The ownership of a subscription to the channel; nil if the channel is not durable, or the connection's user is not
    /// its owner.
    func ownership(of socket: SocketID, on key: ChannelKey) -> Ownership? {
        guard connections[socket]?.app == key.app, let (rule, name) = rule(for: key), rule.isDurable,
            !(["private-encrypted-", "presence-", "#"].contains { key.channel.text.hasPrefix($0) }),
            let (subscriber, device) = authorizedSubscriber(socket, of: key, ownedBy: owner(rule, name))
        else { return nil }
        let isOwner = owner(rule, name).map { $0 == subscriber } ?? (Self.identity(subscriber)?.role == .driver)
        return isOwner ? Ownership(channel: name, owner: subscriber, device: device) : nil
    }

    /// The key of the person who owns a durable channel; nil for the channel of all drivers.
    private func owner(_ rule: ChannelPolicy.Rule, _ name: String) -> String? {
        rule.access == .anyDriver ? nil : name.replacing("-", with: ":", maxReplacements: 1)
    }

    /// For whom the channel was signed or, without that, who signed in; if nobody did, a backend has signed for the owner.
    private func authorizedSubscriber(
        _ socket: SocketID, of key: ChannelKey, ownedBy owner: String?
    ) -> (key: String, device: String)? {
        let own = authorizations.filter { $0.socket == socket }
        if let signed = own.last(where: { $0.channel == key.channel }) { return (signed.owner, signed.device) }
        if let user = user(of: socket) { return (user.id, own.last { $0.channel == nil }?.device ?? "") }
        return key.channel.text.hasPrefix("private-") ? owner.map { ($0, "") } : nil
    }
}
