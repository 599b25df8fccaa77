import Access

/// A request that reads from the store.
package enum Query: Equatable, Sendable {
    case order(String)
    case route(String)
    /// The driver's orders and routes that are neither completed nor cancelled.
    case jobs(driverID: String)
    /// The person's notifications, newest first: those on the person's own channel, and those of bookings that were pushed
    /// to the person. If `before` is the id of a notification, only older ones are returned.
    case notifications(of: Identity, before: String?, limit: Int)
    /// One notification with its pushes, telemetry and read marks. The id may also be one under which apps have reported
    /// steps, and which belongs to no notification.
    case notificationHistory(notificationID: String)
    /// The notifications on one channel, or on all if `channel` is nil, newest first. If `before` is the id of a
    /// notification, only older ones are returned.
    case notificationLog(channel: String?, before: String?, limit: Int)
    /// The devices that the person has registered.
    case devices(Identity)
    case preferences(Identity)
}

/// The result of a query. `FleetResponses` in the module HTTPAPI defines its JSON.
package enum QueryResult: Equatable, Sendable {
    case order(Order)
    case route(Route)
    /// Oldest first.
    case jobs([OpenJob])
    /// Newest first.
    case notifications([LoggedNotification])
    /// The notification and its steps, oldest first. The notification is nil if the id belongs to none.
    case notificationHistory(LoggedNotification?, [NotificationStep])
    /// Newest first.
    case notificationLog([LoggedNotification])
    /// In the order of registration.
    case devices([StoredDevice])
    case preferences(Preferences)
}

/// An order or route that is neither completed nor cancelled: an element of ``QueryResult/jobs(_:)``.
package enum OpenJob: Equatable, Sendable {
    case order(Order)
    case route(Route)
}
