/// An app's report about one notification: the device received it, or the user reacted to it.
package struct TelemetryEvent: Equatable, Sendable {
    /// The kind of report. Its raw value is the request's `event`.
    package enum Kind: String, CaseIterable, Sendable {
        case received
        case viewed = "action_view_now"
        case accepted = "action_accept"
        case dismissed = "action_dismiss"
    }

    /// An id of the notification that the phone knows: the notification's own, or one of a push about it. 1 to 256
    /// printable ASCII characters.
    package let notificationID: String
    /// The notification's type: `new_job`, `job_update`… or a type in the notification catalogue.
    package let type: String
    /// The id of the job or route that the notification is about, as sent. Nil if the type needs none.
    package let entityID: String?
    package let kind: Kind
    /// The device's time in ISO 8601, as sent. Nil if it had no offset: it counts as the present time.
    package let timestamp: String?
    /// The report's `title` and `message`, a JSON object; nil if the report has no `metadata`.
    package let metadata: [UInt8]?

    package init(
        notificationID: String, type: String, entityID: String?, kind: Kind, timestamp: String?, metadata: [UInt8]? = nil
    ) {
        self.notificationID = notificationID
        self.type = type
        self.entityID = entityID
        self.kind = kind
        self.timestamp = timestamp
        self.metadata = metadata
    }
}
