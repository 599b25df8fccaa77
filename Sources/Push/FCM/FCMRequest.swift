import FleetRules
import HTTPClient
import JSON

/// FCM's server and the Firebase project.
package struct FCMAddress: Equatable, Sendable {
    /// `https://fcm.googleapis.com`, without a trailing slash.
    package var baseURL: String
    package var projectID: String

    package init(baseURL: String, projectID: String) {
        self.baseURL = baseURL
        self.projectID = projectID
    }

    /// Maximum bytes of a payload: 4,096 for Android and Apple devices (Firebase, "About FCM messages"), less the members
    /// beside it. FCM adds its own for Apple (`gcm.message_id`, `google.c.…`), this request channel, sound and tag for
    /// Android.
    package static let payloadBytesMax = 4_096 - 384

    /// The request that shows a message on a device. It has a part for Android and one for Apple: many registrations do
    /// not tell which it is.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - authorization: the header's whole value, `Bearer …`.
    package func request(
        _ message: PushMessage, to device: PushJob.Device, at now: Int64, authorization: String
    ) -> HTTPClientRequest {
        let payload = PushPayload(message, bytesMax: Self.payloadBytesMax - message.channelID.utf8.count)
        var json = JSONWriter(capacity: 2 * (payload.aps.count + payload.data.count) + 512)
        json.raw(#"{"message":{"token":"#)
        json.string(device.token.text)
        json.raw(#","notification":{"#)
        json.alert(payload.message)
        json.raw(#"},"data":{"#)
        json.raw(payload.data)
        json.raw("},")
        json.android(payload.message, at: now)
        json.apple(payload)
        json.raw("}}")
        return HTTPClientRequest(
            .post, "\(baseURL)/v1/projects/\(projectID)/messages:send",
            headers: [("authorization", authorization), ("content-type", "application/json")], body: json.bytes)
    }
}

extension JSONWriter {
    /// FCM's maximum lifetime of a message in seconds: 28 days.
    private static let lifetimeSecondsMax: Int64 = 2_419_200

    fileprivate mutating func android(_ message: PushMessage, at now: Int64) {
        raw(#""android":{"priority":"#)
        raw(message.isHighPriority ? #""HIGH""# : #""NORMAL""#)
        raw(#","ttl":""#)
        integer(min(max((message.expiresAt - now) / 1000, 0), Self.lifetimeSecondsMax))
        raw(#"s""#)
        member(#","collapse_key":"#, message.collapseKey?.rawValue ?? "")
        raw(#","notification":{"tag":"#)
        string(message.collapseID)
        member(#","channel_id":"#, message.channelID)
        member(#","sound":"#, message.sound)
        raw(#","notification_count":"#)
        integer(message.badge)
        raw("}}")
    }

    fileprivate mutating func apple(_ payload: PushPayload) {
        let message = payload.message
        raw(#","apns":{"headers":{"apns-push-type":"alert","apns-priority":"#)
        string(message.apnsPriority)
        raw(#","apns-expiration":"#)
        string(message.apnsExpiration)
        raw(#","apns-collapse-id":"#)
        string(message.collapseID)
        raw(#"},"payload":{"aps":"#)
        raw(payload.aps)
        raw("}}")
    }
}
