import FanOut
import Primitives
import PusherProtocol

/// Who of the fleet may have which channels of a hub: the identities of its connections, the jobs of drivers, the accounts
/// that are not approved, and notifications that wait for a subscriber. ``FleetInput`` changes it.
package struct FleetAccess: HubGate {
    /// What is known of an open connection beside what the hub knows.
    struct Connection {
        let app: AppIndex
        /// Identities that the authorization endpoint verified for this connection, oldest first.
        var identities: [Identity] = []
        /// Who asked to sign each subscription, and with which device. Empty for subscriptions that a backend signed.
        var devices: [ChannelName: AuthorizedDevice] = [:]
        /// The device with which the connection's user signed in.
        var userDevice = ""
        /// The bookings of the signed-in customer.
        var bookings: [String] = []
    }

    /// What is known of an application.
    struct App {
        /// Nil unless this is the application that carries the fleet's channels (`fleet.app` in the configuration).
        let policy: ChannelPolicy?
        var jobs = JobAssignments()
        /// The drivers whose accounts are not approved, by id.
        var restrictions: [Identifier: Restriction] = [:]
        /// The connections of each identity, by ``Identity/key``. A connection may occur more than once under one key.
        var socketsByIdentity: [String: [SocketID]] = [:]
        /// Notifications that wait for a subscriber, by their own channel, in commit order.
        var recovered: [ChannelName: [Notification]] = [:]
    }

    // Three words: a larger value would be allocated anew whenever it is taken out of the hub.
    var apps: [App]
    /// Most connections are missing: those of whom only the hub knows something.
    var connections: [SocketID: Connection] = [:]
    /// The number of notifications that were dropped because too many waited for a subscriber of their channel.
    package internal(set) var droppedRecovered = 0

    /// - Parameter apps: the rules of the hub's applications, by index.
    package init(_ apps: [AppRules]) { self.apps = apps.map { App(policy: $0.channels as? ChannelPolicy) } }

    package mutating func closed(_ socket: SocketID) {
        guard let connection = connections.removeValue(forKey: socket) else { return }
        for identity in connection.identities { removeFromIndex(identity, socket, app: connection.app) }
    }

    package mutating func releaseMemory() -> Bool {
        if connections.releaseSpareCapacity() { return true }
        for app in apps.indices where apps[app].socketsByIdentity.releaseSpareCapacity() { return true }
        return false
    }
}

/// What the fleet tells of a hub's connections and channels, or publishes on them.
package enum FleetInput: Sendable {
    /// The authorization endpoint has verified this identity for the connection, and signed a subscription to `channel`
    /// or, if that is nil, a sign-in. `device` is the client's name of its device.
    case authorized(SocketID, Identity, device: String, channel: ChannelName?)
    /// A job's driver or reference has changed, or the job has ended.
    case assignment(FleetAccess.JobAssignment, app: AppIndex)
    /// Restricts a driver whose account is not approved; nil lifts the restriction.
    case restrict(driverID: String, FleetAccess.Restriction?, app: AppIndex)
    /// Committed notifications, in commit order.
    case notify([FleetAccess.Notification], app: AppIndex)
    /// Holds a notification until its channel has a subscriber. Send it at the start, in commit order, before clients
    /// connect.
    case hold(FleetAccess.Notification, app: AppIndex)
}

extension Hub {
    /// The fleet's part; nil if no fleet runs on top of the hub.
    package var fleet: FleetAccess? { gate as? FleetAccess }

    /// Applies an input of the fleet and appends its effects, as ``apply(_:_:)`` does with the hub's own.
    package mutating func apply(_ input: FleetInput, _ effects: inout [Effect]) {
        // What waits is what other notifications must wait behind.
        if case .notify(let notifications, let app) = input, !tellsGateOfSubscriptions {
            for notification in notifications { distribute(notification, app, &effects) }
            return
        }
        guard gate is FleetAccess, var fleet = takeGate() as? FleetAccess else { return }
        fleet.apply(input, &self, &effects)
        put(fleet)
    }
}

extension FleetAccess {
    fileprivate mutating func apply(_ input: FleetInput, _ hub: inout Hub, _ effects: inout [Hub.Effect]) {
        switch input {
        case .authorized(let socket, let identity, let device, let channel):
            guard let subscriber = hub.subscriber(socket) else { return }
            if channel != nil { identify(subscriber, as: identity, &hub, &effects) }
            record(subscriber, identity.key, device: device, for: channel)
        case .assignment(let assignment, let app): record(assignment, app, &hub, &effects)
        case .restrict(let id, let restriction, let app): restrict(id, to: restriction, app, &hub, &effects)
        case .notify(let notifications, let app):
            for notification in notifications { publish(notification, app, &hub, &effects) }
        case .hold(let notification, let app): hold(notification, app, &hub)
        }
    }
}
