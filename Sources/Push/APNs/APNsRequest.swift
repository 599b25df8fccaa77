import Crypto
import FleetRules
import HTTPClient
import JSON

/// Where one of APNs' environments is, and for which app it is asked.
package struct APNsAddress: Equatable, Sendable {
    package var host: String
    package var port: Int
    /// The app's bundle id.
    package var topic: String

    package init(host: String, port: Int, topic: String) {
        self.host = host
        self.port = port
        self.topic = topic
    }

    /// Bytes of a payload (PUSH.md section 1).
    package static let payloadBytesMax = 4_096

    /// The request that shows a message on a phone. Sent again it has the same `apns-id`: APNs tells nothing twice apart by it,
    /// but its log and ours speak of one thing.
    /// - Parameter authorization: the header's whole value, `bearer …`.
    package func request(_ message: PushMessage, to device: PushJob.Device, authorization: String) -> HTTPClientRequest {
        let payload = PushPayload(message, bytesMax: Self.payloadBytesMax)
        var json = JSONWriter(capacity: payload.aps.count + payload.data.count + 16)
        json.raw(#"{"aps":"#)
        json.raw(payload.aps)
        if !payload.data.isEmpty { json.raw(",") }
        json.raw(payload.data)
        json.raw("}")
        return HTTPClientRequest(
            .post, "https://\(urlHost):\(port)/3/device/\(device.token.text)",
            headers: [
                ("authorization", authorization), ("content-type", "application/json"), ("apns-topic", topic),
                ("apns-push-type", "alert"), ("apns-id", Self.id(of: message, to: device)),
                ("apns-priority", message.apnsPriority), ("apns-expiration", message.apnsExpiration),
                ("apns-collapse-id", message.collapseID),
            ], body: json.bytes)
    }

    /// The host as URLs write it: IPv6 addresses in brackets.
    private var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    /// One for each notification and phone.
    package static func id(of message: PushMessage, to device: PushJob.Device) -> String {
        StableID.uuid(of: "\(message.notificationID):\(device.id)")
    }
}

extension PushMessage {
    /// At once, or when it suits the phone's battery.
    var apnsPriority: String { isHighPriority ? "10" : "5" }

    /// Seconds since 1970.
    var apnsExpiration: String { String(expiresAt / 1000) }
}
