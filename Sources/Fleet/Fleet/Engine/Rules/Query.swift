import Access

/// A request that reads from the store.
package enum Query: Equatable, Sendable {
    case order(String)
    case route(String)
    /// The card of the driver with this id.
    case driver(String)
    /// The trip with this reference, for a person who may see it.
    case trip(reference: String, of: Identity)
    /// The driver's orders and routes that are neither completed nor cancelled.
    case jobs(driverID: String)
    /// The person's notifications, newest first: those on the person's own channel, and those of bookings that were pushed
    /// to the person. If `before` is the id of a notification, only older ones are returned.
    case notifications(of: Identity, before: String?, limit: Int)
    /// One notification with its pushes, telemetry and read marks. The id may also be one under which apps have reported
    /// steps, and which belongs to no notification.
    case notificationHistory(notificationID: String)
    /// The notifications of one channel or of all, newest first. If `before` is the id of a notification, only older ones
    /// are returned.
    case notificationLog(NotificationListing, before: String?, limit: Int)
    /// Who has confirmed a notification for all drivers.
    case notificationRecipients(notificationID: String)
    /// What became of the notifications of the last hour.
    case deliveryFigures
    /// The devices that the person has registered.
    case devices(Identity)
    case preferences(Identity)
    case account(AccountQuery)
    /// The person is a driver; of ``BatchQuery/one(_:)`` an admin.
    case batch(BatchQuery, Identity)
    /// The driver's switch.
    case availability(Identity)
}

/// What a client asks of the log of notifications.
package struct NotificationListing: Equatable, Sendable {
    /// Nil for all channels.
    package let channel: String?
    /// The code of the order that the notifications concern; nil for all notifications.
    package let orderCode: String?
    /// Nil for all states.
    package let state: NotificationFilter.State?
    /// The least age in seconds.
    package let olderThan: Int

    package init(
        channel: String? = nil, orderCode: String? = nil, state: NotificationFilter.State? = nil, olderThan: Int = 0
    ) {
        self.channel = channel
        self.orderCode = orderCode
        self.state = state
        self.olderThan = olderThan
    }

    /// The filter at a moment.
    /// - Parameter confirmTime: after so many milliseconds, a notification that is not confirmed counts as unconfirmed.
    package func filter(now: Int64, confirmTime: Int64) -> NotificationFilter {
        let age = max(Int64(olderThan) * 1_000, state == .unconfirmed ? confirmTime : 0)
        return NotificationFilter(channel: channel, state: state, createdUntil: age == 0 ? .max : now - age)
    }
}

/// A driver who is to get a notification for all drivers.
package struct NotificationRecipient: Equatable, Sendable {
    package let driverID: String
    /// Never ``ReceiptState/expired``: what a driver has confirmed stays confirmed.
    package let state: ReceiptState
    /// When the driver reached the state, in milliseconds since 1970.
    package let at: Int64

    package init(driverID: String, state: ReceiptState, at: Int64) {
        self.driverID = driverID
        self.state = state
        self.at = at
    }

    /// Whether the notification has arrived.
    package var isConfirmed: Bool { state == .confirmed || state == .acknowledged }
}

/// The result of a query. `FleetResponses` in the module HTTPAPI defines its JSON.
package enum QueryResult: Equatable, Sendable {
    case order(Order)
    case route(Route)
    case driver(DriverCard)
    case trip(TripView)
    /// Oldest first.
    case jobs([OpenJob])
    /// Newest first.
    case notifications([LoggedNotification])
    /// The notification and its steps, oldest first. The notification is nil if the id belongs to none.
    case notificationHistory(NotificationReport?, [NotificationStep])
    /// Newest first.
    case notificationLog([NotificationReport])
    /// In the order of the drivers' ids.
    case notificationRecipients([NotificationRecipient])
    case deliveryFigures(ReceiptFigures)
    /// In the order of registration.
    case devices([StoredDevice])
    case preferences(Preferences)
    case account(AccountResult)
    case batch(BatchResult)
    /// The answer needs a write: the driver reads a batch for the first time.
    case mustWrite
    case availability(AvailabilityState)
}

/// An order or route that is neither completed nor cancelled: an element of ``QueryResult/jobs(_:)``.
package enum OpenJob: Equatable, Sendable {
    case order(Order)
    case route(Route)
}
