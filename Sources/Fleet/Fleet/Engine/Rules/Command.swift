import Access
import Primitives

/// A write request. The command, the stored state and the time determine the result.
package struct Command: Equatable, Sendable {
    /// The requested change.
    package enum Action: Equatable, Sendable {
        case order(OrderAction)
        case route(RouteAction)
        /// The actor, a driver, accepts the order with this code or, if there is none, with this bookingId.
        case acceptJob(String)
        /// The actor, a driver, accepts the route with this id.
        case acceptRoute(String)
        /// The actor, a driver, reports a step of the order. The string identifies the order as in `acceptJob`.
        case progress(String, ProgressReport)
        /// The actor, an admin, takes back the arrival at the pickup of the order with this code.
        case correctArrival(String, reason: String?)
        /// The gateway itself, in the name of the actor, a driver, does something for a trip.
        case trip(TripStep)
        /// The actor, an admin, sends a notification.
        case announce(Announcement)
        /// The actor, an admin, pushes a notification for all drivers to those who have not confirmed it.
        case remind(notificationID: String)
        case telemetry([TelemetryEvent])
        /// Marks the actor's notifications with these ids as read; nil: all of the actor's notifications.
        case markRead([String]?)
        /// The actor, an admin, changes the card of the driver with this id.
        case driverCard(driverID: String, DriverCardChanges)
        /// Registers or unregisters a device of the actor.
        case device(DeviceRegistration)
        case updatePreferences(PreferenceChanges)
        /// Deletes a person's data: devices, preferences, a driver's card, positions, name.
        case erase(Role, id: String)
        case account(AccountCommand)
        case batch(BatchCommand)
        /// The actor, a driver, wants to hear of new batches, or no longer.
        case switchAvailability(isOnline: Bool)
        /// The gateway itself takes a driver offline who was away for long.
        case endAvailability(accountID: ObjectID)
        case code(SignInCodeCommand)
    }

    package let actor: Identity
    package let action: Action
    package let correlationID: String
    /// From `If-Match`: one of these versions the order, route or driver's card must have; nil if any version will do.
    package let expectedVersions: [Int]?
    /// Nil if the request has no `Idempotency-Key`.
    package let idempotencyKey: IdempotencyKey?
    /// Of a request without a token: the client's address, of IPv6 its /64. Nil if the request has a token, or its client is
    /// gone.
    package var client: String?

    /// Identifies a request that a client may send again. The store then responds with the stored response.
    package struct IdempotencyKey: Equatable, Sendable {
        /// 1 to 255 characters, chosen by the client.
        package let text: String
        /// SHA-256 of method, path and the body in canonical JSON: equal for the same request, however it is formatted.
        package let digest: [UInt8]

        package init(_ text: String, digest: [UInt8]) {
            self.text = text
            self.digest = digest
        }
    }

    package init(
        actor: Identity, action: Action, correlationID: String, expectedVersions: [Int]? = nil,
        idempotencyKey: IdempotencyKey? = nil
    ) {
        self.actor = actor
        self.action = action
        self.correlationID = correlationID
        self.expectedVersions = expectedVersions
        self.idempotencyKey = idempotencyKey
    }
}
