import FanOut
import JSON
import Primitives
import PusherProtocol

/// Permissions on the channels of the fleet (`channels:` in the configuration).
extension FleetAccess {
    /// The maximum number of identities per connection. When it is exceeded, the oldest identity is removed. A
    /// connection gets a further identity when its user renews the token and the claims have changed, for example the
    /// bookings.
    static let identitiesMax = 4

    /// Whether an identity may subscribe to a channel now. False if the application does not carry the fleet's
    /// channels.
    func mayJoin(_ identity: Identity, _ channel: ChannelName, app: AppIndex) -> Bool {
        guard let policy = apps[app].policy, !isRestricted(identity, channel, policy, app: app) else { return false }
        return switch policy.permission(for: identity, on: channel) {
        case .granted: true
        case .denied: false
        case .ifAssigned(let reference): apps[app].jobs.isAssigned(identity.id, reference: reference)
        }
    }

    /// Adds an identity to a connection, for which the authorization endpoint (`/pusher/auth`) has signed a
    /// subscription. The permissions on a job's channels are checked at each subscription, and whenever a job's
    /// driver changes, so an old signature gives no access by itself.
    mutating func identify(
        _ subscriber: Subscriber, as identity: Identity, _ hub: inout Hub, _ effects: inout [Hub.Effect]
    ) {
        let (socket, app) = (subscriber.socket, subscriber.app)
        guard connections[socket]?.identities.contains(identity) != true else { return }
        connections[socket, default: Connection(app: app)].identities.append(identity)
        apps[app].socketsByIdentity[identity.key, default: []].append(socket)
        let oldest = removeExcessIdentity(of: socket, app: app)
        hub.setIdentifiers(connections[socket]?.identities.map(\.key) ?? [], of: socket)
        // When a driver loses a job, the driver's connections are found by identity. This one would no longer be found, so
        // the subscriptions that depend on the driver's jobs end now.
        guard let oldest, oldest.role == .driver else { return }
        let jobs = apps[app].jobs
        let reason = "more than \(Self.identitiesMax) identities were authorized on this connection"
        endJobSubscriptions(of: socket, because: reason, &hub, &effects) { jobs.isAssigned(oldest.id, reference: $0) }
    }

    private mutating func removeExcessIdentity(of socket: SocketID, app: AppIndex) -> Identity? {
        guard connections[socket]?.identities.count ?? 0 > Self.identitiesMax else { return nil }
        let oldest = connections[socket]?.identities.removeFirst()
        if let oldest { removeFromIndex(oldest, socket, app: app) }
        return oldest
    }

    /// Removes one entry of the connection from ``App/socketsByIdentity``. The connection may have several entries under
    /// one key, because identities with the same role and id can differ in name or bookings.
    mutating func removeFromIndex(_ identity: Identity, _ socket: SocketID, app: AppIndex) {
        guard let index = apps[app].socketsByIdentity[identity.key]?.firstIndex(of: socket) else { return }
        apps[app].socketsByIdentity[identity.key]?.remove(at: index)
        if apps[app].socketsByIdentity[identity.key]?.isEmpty == true { apps[app].socketsByIdentity[identity.key] = nil }
    }

    /// The connections of an identity, by ``Identity/key``, signed in or authorized.
    func connections(of key: String, app: AppIndex, _ hub: Hub) -> [SocketID] {
        hub.connections(ofUser: key, app: app) + (apps[app].socketsByIdentity[key] ?? [])
    }

    package mutating func signedIn(_ subscriber: Subscriber) {
        guard apps[subscriber.app].policy != nil, let user = subscriber.user, user.id.utf8.starts(with: "customer:".utf8) else {
            return
        }
        let bookings = user.bookings
        guard !bookings.isEmpty else { return }
        connections[subscriber.socket, default: Connection(app: subscriber.app)].bookings = bookings
    }

    package func denial(of subscriber: Subscriber, joining channel: ChannelName) -> SubscriptionDenial? {
        guard let policy = apps[subscriber.app].policy else { return nil }
        switch channel.access {
        case .user: return nil
        case .open:
            guard !policy.isOpen(channel) else { return nil }
            guard let user = subscriber.user else {
                let text =
                    "Subscribing to \(channel.text) needs a signed-in user: sign in, or subscribe to private-\(channel.text)"
                return SubscriptionDenial(text, .notSignedIn)
            }
            let mayJoin = identity(ofUserOf: subscriber).map { self.mayJoin($0, channel, app: subscriber.app) } ?? false
            return mayJoin ? nil : SubscriptionDenial("\(user.id.clipped) may not subscribe to \(channel.text)", .forbidden)
        case .signed, .encrypted, .presence:
            // A backend that signs with the application's secret decides by itself who may subscribe: its signature
            // suffices. The gateway's own endpoint adds an identity to the connection when it signs. A connection with
            // identities is checked again on job channels, because the driver may have lost the job since the endpoint
            // signed.
            guard let identities = connections[subscriber.socket]?.identities, !identities.isEmpty else { return nil }
            let isOfJob = policy.reference(of: channel) != nil
            let hasRestricted = hasRestrictedDriver(identities, app: subscriber.app)
            guard isOfJob || (hasRestricted && policy.hasRule(for: channel)) else { return nil }
            guard !permits(subscriber, channel) else { return nil }
            let reason = hasRestricted ? Self.accountRestricted : Self.jobLost
            return SubscriptionDenial("Access to \(channel.text) has ended: \(reason)", .ended)
        }
    }

    /// Whether one of the connection's identities, or its signed-in user, may subscribe to the channel now.
    package func permits(_ subscriber: Subscriber, _ channel: ChannelName) -> Bool {
        identities(of: subscriber).contains { mayJoin($0, channel, app: subscriber.app) }
    }

    /// The connection's identities and its signed-in user.
    func identities(of subscriber: Subscriber) -> [Identity] {
        (connections[subscriber.socket]?.identities ?? []) + (identity(ofUserOf: subscriber).map { [$0] } ?? [])
    }

    /// The identity of a signed-in user whose id has the form `role:id`, as `/pusher/user-auth` signs it. Nil for other ids.
    private func identity(ofUserOf subscriber: Subscriber) -> Identity? {
        subscriber.user.flatMap { Identity(key: $0.id, bookings: connections[subscriber.socket]?.bookings ?? []) }
    }
}

extension Hub {
    /// Whether an identity may subscribe to a channel now. False if the application does not carry the fleet's channels.
    package func mayJoin(_ identity: Identity, _ channel: ChannelName, app: AppIndex) -> Bool {
        fleet?.mayJoin(identity, channel, app: app) ?? false
    }
}

extension SignedInUser {
    /// References of the user's bookings. Only Fleetwire's own sign-in endpoint (`/pusher/user-auth`) sets them; empty if
    /// another backend signed. Each call reads the user's data.
    package var bookings: [String] {
        var bookings: [String] = []
        userData.withBytes { userData in
            // It was read as an object when the user signed in.
            try? JSONReader.object(userData) { key, value in
                guard key.equals("bookings"), value.kind == .array else { return }
                bookings = []
                try JSONReader.array(value.raw) { if let reference = $0.string { bookings.append(reference) } }
            }
        }
        return bookings
    }
}
