import Access
import PusherProtocol

/// Who owns a durable channel, and with which device a connection subscribes to it.
extension Hub {
    /// A subscription of the owner of a durable channel.
    package struct Ownership: Equatable, Sendable {
        /// The channel's public name: `driver-42`.
        package let channel: String
        /// ``Identity/key`` of the owner.
        package let owner: String
        /// What the client calls its device; empty if it does not say.
        package let device: String
    }

    /// Records which user asked to sign a subscription, or to sign in, and with which device (`/pusher/auth`,
    /// `/pusher/user-auth`). The record lasts as long as the connection.
    /// - Parameter channel: nil for a sign-in.
    mutating func record(_ socket: SocketID, _ owner: String, device: String, for channel: ChannelName?) {
        guard isOpen(socket) else { return }
        if let channel {
            guard apps[self[socket].app].rules.policy?.owner(of: channel) != nil else { return }
            self[socket].authorizedDevices[channel] = AuthorizedDevice(owner: owner, name: device)
        } else {
            self[socket].userDevice = device
        }
    }

    /// The ownership of a subscription; nil if the channel is not durable, or the subscriber is not its owner.
    ///
    /// A subscription that a backend has signed itself counts as the person's own. On the channel of all drivers it
    /// counts as nobody's.
    package func ownership(of socket: SocketID, on channel: ChannelName) -> Ownership? {
        guard isOpen(socket), let owner = apps[self[socket].app].rules.policy?.owner(of: channel) else { return nil }
        let name = ChannelPolicy.plainName(of: channel)
        let subscriber: AuthorizedDevice
        if let authorized = self[socket].authorizedDevices[channel] {
            subscriber = authorized
        } else if let user = self[socket].user {
            subscriber = AuthorizedDevice(owner: user.id, name: self[socket].userDevice)
        } else if case .person(let key) = owner, channel.access == .signed {
            subscriber = AuthorizedDevice(owner: key, name: "")
        } else {
            return nil
        }
        let isOwner =
            switch owner {
            case .person(let key): subscriber.owner.utf8.elementsEqual(key.utf8)
            case .everyDriver: Identity(key: subscriber.owner)?.role == .driver
            }
        return isOwner ? Ownership(channel: name, owner: subscriber.owner, device: subscriber.name) : nil
    }
}

/// A user's device, as the authorization endpoint has got it.
struct AuthorizedDevice {
    /// ``Identity/key``
    let owner: String
    let name: String
}
