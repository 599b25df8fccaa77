import Access
import FanOut
import PusherProtocol

/// The expected permissions on fleet channels. The model compares whole channel names instead of parsing them.
extension ReferenceModel {
    /// An open order that is assigned to a driver.
    struct Job: Equatable {
        let app: AppIndex
        let code: String
        let reference: String
        let driverID: String
    }

    // MARK: Names

    /// The first rule that matches the channel's name without its access prefix, and that name.
    func rule(for key: ChannelKey) -> (rule: ChannelPolicy.Rule, name: String)? {
        var name = key.channel.text
        for prefix in ["private-encrypted-", "private-", "presence-"] where name.hasPrefix(prefix) {
            name = String(name.dropFirst(prefix.count))
            break
        }
        let rule = fleetRules[key.app]?.first { rule in
            rule.pattern.hasSuffix("*")
                ? name.hasPrefix(rule.pattern.dropLast()) && name.count >= rule.pattern.count : name == rule.pattern
        }
        return rule.map { ($0, name) }
    }

    /// Whether the channel belongs to the job with this reference or, with nil, to any job.
    func isJobChannel(_ key: ChannelKey, reference: String? = nil) -> Bool {
        guard let (rule, name) = rule(for: key), rule.access == .booking else { return false }
        return reference.map { name == rule.pattern.dropLast() + $0 } ?? true
    }

    /// The mirror of a fleet channel: its name with `private-` added or removed. Nil if the channel has no mirror.
    func mirror(of key: ChannelKey) -> ChannelName? {
        guard rule(for: key) != nil else { return nil }
        let text = key.channel.text
        let withoutMirror = ["private-encrypted-", "presence-", "#"]
        let mirror = text.hasPrefix("private-") ? String(text.dropFirst("private-".count)) : "private-" + text
        let areBothPrivate = text.hasPrefix("private-") && mirror.hasPrefix("private-")
        guard !areBothPrivate, !(withoutMirror.contains { text.hasPrefix($0) || mirror.hasPrefix($0) }) else { return nil }
        return ChannelName(mirror, lengthMax: 250)
    }

    // MARK: Permissions

    func mayJoin(_ identity: Identity, _ key: ChannelKey) -> Bool {
        guard fleetRules[key.app] != nil else { return false }
        if identity.role == .ops { return !key.channel.text.hasPrefix("presence-") && rule(for: key)?.rule.access == .ops }
        guard identity.role != .admin else { return true }
        let restriction = identity.role == .driver ? restriction(of: identity.id, key.app) : nil
        guard restriction != .nothing else { return false }
        if restriction == .ownChannel, rule(for: key)?.rule.access != .ownDriver { return false }
        let text = key.channel.text
        guard !text.hasPrefix("presence-"), !text.hasPrefix("#") else { return false }
        guard let (rule, name) = rule(for: key) else { return !text.hasPrefix("private-") }
        let stem = rule.pattern.dropLast()
        switch rule.access {
        case .open: return true
        case .anyDriver: return identity.role == .driver
        case .ownDriver: return identity.role == .driver && name == stem + identity.id
        case .ownCustomer: return identity.role == .customer && name == stem + identity.id
        case .admin, .ops: return false
        case .booking:
            let references = identity.role == .customer ? identity.bookings : references(of: identity.id, key.app)
            return references.contains { name == stem + $0 }
        }
    }

    /// The references of a driver's jobs.
    func references(of driverID: String, _ app: AppIndex) -> [String] {
        jobs.filter { $0.app == app && $0.driverID == driverID }.map(\.reference)
    }

    /// All identities of a connection: those authorized for it, and the signed-in user's.
    func identities(of socket: SocketID) -> [Identity] {
        identified.filter { $0.socket == socket }.map(\.identity) + (identity(ofUserOf: socket).map { [$0] } ?? [])
    }

    private func identity(ofUserOf socket: SocketID) -> Identity? {
        guard let connection = connections[socket], let user = connection.user else { return nil }
        return Self.identity(user.id, bookings: connection.bookings)
    }

    static func identity(_ key: String, bookings: [String] = []) -> Identity? {
        let parts = key.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let role = Role(rawValue: String(parts[0])) else { return nil }
        return Identity(role: role, id: String(parts[1]), bookings: bookings)
    }

    func isPermitted(_ socket: SocketID, _ key: ChannelKey) -> Bool { identities(of: socket).contains { mayJoin($0, key) } }

    /// Why the connection may not subscribe; nil if it may.
    func denialReason(to socket: SocketID, _ key: ChannelKey) -> String? {
        let text = key.channel.text
        guard fleetRules[key.app] != nil, !text.hasPrefix("#") else { return nil }
        if text.hasPrefix("private-") || text.hasPrefix("presence-") {
            let own = identified.filter { $0.socket == socket }.map(\.identity)
            let isRestricted = own.contains { $0.role == .driver && restriction(of: $0.id, key.app) != nil }
            guard isJobChannel(key) || (isRestricted && rule(for: key) != nil), !own.isEmpty, !isPermitted(socket, key) else {
                return nil
            }
            let reason = isRestricted ? "the driver's account is not approved" : "the job is no longer assigned to you"
            return "Access to \(text) has ended: \(reason)"
        }
        guard let (rule, _) = rule(for: key), rule.access != .open else { return nil }
        guard let user = user(of: socket) else {
            return "Subscribing to \(text) needs a signed-in user: sign in, or subscribe to private-\(text)"
        }
        let mayJoin = identity(ofUserOf: socket).map { self.mayJoin($0, key) } ?? false
        return mayJoin ? nil : "\(user.id) may not subscribe to \(text)"
    }

    // MARK: Inputs

    mutating func apply(_ input: FleetInput) {
        switch input {
        case .notify(let notifications, let app):
            for publication in notifications.flatMap(\.publications) { publish(publication, app, except: nil) }
        case .authorized(let socket, let identity, let device, let channel):
            authorize(socket, identity, device: device, channel)
        case .assignment(let assignment, let app): record(assignment, app)
        case .restrict(let driverID, let restriction, let app): restrict(driverID, restriction, app)
        case .hold: break  // no process was killed
        }
    }

    private mutating func authorize(_ socket: SocketID, _ identity: Identity, device: String, _ channel: ChannelName?) {
        guard connections[socket] != nil else { return }
        authorizations.append(Authorization(socket: socket, channel: channel, owner: identity.key, device: device))
        // A user who signs in has an identity by that.
        if channel != nil { identify(socket, identity) }
    }

    private mutating func identify(_ socket: SocketID, _ identity: Identity) {
        guard let connection = connections[socket],
            !identified.contains(where: { $0.socket == socket && $0.identity == identity })
        else { return }
        identified.append((socket, identity))
        let own = identified.indices.filter { identified[$0].socket == socket }
        guard own.count > 4 else { return }
        let oldest = identified.remove(at: own[0]).identity
        guard oldest.role == .driver else { return }
        let references = references(of: oldest.id, connection.app)
        for subscription in connection.subscriptions {
            let key = ChannelKey(app: connection.app, channel: subscription.channel)
            guard references.contains(where: { isJobChannel(key, reference: $0) }), !isPermitted(socket, key) else { continue }
            end(socket, subscription.channel, "more than 4 identities were authorized on this connection")
        }
    }

    private mutating func record(_ assignment: FleetAccess.JobAssignment, _ app: AppIndex) {
        let before = jobs.first { $0.app == app && $0.code == assignment.orderCode }
        jobs.removeAll { $0 == before }
        if let id = assignment.driverID {
            jobs.append(Job(app: app, code: assignment.orderCode, reference: assignment.reference, driverID: id))
        }
        guard let before, !references(of: before.driverID, app).contains(before.reference) else {
            return
        }
        let identityKey = "driver:\(before.driverID)"
        let sockets =
            signins.filter { user(of: $0)?.id == identityKey }
            + identified.filter { $0.identity.key == identityKey }.map(\.socket)
        for socket in sockets where connections[socket]?.app == app {
            for channel in channels(of: socket) {
                let key = ChannelKey(app: app, channel: channel)
                guard isJobChannel(key, reference: before.reference), !isPermitted(socket, key) else { continue }
                end(socket, channel, "the job is no longer assigned to you")
            }
        }
    }

    private func restriction(of driverID: String, _ app: AppIndex) -> FleetAccess.Restriction? {
        restrictions.first { $0.app == app && $0.driverID == driverID }?.restriction
    }

    private mutating func restrict(_ driverID: String, _ restriction: FleetAccess.Restriction?, _ app: AppIndex) {
        restrictions.removeAll { $0.app == app && $0.driverID == driverID }
        guard let restriction else { return }
        restrictions.append((app, driverID, restriction))
        let identityKey = "driver:\(driverID)"
        let sockets =
            signins.filter { user(of: $0)?.id == identityKey }
            + identified.filter { $0.identity.key == identityKey }.map(\.socket)
        for socket in sockets where connections[socket]?.app == app {
            for channel in channels(of: socket) {
                let key = ChannelKey(app: app, channel: channel)
                guard let (rule, name) = rule(for: key), !(rule.access == .open && name == channel.text),
                    !isPermitted(socket, key)
                else { continue }
                end(socket, channel, "the driver's account is not approved")
            }
        }
    }

    private mutating func end(_ socket: SocketID, _ channel: ChannelName, _ reason: String) {
        leave(socket, channel)
        sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)")
        revocations += 1
    }
}
