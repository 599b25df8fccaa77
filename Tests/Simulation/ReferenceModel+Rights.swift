import Access
import FanOut
import PusherProtocol

/// The expected permissions on fleet channels, found by comparing whole names.
extension ReferenceModel {
    /// An open order's driver.
    struct Job: Equatable {
        let app: AppIndex
        let code: String
        let reference: String
        let driverID: String
    }

    // MARK: Names

    /// The first rule that matches the channel's name without its access prefix.
    private func rule(for place: ChannelKey) -> (rule: ChannelPolicy.Rule, name: String)? {
        var name = place.channel.text
        for prefix in ["private-encrypted-", "private-", "presence-"] where name.hasPrefix(prefix) {
            name = String(name.dropFirst(prefix.count))
            break
        }
        let rule = fleetRules[place.app]?.first { rule in
            rule.pattern.hasSuffix("*")
                ? name.hasPrefix(rule.pattern.dropLast()) && name.count >= rule.pattern.count : name == rule.pattern
        }
        return rule.map { ($0, name) }
    }

    /// Whether it is a channel of the job with this reference; nil means any job.
    func isJobs(_ place: ChannelKey, reference: String? = nil) -> Bool {
        guard let (rule, name) = rule(for: place), rule.access == .booking else { return false }
        return reference.map { name == rule.pattern.dropLast() + $0 } ?? true
    }

    /// Adds or removes `private-` on a matched name; the result must be of the other kind.
    func mirror(of place: ChannelKey) -> ChannelName? {
        guard rule(for: place) != nil else { return nil }
        let text = place.channel.text
        let guarded = ["private-encrypted-", "presence-", "#"]
        let mirror = text.hasPrefix("private-") ? String(text.dropFirst("private-".count)) : "private-" + text
        let isEither = text.hasPrefix("private-") && mirror.hasPrefix("private-")
        guard !isEither, !(guarded.contains { text.hasPrefix($0) || mirror.hasPrefix($0) }) else { return nil }
        return ChannelName(mirror, lengthMax: 250)
    }

    // MARK: Permissions

    func mayJoin(_ identity: Identity, _ place: ChannelKey) -> Bool {
        guard fleetRules[place.app] != nil, identity.role != .ops else { return false }
        guard identity.role != .admin else { return true }
        let text = place.channel.text
        guard !text.hasPrefix("presence-"), !text.hasPrefix("#") else { return false }
        guard let (rule, name) = rule(for: place) else { return !text.hasPrefix("private-") }
        let stem = rule.pattern.dropLast()
        switch rule.access {
        case .open: return true
        case .anyDriver: return identity.role == .driver
        case .ownDriver: return identity.role == .driver && name == stem + identity.id
        case .ownCustomer: return identity.role == .customer && name == stem + identity.id
        case .admin: return false
        case .booking:
            let references = identity.role == .customer ? identity.bookings : references(of: identity.id, place.app)
            return references.contains { name == stem + $0 }
        }
    }

    /// The references of a driver's jobs.
    func references(of driverID: String, _ app: AppIndex) -> [String] {
        jobs.filter { $0.app == app && $0.driverID == driverID }.map(\.reference)
    }

    /// All identities of a connection.
    func identities(of socket: SocketID) -> [Identity] {
        identified.filter { $0.socket == socket }.map(\.identity) + (user(of: socket).flatMap(Self.identity).map { [$0] } ?? [])
    }

    private static func identity(_ user: SignedInUser) -> Identity? {
        let parts = user.id.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, let role = Role(rawValue: String(parts[0])) else { return nil }
        return Identity(role: role, id: String(parts[1]), bookings: user.bookings)
    }

    func isPermitted(_ socket: SocketID, _ place: ChannelKey) -> Bool { identities(of: socket).contains { mayJoin($0, place) } }

    /// Why the connection may not subscribe; nil if it may.
    func denialReason(to socket: SocketID, _ place: ChannelKey) -> String? {
        let text = place.channel.text
        guard fleetRules[place.app] != nil, !text.hasPrefix("#") else { return nil }
        if text.hasPrefix("private-") || text.hasPrefix("presence-") {
            guard isJobs(place), identified.contains(where: { $0.socket == socket }), !isPermitted(socket, place) else {
                return nil
            }
            return "Access to \(text) has ended: the job is no longer assigned to you"
        }
        guard let (rule, _) = rule(for: place), rule.access != .open else { return nil }
        guard let user = user(of: socket) else {
            return "Subscribing to \(text) needs a signed-in user: sign in, or subscribe to private-\(text)"
        }
        let mayJoin = Self.identity(user).map { self.mayJoin($0, place) } ?? false
        return mayJoin ? nil : "\(user.id) may not subscribe to \(text)"
    }

    // MARK: Inputs

    mutating func identify(_ socket: SocketID, _ identity: Identity) {
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
            let place = ChannelKey(app: connection.app, channel: subscription.channel)
            guard references.contains(where: { isJobs(place, reference: $0) }), !isPermitted(socket, place) else { continue }
            end(socket, subscription.channel, "more than 4 identities were authorized on this connection")
        }
    }

    mutating func hold(_ assignment: Hub.JobAssignment, _ app: AppIndex) {
        let before = jobs.first { $0.app == app && $0.code == assignment.orderCode }
        jobs.removeAll { $0 == before }
        if let id = assignment.driverID {
            jobs.append(Job(app: app, code: assignment.orderCode, reference: assignment.reference, driverID: id))
        }
        guard let before, !references(of: before.driverID, app).contains(before.reference) else {
            return
        }
        let key = "driver:\(before.driverID)"
        let known = signins.filter { user(of: $0)?.id == key } + identified.filter { $0.identity.key == key }.map(\.socket)
        for socket in known where connections[socket]?.app == app {
            for channel in channels(of: socket) {
                let place = ChannelKey(app: app, channel: channel)
                guard isJobs(place, reference: before.reference), !isPermitted(socket, place) else { continue }
                end(socket, channel, "the job is no longer assigned to you")
            }
        }
    }

    private mutating func end(_ socket: SocketID, _ channel: ChannelName, _ reason: String) {
        leave(socket, channel)
        sendError(socket, "Your subscription to \(channel.text) has ended: \(reason)")
        revocations += 1
    }
}
