import PusherProtocol

/// Which channels of the fleet's application are whose (`channels:` in the configuration), and which mirror each other.
///
/// Patterns name plain channels; `private-` and `private-encrypted-` before such a name mean the same people. What no pattern
/// matches is as Pusher has it: plain names are for all, signed ones for whoever is signed for.
package struct ChannelPolicy: Equatable, Sendable {
    /// For whom a channel is.
    package enum Access: Equatable, Sendable {
        case open
        /// The driver whom its name ends with.
        case ownDriver
        case anyDriver
        case admin
        /// The driver who has the job, and the customers who booked it; its name ends with the reference.
        case booking
        /// The customer whom its name ends with.
        case ownCustomer
    }

    /// One line of the policy.
    package struct Rule: Equatable, Sendable {
        /// A plain name, or the beginning of one followed by `*`.
        package let pattern: String
        package let access: Access

        package init(_ pattern: String, _ access: Access) {
            self.pattern = pattern
            self.access = access
        }

        /// What stands in the star's place; empty for a pattern without one; nil when the name does not match.
        func rest(of name: Substring) -> Substring? {
            guard pattern.utf8.last == UInt8(ascii: "*") else { return name.utf8.elementsEqual(pattern.utf8) ? "" : nil }
            let beginning = pattern.utf8.dropLast()
            guard name.utf8.starts(with: beginning), name.utf8.count > beginning.count else { return nil }
            return Substring(name.utf8.dropFirst(beginning.count))
        }
    }

    /// The first that matches decides.
    private let rules: [Rule]

    package init(_ rules: [Rule]) { self.rules = rules }

    /// What it takes to be let in.
    package enum Permission: Equatable, Sendable {
        case granted
        case denied
        /// Only the driver who has a job with this reference.
        case ifAssigned(reference: String)
    }

    /// Whether `identity` may be on a channel. Presence channels show people to each other: they are the admins' alone,
    /// and so is what no pattern names but a signature opens.
    package func permission(of identity: Identity, to channel: ChannelName) -> Permission {
        switch identity.role {
        case .admin: return .granted
        case .ops: return .denied
        case .driver, .customer: break
        }
        guard !channel.isPresence else { return .denied }
        guard let (access, rest) = match(channel) else { return channel.access == .open ? .granted : .denied }
        let isDriver = identity.role == .driver
        return switch access {
        case .open: .granted
        case .anyDriver: isDriver ? .granted : .denied
        case .ownDriver: isDriver && rest.utf8.elementsEqual(identity.id.utf8) ? .granted : .denied
        case .ownCustomer: !isDriver && rest.utf8.elementsEqual(identity.id.utf8) ? .granted : .denied
        case .booking:
            isDriver
                ? .ifAssigned(reference: String(rest))
                : identity.bookings.contains { $0.utf8.elementsEqual(rest.utf8) } ? .granted : .denied
        case .admin: .denied
        }
    }

    /// Whether anybody may be on it without saying who he is: what no pattern names, and what one declares open.
    package func isOpen(_ channel: ChannelName) -> Bool {
        guard channel.access == .open else { return false }
        return match(channel).map { $0.access == .open } ?? true
    }

    /// The reference of the job a channel is about; nil for channels about none.
    package func reference(of channel: ChannelName) -> String? {
        match(channel).flatMap { $0.access == .booking ? String($0.rest) : nil }
    }

    /// The channel that mirrors this one, `private-driver-42` and `driver-42` each other: what is published to either
    /// reaches the subscribers of both, each under its own name. Nil for channels that no pattern names, and for forms that
    /// cannot be mirrored: what is encrypted is meant for nobody else, and presence channels are about who is on them.
    package func mirror(of channel: ChannelName) -> ChannelName? {
        guard match(channel) != nil else { return nil }
        switch channel.access {
        case .open: return Self.name("private-" + channel.text, .signed)
        case .signed: return Self.name(String(channel.text.dropFirst("private-".count)), .open)
        case .encrypted, .presence, .user: return nil
        }
    }

    /// The name, if it is one of its kind: `private-` makes an encrypted channel of `encrypted-x`.
    private static func name(_ text: String, _ access: ChannelName.Access) -> ChannelName? {
        ChannelName(text, lengthMax: mirrorLengthMax).flatMap { $0.access == access ? $0 : nil }
    }

    /// Longer than any name that can be subscribed to: a name at its limit simply has nobody on its twin.
    private static let mirrorLengthMax = 256

    private func match(_ channel: ChannelName) -> (access: Access, rest: Substring)? {
        let plain = Self.plain(channel)
        for rule in rules {
            if let rest = rule.rest(of: plain) { return (rule.access, rest) }
        }
        return nil
    }

    /// The name without what says how it is guarded.
    private static func plain(_ channel: ChannelName) -> Substring {
        switch channel.access {
        case .encrypted: channel.text.dropFirst("private-encrypted-".count)
        case .signed: channel.text.dropFirst("private-".count)
        case .presence: channel.text.dropFirst("presence-".count)
        case .open, .user: channel.text[...]
        }
    }
}
