import Access
import PusherProtocol

/// Permissions on the channels of the fleet (`channels:` in the configuration).
extension Hub {
    /// The driver of a job, and the reference in the names of the job's channels. A job is an order that a driver
    /// carries out.
    package struct JobAssignment: Equatable, Sendable {
        /// The order's code, which identifies the job.
        package let orderCode: String
        /// The booking reference in the names of the job's channels (`tracking-…`, `booking-…`).
        package let reference: String
        /// Nil if no driver is assigned or the job has ended. When a job ends, its driver loses access to its channels,
        /// because a later job may have the same reference.
        package let driverID: String?

        /// - Parameter driverID: nil if the job has no driver, or has ended.
        package init(orderCode: String, reference: String, driverID: String?) {
            self.orderCode = orderCode
            self.reference = reference
            self.driverID = driverID
        }
    }

    /// The maximum number of identities per connection. When it is exceeded, the oldest identity is removed. A
    /// connection gets a further identity when its user renews the token and the claims have changed, for example the
    /// bookings.
    static let identitiesMax = 4

    /// Whether an identity may subscribe to a channel now. False if the application does not carry the fleet's
    /// channels.
    package func mayJoin(_ identity: Identity, _ channel: ChannelName, app: AppIndex) -> Bool {
        guard let policy = apps[app].rules.policy, !isRestricted(identity, channel, policy, app: app) else { return false }
        return switch policy.permission(for: identity, on: channel) {
        case .granted: true
        case .denied: false
        case .ifAssigned(let reference): apps[app].jobs.isAssigned(identity.id, reference: reference)
        }
    }

    /// Adds an identity to a connection, for which the authorization endpoint (`/pusher/auth`) has signed a
    /// subscription. The hub checks the permissions on a job's channels at each subscription, and whenever a job's
    /// driver changes, so an old signature gives no access by itself.
    mutating func identify(_ socket: SocketID, as identity: Identity, _ effects: inout [Effect]) {
        guard isOpen(socket), !self[socket].identities.contains(identity) else { return }
        stopCountingAsAnonymous(socket)
        self[socket].identities.append(identity)
        apps[self[socket].app].socketsByIdentity[identity.key, default: []].append(socket)
        guard self[socket].identities.count > Self.identitiesMax else { return }
        let oldest = self[socket].identities.removeFirst()
        removeFromIndex(oldest, socket)
        // When a driver loses a job, the hub finds the driver's connections by identity. It would no longer find this
        // one, so it ends the subscriptions that depend on the driver's jobs now.
        guard oldest.role == .driver else { return }
        let jobs = apps[self[socket].app].jobs
        let reason = "more than \(Self.identitiesMax) identities were authorized on this connection"
        endJobSubscriptions(of: socket, because: reason, &effects) { jobs.isAssigned(oldest.id, reference: $0) }
    }

    /// Removes one entry of the connection from ``AppState/socketsByIdentity``. The connection may have several entries
    /// under one key, because identities with the same role and id can differ in name or bookings.
    mutating func removeFromIndex(_ identity: Identity, _ socket: SocketID) {
        let app = self[socket].app
        guard let index = apps[app].socketsByIdentity[identity.key]?.firstIndex(of: socket) else { return }
        apps[app].socketsByIdentity[identity.key]?.remove(at: index)
        if apps[app].socketsByIdentity[identity.key]?.isEmpty == true { apps[app].socketsByIdentity[identity.key] = nil }
    }

    /// Why a subscription is denied: for the client, and for operators.
    typealias Denial = (text: String, reason: RefusalReason)

    /// Why to deny a subscription; nil if it is permitted. The caller has verified the signature if the channel requires one.
    func denial(for socket: SocketID, joining channel: ChannelName) -> Denial? {
        let app = self[socket].app
        guard let policy = apps[app].rules.policy else { return nil }
        switch channel.access {
        case .user: return nil
        case .open:
            guard !policy.isOpen(channel) else { return nil }
            guard let user = self[socket].user else {
                let text =
                    "Subscribing to \(channel.text) needs a signed-in user: sign in, or subscribe to private-\(channel.text)"
                return (text, .notSignedIn)
            }
            let mayJoin = Identity(user).map { self.mayJoin($0, channel, app: app) } ?? false
            return mayJoin ? nil : ("\(user.id.clipped) may not subscribe to \(channel.text)", .forbidden)
        case .signed, .encrypted, .presence:
            // A backend that signs with the application's secret decides by itself who may subscribe: its signature
            // suffices. The gateway's own endpoint adds an identity to the connection when it signs. A connection with
            // identities is checked again on job channels, because the driver may have lost the job since the endpoint
            // signed.
            guard !self[socket].identities.isEmpty else { return nil }
            let isOfJob = policy.reference(of: channel) != nil
            guard isOfJob || (hasRestrictedDriver(socket) && policy.hasRule(for: channel)) else { return nil }
            guard !isPermitted(socket, on: channel) else { return nil }
            let reason = hasRestrictedDriver(socket) ? Self.accountRestricted : Self.jobLost
            return ("Access to \(channel.text) has ended: \(reason)", .ended)
        }
    }

    /// Whether one of the connection's identities, or its signed-in user, may subscribe to the channel now.
    func isPermitted(_ socket: SocketID, on channel: ChannelName) -> Bool {
        let app = self[socket].app
        let user = self[socket].user.flatMap(Identity.init)
        return (self[socket].identities + (user.map { [$0] } ?? [])).contains { mayJoin($0, channel, app: app) }
    }
}

extension Identity {
    /// The identity of a user whose id has the form `role:id`, as `/pusher/user-auth` signs it. Nil for other ids.
    init?(_ user: SignedInUser) { self.init(key: user.id, bookings: user.bookings) }
}
