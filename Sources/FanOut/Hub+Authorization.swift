import Access
import PusherProtocol

/// Who may be on the fleet's channels, and for how long (`channels:` in the configuration).
extension Hub {
    /// Who holds an order, as the hub has to know it.
    package struct JobAssignment: Equatable, Sendable {
        package let code: String
        /// As in the names of its channels.
        package let reference: String
        /// Nil when nobody has it, and when it has come to its end: its channels may soon be another's.
        package let driverID: String?

        package init(code: String, reference: String, driverID: String?) {
            self.code = code
            self.reference = reference
            self.driverID = driverID
        }
    }

    /// Identities that one connection is remembered to have proved; the oldest goes when there are more.
    static let identitiesMax = 4

    /// Whether somebody may join a channel, as things stand.
    package func mayJoin(_ identity: Identity, _ channel: ChannelName, app: AppIndex) -> Bool {
        guard let policy = apps[app].rules.policy else { return false }
        return switch policy.permission(of: identity, to: channel) {
        case .granted: true
        case .denied: false
        case .ifAssigned(let reference): apps[app].jobs.isAssigned(identity.id, reference: reference)
        }
    }

    /// Whoever is at this connection has proved who he is to the authorization endpoint, and was given a signature. What it is
    /// worth is looked at again when he brings it, and whenever a job changes hands: a signature never goes stale.
    mutating func identify(for socket: SocketID, _ identity: Identity, _ effects: inout [Effect]) {
        guard isOpen(socket), !self[socket].identities.contains(identity) else { return }
        markIdentified(socket)
        self[socket].identities.append(identity)
        apps[self[socket].app].socketsByIdentity[identity.key, default: []].append(socket)
        guard self[socket].identities.count > Self.identitiesMax else { return }
        let oldest = self[socket].identities.removeFirst()
        forgetIdentity(oldest, socket)
        // A driver who is forgotten could not be sent away any more when he loses his job, so he goes now.
        guard oldest.role == .driver else { return }
        let jobs = apps[self[socket].app].jobs
        let reason = "too many others were authorized on this connection since"
        endSubscriptions(of: socket, because: reason, &effects) { jobs.isAssigned(oldest.id, reference: $0) }
    }

    /// Forgets one of the times that somebody was vouched for: there may be others, with other names or bookings.
    mutating func forgetIdentity(_ identity: Identity, _ socket: SocketID) {
        let app = self[socket].app
        guard let index = apps[app].socketsByIdentity[identity.key]?.firstIndex(of: socket) else { return }
        apps[app].socketsByIdentity[identity.key]?.remove(at: index)
        if apps[app].socketsByIdentity[identity.key]?.isEmpty == true { apps[app].socketsByIdentity[identity.key] = nil }
    }

    /// Why a connection may not join a channel that its signature, if it needs one, opens; nil when it may.
    func denialReason(to socket: SocketID, joining channel: ChannelName) -> String? {
        let app = self[socket].app
        guard let policy = apps[app].rules.policy else { return nil }
        switch channel.access {
        case .user: return nil
        case .open:
            guard !policy.isOpen(channel) else { return nil }
            guard let user = self[socket].user else {
                return "Subscribing to \(channel.text) needs a signed-in user: sign in, or subscribe to private-\(channel.text)"
            }
            let mayJoin = Identity(user).map { self.mayJoin($0, channel, app: app) } ?? false
            return mayJoin ? nil : "\(user.id.clipped) may not subscribe to \(channel.text)"
        case .signed, .encrypted, .presence:
            // A signature that a backend made by itself is its own affair; one of ours is worth what the right behind it is.
            guard policy.reference(of: channel) != nil, !self[socket].identities.isEmpty else { return nil }
            return isPermitted(socket, to: channel) ? nil : "The right to \(channel.text) has ended: \(Self.jobLost)"
        }
    }

    /// Why a driver has to leave a job's channels: it went to another, or to nobody, or has another reference, or has ended.
    static let jobLost = "the job is no longer yours"

    /// A job has changed hands, or has ended: whoever had it leaves its channels, unless he may be there for another reason.
    mutating func record(_ holding: JobAssignment, _ app: AppIndex, _ effects: inout [Effect]) {
        guard let lost = apps[app].jobs.set(holding.code, reference: holding.reference, driverID: holding.driverID) else {
            return
        }
        let key = Identity(role: .driver, id: lost.driverID).key
        for socket in apps[app].users.connections(of: key) + (apps[app].socketsByIdentity[key] ?? []) {
            endSubscriptions(of: socket, because: Self.jobLost, &effects) { $0 == lost.reference }
        }
    }

    /// Ends a connection's subscriptions to channels of jobs that are lost, unless somebody at it still has a right to them.
    private mutating func endSubscriptions(
        of socket: SocketID, because reason: String, _ effects: inout [Effect], where isLost: (_ reference: String) -> Bool
    ) {
        guard let policy = apps[self[socket].app].rules.policy else { return }
        for membership in self[socket].subscriptions {
            let channel = channels[membership.slot].name
            guard let reference = policy.reference(of: channel), isLost(reference), !isPermitted(socket, to: channel) else {
                continue
            }
            self[socket].subscriptions.removeAll { $0.slot == membership.slot }
            leave(membership, socket, &effects)
            sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)", &effects)
        }
    }

    private func isPermitted(_ socket: SocketID, to channel: ChannelName) -> Bool {
        let app = self[socket].app
        let user = self[socket].user.flatMap(Identity.init)
        return (self[socket].identities + (user.map { [$0] } ?? [])).contains { mayJoin($0, channel, app: app) }
    }
}

extension Identity {
    /// Of a user who is signed in as `role:id`, as our own sign-in endpoint has it; nil for others.
    init?(_ user: SignedInUser) { self.init(key: user.id, bookings: user.bookings) }
}
