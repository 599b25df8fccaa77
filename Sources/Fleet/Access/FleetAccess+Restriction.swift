import FanOut
import Primitives
import PusherProtocol

/// Drivers whose account is not approved.
extension FleetAccess {
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
        _ driverID: String, to restriction: Restriction?, _ app: AppIndex, _ hub: inout Hub, _ effects: inout [Hub.Effect]
    ) {
        apps[app].restrictions[Identifier(driverID)] = restriction
        guard restriction != nil, let policy = apps[app].policy else { return }
        let key = Identity(role: .driver, id: driverID).key
        for socket in connections(of: key, app: app, hub) {
            endSubscriptions(of: socket, because: Self.accountRestricted, &hub, &effects) {
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

    /// Whether the account of one of the identities' drivers is restricted.
    func hasRestrictedDriver(_ identities: [Identity], app: AppIndex) -> Bool {
        let restrictions = apps[app].restrictions
        guard !restrictions.isEmpty else { return false }
        return identities.contains { $0.role == .driver && restrictions[Identifier($0.id)] != nil }
    }
}
