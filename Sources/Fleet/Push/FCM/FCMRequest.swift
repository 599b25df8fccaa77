import Fleet
import HTTPClient
import JSON

/// FCM's server and the Firebase project.
package struct FCMAddress: Equatable, Sendable {
    /// Normally `https://fcm.googleapis.com`; without a trailing slash.
    package var baseURL: String
    package var projectID: String

    package init(baseURL: String, projectID: String) {
        self.baseURL = baseURL
        self.projectID = projectID
    }

    /// Maximum bytes of a payload: FCM's limit of 4,096 for Android and Apple devices (Firebase, "About FCM messages"),
    /// less 384 for further members that count towards it. For Apple devices FCM adds its own (`gcm.message_id`,
    /// `google.c.…`); for Android this request adds channel, sound and tag.
    package static let payloadBytesMax = 4_096 - 384

    /// The request that shows a message on a device. It has a part for Android and one for Apple, because many
    /// registrations do not give the device's platform.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - authorization: the header's whole value, `Bearer …`.
    package func request(
        _ message: PushMessage, to device: PushJob.Device, at now: Int64, authorization: String
    ) -> HTTPClientRequest {
        let payload = PushPayload(message, bytesMax: Self.payloadBytesMax - message.channelID.utf8.count)
        var json = JSONWriter(capacity: 2 * (payload.aps.count + payload.data.count) + 512)
        json.object {
            $0.member("message") {
                $0.member("token", device.token.text)
                $0.member("notification") { $0.alert(payload.message) }
                $0.member("data") { $0.raw(payload.data) }
                $0.member("android") { $0.android(payload.message, at: now) }
                $0.member("apns") { $0.apple(payload) }
            }
        }
        return HTTPClientRequest(
            .post, "\(baseURL)/v1/projects/\(projectID)/messages:send",
            headers: [("authorization", authorization), ("content-type", "application/json")], body: json.bytes)
    }
}

extension JSONWriter {
    /// FCM's maximum lifetime of a message in seconds: 28 days.
    private static let lifetimeSecondsMax: Int64 = 2_419_200

    /// The members of `android`.
    fileprivate mutating func android(_ message: PushMessage, at now: Int64) {
        member("priority", message.isHighPriority ? "HIGH" : "NORMAL")
        member("ttl", "\(min(max((message.expiresAt - now) / 1000, 0), Self.lifetimeSecondsMax))s")
        member("collapse_key", ifPresent: message.collapseKey?.rawValue)
        member("notification") {
            $0.member("tag", message.collapseID)
            $0.member("channel_id", ifNotEmpty: message.channelID)
            $0.member("sound", ifNotEmpty: message.sound)
            $0.member("notification_count", message.badge)
        }
    }

    /// The members of `apns`.
    fileprivate mutating func apple(_ payload: PushPayload) {
        let message = payload.message
        member("headers") {
            $0.member("apns-push-type", "alert")
            $0.member("apns-priority", message.apnsPriority)
            $0.member("apns-expiration", message.apnsExpiration)
            $0.member("apns-collapse-id", message.collapseID)
        }
        member("payload") { $0.member("aps", json: payload.aps) }
    }
}
