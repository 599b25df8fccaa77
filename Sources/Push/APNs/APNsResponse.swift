import FleetRules
import HTTPClient

extension SendResult {
    /// What an answer of APNs means (PUSH.md section 1). Reasons nobody has heard of are taken by their status.
    /// - Parameters:
    ///   - sentAt: when it was asked: milliseconds since 1970.
    ///   - now: milliseconds since 1970.
    package init(apns reply: HTTPClientResponse, sentAt: Int64, now: Int64) {
        guard reply.status >= 400 else {
            let isAPNs = reply.status == 200 && reply.body.isEmpty
            let id = reply.headers["apns-id"].flatMap { $0.utf8.count <= 256 ? $0 : nil }
            self = isAPNs ? .accepted(messageID: id) : .foreign(reply)
            return
        }
        let refusal = APNsErrorBody(reply)
        let reason = refusal.reason
        self =
            switch (reply.status, reason) {
            case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"):
                .invalidToken(DeviceRemoval(reason: reason, ifSeenBefore: sentAt))
            case (410, _): .invalidToken(DeviceRemoval(reason: reason, ifSeenBefore: min(refusal.timestamp ?? sentAt, now)))
            case (400, "MissingTopic"), (400, "BadTopic"), (400, "TopicDisallowed"): .rejected(reason: reason, alarm: true)
            case (400, "IdleTimeout"), (503, "Shutdown"): .goAway(reason: reason)
            case (403, "ExpiredProviderToken"): .credentialExpired(reason: reason)
            // What else is forbidden is so for all that we send.
            case (403, _): .configurationError(reason: reason, newConnection: reason == "UnrelatedKeyIdInToken")
            // Another token would bring it again.
            case (429, "TooManyProviderTokenUpdates"): .tooManyTokens(reason: reason)
            case (429, _): .deviceThrottled(reason: reason, after: nil)
            case (500..., _): .retry(reason: reason, after: RetryAfter.milliseconds(of: reply, now: now))
            case (404, _), (405, _): .rejected(reason: reason, alarm: true)  // a wrong path
            default: .rejected(reason: reason, alarm: false)
            }
    }
}

/// What APNs says in the body of an answer that is not 200.
private struct APNsErrorBody {
    /// Its own word, else the status.
    var reason: String
    /// Since when the token has been dead, as far as it says: milliseconds since 1970.
    var timestamp: Int64?

    init(_ reply: HTTPClientResponse) {
        reason = "HTTP \(reply.status)"
        reply.readMembers { key, value in
            if key.equals("reason"), let word = value.reasonCode { reason = word }
            if key.equals("timestamp"), let time = value.integer, time > 0 { timestamp = Int64(time) }
        }
    }
}
