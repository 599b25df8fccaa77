import Access
import JSON

/// What dispatchers learn about a notification that one of them has sent to a driver: the event `delivery-updated` on
/// `admin-channel`. It is neither logged nor pushed nor replayed.
package struct NotificationUpdate: Equatable, Sendable {
    /// What has happened to the notification. The raw value is its name in the event.
    package enum State: String, Sendable {
        /// A device of the driver has confirmed it, for the first time.
        case confirmed
        /// A push provider has accepted the first push.
        case pushed
        /// A push has failed, and none of the driver's other devices has got one or will.
        case pushFailed = "push_failed"
        /// `delivery.confirm_seconds` have passed, and no device has confirmed it.
        case unconfirmed
    }

    package static let event = "delivery-updated"

    package let notificationID: String
    /// The notification's event.
    package let notified: String
    package let driverID: String
    /// Nil if the notification concerns no order.
    package let bookingReference: String?
    /// Nil if the notification concerns no route.
    package let routeID: String?
    package let state: State
    /// Milliseconds since 1970.
    package let at: Int64

    /// Members of an event's data that name what it concerns. Revocations call the reference `orderRef`.
    private enum Member: String, CaseIterable {
        case bookingReference, orderRef, routeId
    }

    /// Nil unless the notification is for a driver and an admin has caused it.
    package init?(_ logged: LoggedNotification, _ state: State, at: Int64) {
        let notification = logged.notification
        let prefix = FleetChannel.driver("").name
        guard notification.channel.utf8.starts(with: prefix.utf8), Identity(key: logged.actor)?.role == .admin
        else { return nil }
        let members = try? JSONMembers<Member>(of: notification.data)
        notificationID = notification.id
        notified = notification.event
        driverID = String(Substring(notification.channel.utf8.dropFirst(prefix.utf8.count)))
        bookingReference = members?.text(.bookingReference) ?? members?.text(.orderRef)
        routeID = members?.text(.routeId)
        self.state = state
        self.at = at
    }

    /// The event's data, a JSON object.
    package var data: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("notificationId", notificationID)
            $0.member("event", notified)
            $0.member("driverId", driverID)
            $0.member("bookingReference", ifPresent: bookingReference)
            $0.member("routeId", ifPresent: routeID)
            $0.member("state", state.rawValue)
            $0.member("at", time: at)
        }
        return json.bytes
    }
}

extension JSONMembers {
    fileprivate func text(_ name: Name) -> String? {
        if case .text(let text) = self[name] { text } else { nil }
    }
}
