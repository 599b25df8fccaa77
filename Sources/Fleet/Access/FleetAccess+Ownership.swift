import FanOut
import PusherProtocol

/// Who owns a durable channel, and with which device a connection subscribes to it.
extension FleetAccess {
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
    mutating func record(_ subscriber: Subscriber, _ owner: String, device: String, for channel: ChannelName?) {
        let (socket, unknown) = (subscriber.socket, Connection(app: subscriber.app))
        if let channel {
            guard apps[subscriber.app].policy?.owner(of: channel) != nil else { return }
            connections[socket, default: unknown].devices[channel] = AuthorizedDevice(owner: owner, name: device)
        } else if !device.isEmpty || connections[socket] != nil {
            connections[socket, default: unknown].userDevice = device
        }
    }

    fileprivate func ownership(of subscriber: Subscriber, on channel: ChannelName) -> Ownership? {
        guard let owner = apps[subscriber.app].policy?.owner(of: channel) else { return nil }
        let connection = connections[subscriber.socket]
        let device: AuthorizedDevice
        if let authorized = connection?.devices[channel] {
            device = authorized
        } else if let user = subscriber.user {
            device = AuthorizedDevice(owner: user.id, name: connection?.userDevice ?? "")
        } else if case .person(let key) = owner, channel.access == .signed {
            device = AuthorizedDevice(owner: key, name: "")
        } else {
            return nil
        }
        let isOwner =
            switch owner {
            case .person(let key): device.owner.utf8.elementsEqual(key.utf8)
            case .everyDriver: Identity(key: device.owner)?.role == .driver
            }
        let name = ChannelPolicy.plainName(of: channel)
        return isOwner ? Ownership(channel: name, owner: device.owner, device: device.name) : nil
    }
}

extension Hub {
    /// The ownership of a subscription; nil if the channel is not durable, or the subscriber is not its owner.
    ///
    /// A subscription that a backend has signed itself counts as the person's own. On the channel of all drivers it
    /// counts as nobody's.
    package func ownership(of socket: SocketID, on channel: ChannelName) -> FleetAccess.Ownership? {
        guard let fleet, let subscriber = subscriber(socket) else { return nil }
        return fleet.ownership(of: subscriber, on: channel)
    }
}

/// A user's device, as the authorization endpoint has got it.
struct AuthorizedDevice {
    /// ``Identity/key``
    let owner: String
    let name: String
}
