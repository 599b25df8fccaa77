import JSON
import Primitives

/// The bodies of the fleet API's responses to commands and queries that succeeded. ``Envelope`` writes the errors.
///
/// Each group of paths has its own shapes, which must not change: existing apps parse them.
package enum FleetResponses {
    /// The body of the response to an executed command.
    package static func body(of response: CommandResponse, correlationID: String) -> [UInt8] {
        switch response {
        case .order(let message, let order, let notificationIDs):
            success(message, correlationID) { data in
                data.key("order")
                order.write(to: &data)
                data.member("notificationIds", notificationIDs)
            }
        case .route(let message, let route, let notificationIDs):
            success(message, correlationID) { data in
                data.key("route")
                route.write(to: &data)
                data.member("notificationIds", notificationIDs)
            }
        case .announcement(let notificationIDs):
            success("Notification sent", correlationID) { $0.member("notificationIds", notificationIDs) }
        case .driver(let card):
            success("Driver updated", correlationID) { data in
                data.key("driver")
                card.write(to: &data)
            }
        case .reminder(let count): success("Reminder sent", correlationID) { $0.member("reminded", count) }
        case .progress(let step, let milliseconds):
            success("Progress updated") { data in
                data.member("step", step.rawValue)
                data.member("timestamp", time: milliseconds)
            }
        case .arrivalTakenBack(let milliseconds):
            success("Arrival taken back") { data in
                data.member("step", JobStatus.enRoute.rawValue)
                data.member("timestamp", time: milliseconds)
            }
        case .telemetry, .ofGateway: object { $0.member("success", true) }
        case .markedRead(let count): success(nil, correlationID) { $0.member("read", count) }
        case .device(_, .appDevice): object { $0.member("success", true) }
        case .device(.register, .fcmToken): message("FCM token registered")
        case .device(.unregister, .fcmToken): message("FCM token removed")
        case .preferences(let preferences, let unknown): body(of: preferences, unknown: unknown)
        case .account(let response): body(of: response, correlationID: correlationID)
        case .batch(let response): body(of: response, correlationID: correlationID)
        case .availability(let state): body(of: state, "Availability updated")
        case .code(let response): body(of: response)
        case .erasure(let counts): success("Person erased", correlationID) { counts.writeMembers(to: &$0) }
        }
    }

    /// The body of the response to a query.
    package static func body(of result: QueryResult) -> [UInt8] {
        switch result {
        case .order(let order):
            success { data in
                data.key("order")
                order.write(to: &data)
            }
        case .route(let route):
            success { data in
                data.key("route")
                route.write(to: &data)
            }
        case .driver(let card):
            success { data in
                data.key("driver")
                card.write(to: &data)
            }
        case .trip(let view): view.statusBody
        case .jobs(let jobs): success { $0.member("jobs", jobs) { $1.write(to: &$0) } }
        case .notifications(let page):
            success { $0.member("notifications", page) { $1.writeForRecipient(to: &$0) } }
        case .notificationHistory(let notification, let steps):
            object {
                $0.key("notification")
                if let notification { notification.write(to: &$0) } else { $0.raw("null") }
                $0.member("steps", steps) { $1.write(to: &$0) }
            }
        case .notificationLog(let page):
            object { $0.member("notifications", page) { $1.write(to: &$0) } }
        case .notificationRecipients(let recipients):
            object {
                $0.member("confirmed", recipients.count { $0.isConfirmed })
                $0.member("unconfirmed", recipients.count { !$0.isConfirmed })
                $0.member("drivers", recipients) { $1.write(to: &$0) }
            }
        case .deliveryFigures(let figures): object { figures.writeMembers(to: &$0) }
        case .devices(let devices): success { $0.member("devices", devices) { $1.write(to: &$0) } }
        case .preferences(let preferences): body(of: preferences)
        case .account(let result): body(of: result)
        case .batch(let result): body(of: result)
        case .unacknowledged: preconditionFailure("a command answers the first reading of a batch")
        case .availability(let state): body(of: state, "Availability")
        }
    }

    // MARK: Shapes

    /// `{"success":true,"message":…,"data":{…},"correlationId":…}`. A nil `message` or `correlationId` is left out.
    static func success(
        _ message: String? = nil, _ correlationID: String? = nil, _ data: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        object {
            $0.member("success", true)
            $0.member("message", ifPresent: message)
            $0.member("data") { data(&$0) }
            $0.member("correlationId", ifPresent: correlationID)
        }
    }

    /// `{"message":…,"data":null,"error":null}`: `/api/auth/*`.
    private static func message(_ text: String) -> [UInt8] {
        object {
            $0.member("message", text)
            $0.member("data", nil as String?)
            $0.member("error", nil as String?)
        }
    }

    /// `{"message":…,"data":{…},"error":null}`: `/api/auth/*`.
    static func message(_ text: String, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
        object {
            $0.member("message", text)
            $0.member("data") { data(&$0) }
            $0.member("error", nil as String?)
        }
    }

    /// - Parameter unknown: types that were not stored; left out if there are none.
    private static func body(of preferences: Preferences, unknown: [String] = []) -> [UInt8] {
        object {
            $0.member("success", true)
            $0.member("data") {
                preferences.writeMembers(to: &$0)
                if !unknown.isEmpty { $0.member("unknown", unknown) }
            }
        }
    }

    private static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.object(members)
        return json.bytes
    }
}

// MARK: Values

extension OpenJob {
    fileprivate func write(to json: inout JSONWriter) {
        json.object {
            switch self {
            case .order(let order):
                $0.member("type", "order")
                order.writeMembers(to: &$0)
            case .route(let route):
                $0.member("type", "route")
                route.writeMembers(to: &$0)
            }
        }
    }
}

extension LoggedNotification {
    fileprivate func writeForRecipient(to json: inout JSONWriter) {
        json.object {
            $0.member("id", notification.id)
            $0.member("event", notification.event)
            $0.member("channel", notification.channel)
            $0.member("data", json: notification.data)
            $0.member("createdAt", time: notification.createdAt)
            $0.member("readAt", time: readAt)
        }
    }
}

extension NotificationReport {
    fileprivate func write(to json: inout JSONWriter) {
        let notification = logged.notification
        json.object {
            $0.member("id", notification.id)
            $0.member("channel", notification.channel)
            $0.member("sequence", logged.sequence)
            $0.member("event", notification.event)
            $0.member("state", state.rawValue)
            $0.member("data", json: notification.data)
            $0.member("createdAt", time: notification.createdAt)
            $0.member("expiresAt", time: notification.expiresAt)
            $0.member("writtenAt", time: times.writtenAt)
            $0.member("confirmedAt", time: times.confirmedAt)
            $0.member("acknowledgedAt", time: times.acknowledgedAt)
            $0.member("collapseKey", notification.collapseKey)
            $0.member("correlationId", logged.correlationID)
            $0.member("actor", logged.actor)
            $0.member("action", logged.action)
            $0.member("readAt", time: logged.readAt)
        }
    }
}

extension NotificationRecipient {
    fileprivate func write(to json: inout JSONWriter) {
        json.object {
            $0.member("driverId", driverID)
            $0.member("state", state.rawValue)
            $0.member("at", time: at)
        }
    }
}

extension ReceiptFigures {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("created", created)
        json.member("written", written)
        json.member("confirmed", confirmed)
        json.member("acknowledged", acknowledged)
        json.member("pushed", pushed)
        json.member("unconfirmed", unconfirmed)
        json.member("p50Ms", median)
        json.member("p99Ms", percentile99)
    }
}

extension NotificationStep {
    fileprivate func write(to json: inout JSONWriter) {
        json.object {
            $0.member("step", step)
            $0.member("at", time: at)
            $0.member("by", ifPresent: subject.isEmpty ? nil : subject)
            $0.member("device", ifPresent: device)
            $0.member("toldAt", ifPresent: reportedAt)
            $0.member("detail", jsonIfPresent: detail)
        }
    }
}

extension StoredDevice {
    fileprivate func write(to json: inout JSONWriter) {
        json.object {
            $0.member("provider", provider.rawValue)
            $0.member("platform", platform?.rawValue)
            $0.member("environment", environment?.rawValue)
            $0.member("token", maskedToken)
            $0.member("registeredAt", time: registeredAt)
            $0.member("lastSeenAt", time: lastSeenAt)
        }
    }
}

extension ErasureCounts {
    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("devices", devices)
        json.member("preferences", preferences)
        json.member("pushes", pushes)
        json.member("answers", storedResponses)
        json.member("orders", orders)
        json.member("routes", routes)
        json.member("reports", auditDetails)
        json.member("telemetry", stepDetails)
    }
}
