import Fleet
import HTTPClient

extension SendResult {
    /// Maps a response of APNs (Apple, "Handling notification responses from APNs"). Unknown reasons are mapped by
    /// their status.
    /// - Parameters:
    ///   - sentAt: when the request was sent: milliseconds since 1970.
    ///   - now: the present time: milliseconds since 1970.
    package init(apns response: HTTPClientResponse, sentAt: Int64, now: Int64) {
        guard response.status >= 400 else {
            let isAPNs = response.status == 200 && response.body.isEmpty
            let id = response.headers["apns-id"].flatMap { $0.utf8.count <= 256 ? $0 : nil }
            self = isAPNs ? .accepted(messageID: id) : SendResult(foreign: response)
            return
        }
        let error = APNsErrorBody(response)
        let reason = error.reason
        self =
            switch (response.status, reason) {
            case (400, "BadDeviceToken"): .wrongEnvironment(DeviceRemoval(reason: reason, ifSeenBefore: sentAt))
            case (400, "DeviceTokenNotForTopic"): .doubtfulToken(DeviceRemoval(reason: reason, ifSeenBefore: sentAt))
            case (410, _): .invalidToken(DeviceRemoval(reason: reason, ifSeenBefore: min(error.timestamp ?? sentAt, now)))
            case (400, "MissingTopic"), (400, "BadTopic"), (400, "TopicDisallowed"): .unknownAddress(reason: reason)
            case (400, "IdleTimeout"): .goAway(reason: reason)
            case (503, "Shutdown"): .shutdown(reason: reason, after: RetryAfter.milliseconds(of: response, now: now))
            case (403, "ExpiredProviderToken"): .credentialExpired(reason: reason)
            // APNs gives a reason when it forbids something.
            case (403, _) where !error.hasReason: SendResult(foreign: response)
            // Any other 403 concerns all requests.
            case (403, _): .configurationError(reason: reason, newConnection: reason == "UnrelatedKeyIdInToken")
            // Not `credentialExpired`: a new token would cause the same error again.
            case (429, "TooManyProviderTokenUpdates"): .tooManyTokens(reason: reason)
            case (429, _):
                .deviceThrottled(reason: reason, after: RetryAfter.milliseconds(of: response, now: now))
            case (500..., _): .retry(reason: reason, after: RetryAfter.milliseconds(of: response, now: now))
            case (404, _), (405, _): .unknownAddress(reason: reason)  // a wrong path
            default: .rejected(reason: reason, alarm: false)
            }
    }
}

/// The body of an error response.
private struct APNsErrorBody {
    /// APNs' reason; if there is none, the HTTP status.
    var reason: String
    /// Whether `reason` is APNs'.
    var hasReason = false
    /// When the token became invalid, if given: milliseconds since 1970.
    var timestamp: Int64?

    init(_ response: HTTPClientResponse) {
        reason = "HTTP \(response.status)"
        response.readMembers { key, value in
            if key.equals("reason"), let code = value.reasonCode { (reason, hasReason) = (code, true) }
            if key.equals("timestamp"), let time = value.integer, time > 0 { timestamp = Int64(time) }
        }
    }
}
