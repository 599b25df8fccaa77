import JSON
import PusherProtocol

/// Fleetwire's own webhook events, which only the backend of the fleet's application gets.
extension WebhookEvent {
    /// A push failed and will not be retried.
    package static func notificationFailed(
        notificationID: String, userID: String, provider: String, reason: String
    ) -> WebhookEvent {
        var json = JSONWriter()
        json.object {
            $0.member("name", "notification_failed")
            $0.member("notificationId", notificationID)
            $0.member("userId", userID)
            $0.member("provider", provider)
            $0.member("reason", reason)
        }
        return .other(.notificationFailed, json: json.bytes)
    }

    /// A device was removed because its token is invalid. `token` is masked.
    package static func deviceRemoved(userID: String, provider: String, token: String, reason: String) -> WebhookEvent {
        var json = JSONWriter()
        json.object {
            $0.member("name", "device_removed")
            $0.member("userId", userID)
            $0.member("provider", provider)
            $0.member("token", token)
            $0.member("reason", reason)
        }
        return .other(.deviceRemoved, json: json.bytes)
    }
}

extension WebhookKinds {
    package static let notificationFailed = WebhookKinds.other(0)
    package static let deviceRemoved = WebhookKinds.other(1)

    /// Every kind of the fleet, with its name in the configuration and in webhooks.
    package static let namesOfFleet: [(name: String, kind: WebhookKinds)] = [
        ("notification_failed", .notificationFailed), ("device_removed", .deviceRemoved),
    ]
}
