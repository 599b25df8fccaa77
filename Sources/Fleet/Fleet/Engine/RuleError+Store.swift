import Primitives

// Why requests are refused because of what is stored.

extension RuleError.Code {
    /// The request is not the one that was stored with the key.
    package static let keyReuse = Self("keyReuse", .conflict, "Idempotency-Key \"{}\" was already used for a different request")
    package static let unknownDriver = Self("unknownDriver", .unknown, "Driver {} not found")
    /// A page of accounts begins behind one that does not exist.
    package static let unknownPageStart = Self("unknownPageStart", .invalid, "before: no such account")

    // MARK: Notifications

    package static let unknownNotification = Self("unknownNotification", .unknown, "Notification {} not found")
    /// A page of notifications begins behind one that does not exist.
    package static let unknownPosition = Self("unknownPosition", .invalid, "before: no such notification")
    /// Only of those for all drivers the recipients are counted.
    package static let hasOwnSteps = Self(
        "hasOwnSteps", .invalid, "Notification {} is not for all drivers: see its own steps")
    /// Only those for all drivers are pushed once more.
    package static let notForEveryDriver = Self("notForEveryDriver", .conflict, "Notification {} is not for all drivers")
    package static let notificationExpired = Self("notificationExpired", .conflict, "Notification {} has expired")
}
