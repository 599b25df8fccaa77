import Access
import FanOut
import JSON
import PusherProtocol

// What the tests of the fleet's channels speak of besides the rest.

extension AppRules {
    /// An application with the fleet's channels, as the contract names them, and some that are open.
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

/// A user as our own endpoint signs him in.
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
        preconditionFailure("not a user")
    }
    return user
}

/// What the loser of a job is told.
func ended(_ channel: String) -> Frame { error("Your subscription to \(channel) has ended: the job is no longer yours") }

extension Hub.Input {
    static func holding(_ code: String, _ reference: String, _ driverID: String?, app: AppIndex = 0) -> Hub.Input {
        .assignment(Hub.JobAssignment(code: code, reference: reference, driverID: driverID), app: app)
    }

    /// The order has come to its end.
    static func end(_ code: String, _ reference: String) -> Hub.Input { .holding(code, reference, nil) }
}

extension Hub {
    /// An order goes to a driver, or back to nobody.
    @discardableResult
    mutating func assign(_ code: String, _ reference: String, to driverID: String?, app: AppIndex = 0) -> [Delivery] {
        mail(.holding(code, reference, driverID, app: app))
    }

    enum Outcome { case joined, refused }

    /// Subscribes, opening the connection if need be.
    mutating func join(_ socket: SocketID, _ channel: String, app: AppIndex = 0) -> Outcome {
        if !isOpen(socket) { _ = mail(.opened(socket, app: app)) }
        return mail(.subscribe(socket, grant(channel))).contains(.send(succeeded(channel), to: socket)) ? .joined : .refused
    }

    /// A connection that is open answers an unsubscription from nothing; one that is not does not.
    private mutating func isOpen(_ socket: SocketID) -> Bool { !mail(.unsubscribe(socket, name("no-such-channel"))).isEmpty }
}
