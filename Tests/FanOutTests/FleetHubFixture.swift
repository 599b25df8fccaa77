import Access
import FanOut
import JSON
import PusherProtocol

// Fixtures for tests of the fleet channels.

extension AppRules {
    /// An application with all kinds of fleet channels, and with open channels (`lobby-*`).
    static var fleet: AppRules {
        var rules = AppRules()
        rules.policy = ChannelPolicy([
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

extension Hub.Input {
    static func assigned(_ code: String, _ reference: String, _ driverID: String?, app: AppIndex = 0) -> Hub.Input {
        .assignment(Hub.JobAssignment(orderCode: code, reference: reference, driverID: driverID), app: app)
    }

    /// The authorization endpoint has signed a subscription for `identity`, to a channel that no rule matches.
    static func authorized(_ socket: SocketID, _ identity: Identity) -> Hub.Input {
        .authorized(socket, identity, device: "", channel: name("private-other"))
    }

    /// The order ends: no driver is assigned to it any longer.
    static func end(_ code: String, _ reference: String) -> Hub.Input { .assigned(code, reference, nil) }
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
