/// What happened to a job or route that a dispatcher has assigned to a driver. Times are milliseconds since 1970, by the
/// gateway's clock.
package enum OfferMetricsEvent: Equatable, Sendable {
    /// The driver's app has reported a view or an accept of the offer's notification, and neither before.
    case reported(Offer, at: Int64)
    /// The driver's app has reported that the driver has viewed a notification.
    case viewed(notificationID: String, at: Int64)
    /// A provider has accepted the first push of a notification.
    case pushed(notificationID: String, at: Int64)
    /// The driver has asked to accept a job or route.
    case answered(driverID: String, Offer.Subject, OfferAnswer, at: Int64)
}

/// What the driver got as the answer to an accept.
package enum OfferAnswer: Equatable, Sendable {
    case accepted
    /// Another driver had accepted it.
    case taken
    /// Refused for another reason.
    case refused
}

/// A notification that offers a job or route to one driver.
package struct Offer: Equatable, Sendable {
    /// What is offered.
    package enum Subject: Hashable, Sendable {
        /// The order's code.
        case job(String)
        /// The route's id.
        case route(String)

        /// The type of the notification's push, a label in metrics.
        package var type: String {
            switch self {
            case .job: "new_job"
            case .route: "new_route"
            }
        }
    }

    package let notificationID: String
    package let driverID: String
    package let subject: Subject
    package let createdAt: Int64
    /// When a provider accepted the first push; nil if none has.
    package let pushedAt: Int64?
    /// Whether the driver has accepted the job or route already.
    package let isAccepted: Bool

    package init(
        notificationID: String, driverID: String, subject: Subject, createdAt: Int64, pushedAt: Int64?, isAccepted: Bool = false
    ) {
        self.notificationID = notificationID
        self.driverID = driverID
        self.subject = subject
        self.createdAt = createdAt
        self.pushedAt = pushedAt
        self.isAccepted = isAccepted
    }

    /// Whether notifications of an event are offers. Batches are not: all drivers are told of them.
    package static func isOffer(event: String) -> Bool {
        event.utf8.elementsEqual("job-assigned".utf8) || event.utf8.elementsEqual("route-assigned".utf8)
    }
}
