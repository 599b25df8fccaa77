/// The response to an executed command, before it is encoded.
///
/// `FleetResponses` in the module HTTPAPI defines its JSON. The store calls the encoder in the command's transaction
/// and stores the bytes with the command's effects: a repeated request (`Idempotency-Key`) gets the same bytes.
package enum CommandResponse: Equatable, Sendable {
    /// The string is the response's message.
    case order(String, Order, notificationIDs: [String])
    /// The string is the response's message.
    case route(String, Route, notificationIDs: [String])
    case announcement(notificationIDs: [String])
    case driver(DriverCard)
    /// The reported step, and when it was reported (milliseconds since 1970).
    case progress(JobStatus, at: Int64)
    /// The driver has taken back an arrival, at this time (milliseconds since 1970).
    case arrivalTakenBack(at: Int64)
    /// The result of a command that the gateway gave itself. No client gets it.
    case ofGateway
    /// The number of drivers to whom a notification is pushed once more.
    case reminder(Int)
    case telemetry
    /// The number of notifications that the request marked as read.
    case markedRead(Int)
    case device(DeviceRegistration.Kind, DeviceRegistration.Form)
    /// The strings are the types of the request that are not known.
    case preferences(Preferences, unknown: [String])
    case erasure(ErasureCounts)
    case account(AccountResponse)
    case batch(BatchAnswer)
    case availability(AvailabilityState)
    case code(SignInCodeResponse)

    /// The same response with another message. Only responses with an order or a route have a message.
    func withMessage(_ message: String) -> CommandResponse {
        switch self {
        case .order(_, let order, let ids): .order(message, order, notificationIDs: ids)
        case .route(_, let route, let ids): .route(message, route, notificationIDs: ids)
        case .announcement, .driver, .reminder, .progress, .arrivalTakenBack, .ofGateway, .telemetry, .markedRead, .device,
            .preferences, .erasure,
            .account, .batch, .availability, .code:
            self
        }
    }

    /// Encodes a response as JSON. Some responses contain the request's correlation id.
    package typealias Encoder = @Sendable (CommandResponse, _ correlationID: String) -> [UInt8]
}

/// The numbers of rows that the erasure of a person's data deleted or cleared in its transaction, by kind.
package struct ErasureCounts: Equatable, Sendable {
    package var devices = 0
    package var preferences = 0
    /// Push jobs that were not sent yet.
    package var pushes = 0
    /// Stored responses to requests with an idempotency key.
    package var storedResponses = 0
    /// Orders whose driver's or customer's name was cleared.
    package var orders = 0
    /// Routes whose driver's name was cleared.
    package var routes = 0
    /// Notes and positions in the audit log.
    package var auditDetails = 0
    /// Details of notification steps.
    package var stepDetails = 0

    package init() {}
}
