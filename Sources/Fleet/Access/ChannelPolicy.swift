import FanOut
import Primitives
import PusherProtocol

/// Who may subscribe to the channels of the fleet's application (`channels:` in the configuration), and which channels
/// mirror each other.
///
/// A rule's pattern is compared with the plain name of a channel, without `private-`, `private-encrypted-` or
/// `presence-`, so one rule applies to all forms of a channel. Only admins may subscribe to the presence form. Without
/// a matching rule, a channel with a plain name is open to all; for a channel of another form this policy grants a
/// signature to admins only. As with Pusher, a backend that has the app's secret can sign any subscription itself.
package struct ChannelPolicy: ChannelRules, Equatable {
    /// Who may subscribe to a channel, in addition to admins, who may subscribe to every channel. The raw values are
    /// the values in the configuration.
    package enum Access: String, CaseIterable, Sendable {
        /// All drivers and customers; for the plain name also anonymous connections.
        case open
        /// The driver whose id is the part that `*` matches.
        case ownDriver = "own-driver"
        case anyDriver = "any-driver"
        case admin
        /// The driver assigned to the job, and the customers who booked it. `*` matches the booking's reference.
        case booking
        /// The customer whose id is the part that `*` matches.
        case ownCustomer = "own-customer"
        /// Those who watch the gateway (role `ops`).
        case ops

        /// Whether the channels of a rule with this access have owners, who can confirm notifications
        /// (``ChannelPolicy/owner(of:)``).
        package var hasOwners: Bool {
            switch self {
            case .ownDriver, .anyDriver, .ownCustomer: true
            case .open, .admin, .booking, .ops: false
            }
        }

        /// Whether the pattern of a rule with this access must end in `*`.
        package var needsWildcard: Bool {
            switch self {
            case .ownDriver, .booking, .ownCustomer: true
            case .open, .anyDriver, .admin, .ops: false
            }
        }
    }

    /// Who may subscribe to the channels whose names match a pattern.
    package struct Rule: Equatable, Sendable {
        /// A plain name, or the beginning of one followed by `*`.
        package let pattern: String
        package let access: Access
        /// Whether the notifications of these channels are confirmed and replayed; see ``ChannelPolicy/owner(of:)``.
        package let isDurable: Bool
        /// Who else may subscribe to the plain names, without a signature; nil: nobody.
        package let legacy: Legacy?

        package init(_ pattern: String, _ access: Access, isDurable: Bool = false, legacy: Legacy? = nil) {
            self.pattern = pattern
            self.access = access
            self.isDurable = isDurable
            self.legacy = legacy
        }

        /// The index in a plain name, given as UTF-8, at which the part begins that `*` matches, at least one byte; the
        /// name's length for a pattern without `*`; nil if the name does not match.
        func wildcardIndex(in name: UnsafeRawBufferPointer) -> Int? {
            pattern.withBytes { pattern in
                guard pattern.last == UInt8(ascii: "*") else { return name.hasSameBytes(as: pattern) ? name.count : nil }
                let beginning = UnsafeRawBufferPointer(rebasing: pattern.dropLast())
                let matches =
                    name.count > beginning.count
                    && UnsafeRawBufferPointer(rebasing: name[..<beginning.count]).hasSameBytes(as: beginning)
                return matches ? beginning.count : nil
            }
        }
    }

    /// The channel on which the gateway publishes its own figures, for operators.
    package static let operatorsChannel = "fleetwire-ops"

    /// The first rule that matches a channel applies.
    let rules: [Rule]

    package init(_ rules: [Rule]) { self.rules = rules }

    /// The result of ``permission(for:on:)``.
    package enum Permission: Equatable, Sendable {
        case granted
        case denied
        /// Granted while the driver is assigned to a job with this reference.
        case ifAssigned(reference: String)
    }

    /// Whether an identity may subscribe to a channel. Presence channels expose their members, so only admins may
    /// subscribe to them. Signed and encrypted channels without a rule are for admins only, too.
    package func permission(for identity: Identity, on channel: ChannelName) -> Permission {
        switch identity.role {
        case .admin: return .granted
        case .ops: return !channel.isPresence && match(channel)?.access == .ops ? .granted : .denied
        case .driver, .customer: break
        }
        guard !channel.isPresence else { return .denied }
        guard let (access, wildcard) = match(channel) else { return channel.access == .open ? .granted : .denied }
        let isDriver = identity.role == .driver
        return switch access {
        case .open: .granted
        case .anyDriver: isDriver ? .granted : .denied
        case .ownDriver: isDriver && wildcard.utf8.elementsEqual(identity.id.utf8) ? .granted : .denied
        case .ownCustomer: !isDriver && wildcard.utf8.elementsEqual(identity.id.utf8) ? .granted : .denied
        case .booking:
            isDriver
                ? .ifAssigned(reference: String(wildcard))
                : identity.bookings.contains { $0.utf8.elementsEqual(wildcard.utf8) } ? .granted : .denied
        case .admin, .ops: .denied
        }
    }

    /// Whether anonymous connections may subscribe: the channel has a plain name, and either no rule matches it or the
    /// first matching rule has access `open`.
    package func isOpen(_ channel: ChannelName) -> Bool {
        guard channel.access == .open else { return false }
        return match(channel).map { $0.access == .open } ?? true
    }

    /// Whether the channel is one of the fleet's: a rule matches it.
    package func hasRule(for channel: ChannelName) -> Bool { match(channel) != nil }

    /// Whether only the gateway publishes on the channel: it is ``operatorsChannel`` or another form of it. The console
    /// believes what it reads there.
    package func isReserved(_ channel: ChannelName) -> Bool {
        channel.text.withBytes { text in
            var plain = UnsafeRawBufferPointer(rebasing: text[Self.prefixByteCount(channel)...])
            if plain.hasPrefix("cache-") { plain = UnsafeRawBufferPointer(rebasing: plain.dropFirst("cache-".utf8.count)) }
            return plain.hasSameBytes(as: Self.operatorsChannel)
        }
    }

    /// The pattern of the first rule that matches the channel; nil if none does.
    package func pattern(of channel: ChannelName) -> String? { rule(for: channel)?.rule.pattern }

    /// Whether the channel is a driver's own.
    package func isOfOneDriver(_ channel: ChannelName) -> Bool { match(channel)?.access == .ownDriver }

    /// Whether only admins may subscribe to the channel.
    package func isForAdminsOnly(_ channel: ChannelName) -> Bool { match(channel)?.access == .admin }

    /// The booking's reference in a channel's name; nil unless the access of the channel's rule is `booking`.
    package func reference(of channel: ChannelName) -> String? {
        match(channel).flatMap { $0.access == .booking ? String($0.wildcard) : nil }
    }

    /// The access of the first rule that matches the channel, and the part of the name that `*` matches. Nil if no rule
    /// matches.
    func match(_ channel: ChannelName) -> (access: Access, wildcard: Substring)? {
        guard let (rule, wildcard) = rule(for: channel) else { return nil }
        return (rule.access, wildcard)
    }

    /// The first rule that matches the channel, and the part of the name that `*` matches.
    func rule(for channel: ChannelName) -> (rule: Rule, wildcard: Substring)? {
        let prefixCount = Self.prefixByteCount(channel)
        let match = channel.text.withBytes { text -> (rule: Rule, start: Int)? in
            let plain = UnsafeRawBufferPointer(rebasing: text[prefixCount...])
            for rule in rules {
                if let start = rule.wildcardIndex(in: plain) { return (rule, prefixCount + start) }
            }
            return nil
        }
        guard let match else { return nil }
        return (match.rule, Substring(channel.text.utf8.dropFirst(match.start)))
    }

    /// The size in bytes of a name's `private-`, `private-encrypted-` or `presence-` prefix.
    static func prefixByteCount(_ channel: ChannelName) -> Int {
        switch channel.access {
        case .encrypted: "private-encrypted-".utf8.count
        case .signed: "private-".utf8.count
        case .presence: "presence-".utf8.count
        case .open, .user: 0
        }
    }
}
