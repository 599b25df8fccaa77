import Fleet
import HTTPClient
import JSON
import Primitives

extension SendResult {
    /// Maps a response of FCM: by FCM's error code (`ErrorCode` of the HTTP v1 API), else by the status name, else by
    /// the HTTP status.
    /// - Parameters:
    ///   - sentAt: when the request was sent: milliseconds since 1970.
    ///   - now: the present time: milliseconds since 1970.
    package init(fcm response: HTTPClientResponse, sentAt: Int64, now: Int64) {
        guard response.status >= 400 else {
            self = FCMSuccessBody(response).map { .accepted(messageID: $0.messageID) } ?? SendResult(foreign: response)
            return
        }
        let error = FCMErrorBody(response)
        // FCM gives a status name when it forbids something.
        if response.status == 403, error.errorCode == nil, error.status == nil {
            self = SendResult(foreign: response)
            return
        }
        let after = RetryAfter.milliseconds(of: response, now: now)
        self =
            error.errorCode.flatMap { Self.fcm(errorCode: $0, error, after, sentAt) }
            ?? error.status.flatMap { Self.fcm(status: $0, error, after, sentAt) }
            ?? Self.fcm(http: response.status, after)
    }

    /// Nil for unknown codes and for `UNSPECIFIED_ERROR`, which gives no reason.
    private static func fcm(errorCode code: String, _ error: FCMErrorBody, _ after: Int64?, _ sentAt: Int64) -> SendResult? {
        switch code {
        case "UNREGISTERED": .invalidToken(DeviceRemoval(reason: code, ifSeenBefore: sentAt))
        case "SENDER_ID_MISMATCH": .doubtfulToken(DeviceRemoval(reason: code, ifSeenBefore: sentAt))
        case "INVALID_ARGUMENT": invalidArgument(error, mayBeToken: !error.isTooBig, sentAt)
        // The APNs key stored at Firebase is invalid. The access token and the device token are valid.
        case "THIRD_PARTY_AUTH_ERROR": .rejected(reason: code, alarm: true)
        case "QUOTA_EXCEEDED": quotaExceeded(code, error, after)
        case "UNAVAILABLE", "INTERNAL": .retry(reason: code, after: after)
        default: nil
        }
    }

    /// Nil for status names that do not determine the result.
    private static func fcm(status: String, _ error: FCMErrorBody, _ after: Int64?, _ sentAt: Int64) -> SendResult? {
        switch status {
        case "INVALID_ARGUMENT": invalidArgument(error, mayBeToken: false, sentAt)
        case "UNAUTHENTICATED": .credentialExpired(reason: status)
        case "PERMISSION_DENIED": .configurationError(reason: status, newConnection: false)
        case "NOT_FOUND": .unknownAddress(reason: status)  // an unknown project; an invalid token is UNREGISTERED
        case "RESOURCE_EXHAUSTED": quotaExceeded(status, error, after)
        case "UNAVAILABLE", "INTERNAL": .retry(reason: status, after: after)
        default: nil
        }
    }

    private static func fcm(http status: Int, _ after: Int64?) -> SendResult {
        let reason = "HTTP \(status)"
        return switch status {
        case 401: .credentialExpired(reason: reason)
        case 403: .configurationError(reason: reason, newConnection: false)
        case 429: .retry(reason: reason, after: after ?? Timing.fcmQuotaPause)
        case 500...: .retry(reason: reason, after: after)
        case 404, 405: .unknownAddress(reason: reason)  // a wrong path: for an invalid token FCM adds an error code
        default: .rejected(reason: reason, alarm: false)
        }
    }

    /// The quota of the project or of the device is exceeded.
    private static func quotaExceeded(_ reason: String, _ error: FCMErrorBody, _ after: Int64?) -> SendResult {
        let after = after ?? Timing.fcmQuotaPause
        return error.isQuotaOfDevice ? .deviceThrottled(reason: reason, after: after) : .retry(reason: reason, after: after)
    }

    /// The request or the token is invalid. If the response lists the invalid fields, the token is invalid only if the
    /// list contains only `message.token`. If the response has no such list, `mayBeToken` decides.
    private static func invalidArgument(_ error: FCMErrorBody, mayBeToken: Bool, _ sentAt: Int64) -> SendResult {
        guard error.badFields.map({ !$0.isEmpty && $0.allSatisfy { $0 == "message.token" } }) ?? mayBeToken else {
            let field = error.badFields?.first.map { " \($0)" } ?? ""
            return .rejected(reason: "INVALID_ARGUMENT\(field)", alarm: false)
        }
        return .doubtfulToken(DeviceRemoval(reason: "INVALID_ARGUMENT", ifSeenBefore: sentAt))
    }

}

/// The body of an accepted message: `{"name":"projects/p/messages/1"}`.
private struct FCMSuccessBody {
    /// FCM's id of the message, the last part of the name; nil if it was cut off or has more than 256 bytes.
    var messageID: String?

    /// Nil for a body without a name, which is not FCM's. Only a body that was cut off may lack the name.
    init?(_ response: HTTPClientResponse) {
        var hasName = false
        var id: String?
        response.readMembers { key, value in
            guard key.equals("name"), value.kind == .string else { return }
            hasName = true
            id = value.messageID
        }
        guard response.status == 200, hasName || !response.isComplete else { return nil }
        messageID = id
    }
}

/// The body of an error response: `{"error":{"status":…,"details":[{"@type":…,…}]}}`.
private struct FCMErrorBody {
    /// FCM's own error code, from the detail of type FcmError.
    var errorCode: String?
    /// The status name: a name in google.rpc.Code.
    var status: String?
    /// The fields that google.rpc.BadRequest names; nil if the response has no such detail.
    var badFields: [String]?
    /// Whether every violation in google.rpc.QuotaFailure concerns the rate of one device.
    var isQuotaOfDevice = false
    /// Whether the message is too large. This error has the same code as that of a malformed token (firebase-admin-go
    /// issue 580); only the texts differ.
    var isTooBig = false

    init(_ response: HTTPClientResponse) {
        response.readMembers { key, error in
            guard key.equals("error") else { return }
            error.readMembers { key, value in
                if key.equals("status") { status = value.reasonCode }
                if key.equals("message"), let text = value.string { isTooBig = text.utf8.contains("too big".utf8) }
                if key.equals("details") { value.readElements { readDetail($0) } }
            }
        }
    }

    private mutating func readDetail(_ detail: JSONSlice) {
        var type: String?
        var code: String?
        var fields: [String] = []
        var quotas: [Bool] = []
        detail.readMembers { key, value in
            if key.equals("@type") { type = value.string }
            if key.equals("errorCode") { code = value.reasonCode }
            if key.equals("violations") { value.readElements { quotas.append(Self.isOfDevice($0)) } }
            if key.equals("fieldViolations") { value.readElements { fields.append(Self.field(of: $0)) } }
        }
        switch type {
        case "type.googleapis.com/google.firebase.fcm.v1.FcmError": errorCode = code
        case "type.googleapis.com/google.rpc.BadRequest": badFields = (badFields ?? []) + fields
        case "type.googleapis.com/google.rpc.QuotaFailure": isQuotaOfDevice = !quotas.isEmpty && quotas.allSatisfy(\.self)
        default: break
        }
    }

    /// Whether the violation concerns the rate of one device, and not that of the project or topic. Only the text of
    /// the violation shows this, in undocumented words.
    private static func isOfDevice(_ violation: JSONSlice) -> Bool {
        var isOfDevice = false
        violation.readMembers { key, value in
            guard key.equals("subject") || key.equals("description"), let text = value.string else { return }
            if text.utf8.count <= 1_024, text.lowercased().utf8.contains("device".utf8) { isOfDevice = true }
        }
        return isOfDevice
    }

    /// The path of the field; `(unreadable)` if the text is not a path in our message, because the log must not quote
    /// any other text.
    private static func field(of violation: JSONSlice) -> String {
        var field = "(unreadable)"
        violation.readMembers { key, value in
            if key.equals("field"), let path = value.string, path.utf8.count <= 64, path.hasPrefix("message") { field = path }
        }
        return field
    }
}
