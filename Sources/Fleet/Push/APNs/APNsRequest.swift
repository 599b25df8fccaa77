import Crypto
import Fleet
import HTTPClient
import JSON

/// The server of an APNs environment, and the app's topic.
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

    /// Maximum bytes of a payload (Apple, "Generating a remote notification").
    package static let payloadBytesMax = 4_096

    /// The request that shows a message on a device. All attempts have the same `apns-id`, so that the logs of APNs and
    /// Fleetwire show the same id. APNs does not use it to detect repeated pushes.
    /// - Parameter authorization: the header's whole value, `bearer …`.
    package func request(_ message: PushMessage, to device: PushJob.Device, authorization: String) -> HTTPClientRequest {
        let payload = PushPayload(message, bytesMax: Self.payloadBytesMax)
        var json = JSONWriter(capacity: payload.aps.count + payload.data.count + 16)
        json.object {
            $0.member("aps", json: payload.aps)
            guard !payload.data.isEmpty else { return }
            $0.separate()
            $0.raw(payload.data)
        }
        return HTTPClientRequest(
            .post, "https://\(urlHost):\(port)/3/device/\(device.token.text)",
            headers: [
                ("authorization", authorization), ("content-type", "application/json"), ("apns-topic", topic),
                ("apns-push-type", "alert"), ("apns-id", Self.id(of: message, to: device)),
                ("apns-priority", message.apnsPriority), ("apns-expiration", message.apnsExpiration),
                ("apns-collapse-id", message.collapseID),
            ], body: json.bytes)
    }

    /// The host as URLs contain it: an IPv6 address is in brackets.
    private var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    /// The `apns-id`: a UUID that depends only on the notification and the device.
    package static func id(of message: PushMessage, to device: PushJob.Device) -> String {
        StableID.uuid(of: "\(message.notificationID):\(device.id)")
    }
}

extension PushMessage {
    /// 10: deliver at once. 5: deliver when it suits the device's battery.
    var apnsPriority: String { isHighPriority ? "10" : "5" }

    /// When APNs stops trying to deliver the push: seconds since 1970.
    var apnsExpiration: String { String(expiresAt / 1000) }
}
