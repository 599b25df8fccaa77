import Access
import FanOut
import HubFixture
import JSON
import PusherProtocol

// Fixtures for tests of the fleet channels.

extension AppRules {
    /// An application with all kinds of fleet channels, and with open channels (`lobby-*`).
    static var fleet: AppRules {
        var rules = AppRules()
        rules.channels = ChannelPolicy([
            .init("driver-*", .ownDriver), .init("drivers-channel", .anyDriver), .init("admin-channel", .admin),
            .init("tracking-*", .booking), .init("booking-*", .booking), .init("customer-*", .ownCustomer),
            .init("lobby-*", .open),
        ])
        return rules
    }
}

func driver(_ id: String, name: String? = nil) -> Identity { Identity(role: .driver, id: id, name: name) }

/// A user whose `user_data` contains `bookings`, as `/pusher/user-auth` signs it for customers.
func user(_ id: String, bookings: [String]) -> SignedInUser {
    var json = JSONWriter()
    json.raw(#"{"id":"#)
    json.string(id)
    json.raw(#","bookings":["#)
    for (index, reference) in bookings.enumerated() {
        if index > 0 { json.raw(",") }
        json.string(reference)
    }
    json.raw("]}")
    let request = SigninRequest(auth: "key:", userData: String(decoding: json.bytes, as: UTF8.self))
    guard let user = try? request.user(on: socket("1.0"), key: "key", limits: Limits(), verify: { _, _ in true }) else {
        preconditionFailure("invalid user data")
    }
    return user
}

/// The error that a driver gets for a subscription to `channel` after the job was reassigned or has ended.
func ended(_ channel: String) -> Frame {
    error("Your subscription to \(channel) has ended: the job is no longer assigned to you")
}

/// An input of the hub's own, or of the fleet.
enum FleetHubInput {
    case hub(Hub.Input)
    case fleet(FleetInput)

    static func opened(_ socket: SocketID, app: AppIndex) -> Self { .hub(.opened(socket, app: app)) }
    static func closed(_ socket: SocketID) -> Self { .hub(.closed(socket)) }
    static func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant) -> Self { .hub(.subscribe(socket, grant)) }
    static func unsubscribe(_ socket: SocketID, _ channel: ChannelName) -> Self { .hub(.unsubscribe(socket, channel)) }
    static func signin(_ socket: SocketID, _ user: SignedInUser) -> Self { .hub(.signin(socket, user)) }
    static func tick(_ now: Int64) -> Self { .hub(.tick(now)) }
    static func endLegacy(pattern: String, app: AppIndex) -> Self { .hub(.endLegacy(pattern: pattern, app: app)) }

    static func publish(_ publications: [Hub.Publication], app: AppIndex, except sender: SocketID?) -> Self {
        .hub(.publish(publications, app: app, except: sender))
    }

    static func clientEvent(_ socket: SocketID, _ event: ClientEvent, on channel: ChannelName) -> Self {
        .hub(.clientEvent(socket, event, on: channel))
    }

    /// The authorization endpoint has signed a subscription for `identity`, to a channel that no rule matches.
    static func authorized(_ socket: SocketID, _ identity: Identity) -> Self {
        .fleet(.authorized(socket, identity, device: "", channel: name("private-other")))
    }

    static func assigned(_ code: String, _ reference: String, _ driverID: String?, app: AppIndex = 0) -> Self {
        let assignment = FleetAccess.JobAssignment(orderCode: code, reference: reference, driverID: driverID)
        return .fleet(.assignment(assignment, app: app))
    }

    /// The order ends: no driver is assigned to it any longer.
    static func end(_ code: String, _ reference: String) -> Self { .assigned(code, reference, nil) }

    static func restrict(driverID: String, _ restriction: FleetAccess.Restriction?, app: AppIndex) -> Self {
        .fleet(.restrict(driverID: driverID, restriction, app: app))
    }

    static func notify(_ notifications: [FleetAccess.Notification], app: AppIndex) -> Self {
        .fleet(.notify(notifications, app: app))
    }

    static func hold(_ notification: FleetAccess.Notification, app: AppIndex) -> Self {
        .fleet(.hold(notification, app: app))
    }
}

extension Hub {
    /// A hub with the fleet on top.
    static func ofFleet(loopCount: Int, apps: [AppRules]) -> Hub {
        Hub(loopCount: loopCount, apps: apps, gate: FleetAccess(apps))
    }

    /// Applies `inputs` in order and returns all their effects.
    mutating func apply(_ inputs: FleetHubInput...) -> [Received] {
        var effects: [Effect] = []
        for input in inputs { apply(input, &effects) }
        return effects.map(Received.init)
    }

    mutating func apply(_ input: FleetHubInput, _ effects: inout [Effect]) {
        switch input {
        case .hub(let input): apply(input, &effects)
        case .fleet(let input): apply(input, &effects)
        }
    }
}

extension Hub {
    /// Assigns an order to a driver, or to no driver if `driverID` is nil.
    @discardableResult
    mutating func assign(_ code: String, _ reference: String, to driverID: String?, app: AppIndex = 0) -> [Received] {
        apply(.assigned(code, reference, driverID, app: app))
    }

    enum Outcome { case joined, rejected }

    /// Subscribes the connection `socket` to `channel`. Opens the connection first if it is not open.
    mutating func join(_ socket: SocketID, _ channel: String, app: AppIndex = 0) -> Outcome {
        if !isOpen(socket) { _ = apply(.opened(socket, app: app)) }
        return apply(.subscribe(socket, grant(channel))).contains(.send(succeeded(channel), to: socket)) ? .joined : .rejected
    }

    /// Whether the connection is open. The function unsubscribes it from an unknown channel, which causes an error for
    /// an open connection and nothing for a closed one.
    private mutating func isOpen(_ socket: SocketID) -> Bool { !apply(.unsubscribe(socket, name("no-such-channel"))).isEmpty }
}
