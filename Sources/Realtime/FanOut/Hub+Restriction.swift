import Access
import Primitives
import PusherProtocol

/// Drivers whose account is not approved.
extension Hub {
    /// What such a driver may still subscribe to.
    package enum Restriction: Equatable, Sendable {
        /// The driver's own channel, on which the driver learns of the approval.
        case ownChannel
        case nothing
    }

    /// The reason in the error event that such a driver gets.
    static let accountRestricted = "the driver's account is not approved"

    /// Restricts a driver, or lifts the restriction. Ends the driver's subscriptions to the fleet's channels, except
    /// those that are still permitted and those that another identity of the same connection permits.
    mutating func restrict(
        _ driverID: String, to restriction: Restriction?, _ app: AppIndex, _ effects: inout [Effect]
    ) {
        apps[app].restrictions[Identifier(driverID)] = restriction
        guard restriction != nil, let policy = apps[app].rules.policy else { return }
        let key = Identity(role: .driver, id: driverID).key
        for socket in apps[app].users.connections(of: key) + (apps[app].socketsByIdentity[key] ?? []) {
            endSubscriptions(of: socket, because: Self.accountRestricted, &effects) {
                policy.hasRule(for: $0) && !policy.isOpen($0)
            }
        }
    }

    /// Whether the restriction of a driver's account forbids a channel.
    func isRestricted(_ identity: Identity, _ channel: ChannelName, _ policy: ChannelPolicy, app: AppIndex) -> Bool {
        guard !apps[app].restrictions.isEmpty, identity.role == .driver else { return false }
        switch apps[app].restrictions[Identifier(identity.id)] {
        case nil: return false
        case .ownChannel?: return !policy.isOfOneDriver(channel)
        case .nothing?: return true
        }
    }

    /// Whether the account of one of the connection's drivers is restricted.
    func hasRestrictedDriver(_ socket: SocketID) -> Bool {
        let restrictions = apps[self[socket].app].restrictions
        guard !restrictions.isEmpty else { return false }
        return self[socket].identities.contains { $0.role == .driver && restrictions[Identifier($0.id)] != nil }
    }
}
