import FleetRules
import HTTPClient
import JSON

extension SendResult {
    /// What an answer of FCM means (PUSH.md section 2): by its own error code, else by the status' name, else by HTTP's.
    /// - Parameters:
    ///   - sentAt: when it was asked: milliseconds since 1970.
    ///   - now: milliseconds since 1970.
    package init(fcm reply: HTTPClientResponse, sentAt: Int64, now: Int64) {
        guard reply.status >= 400 else {
            self = FCMSuccessBody(reply).map { .accepted(messageID: $0.messageID) } ?? .foreign(reply)
            return
        }
        let refusal = FCMErrorBody(reply)
        let after = RetryAfter.milliseconds(of: reply, now: now)
        self =
            refusal.errorCode.flatMap { Self.fcm(errorCode: $0, refusal, after, sentAt) }
            ?? refusal.status.flatMap { Self.fcm(status: $0, refusal, after, sentAt) }
            ?? Self.fcm(http: reply.status, after)
    }

    /// Nil for codes that are not known, and for the one that says nothing, `UNSPECIFIED_ERROR`.
    private static func fcm(errorCode code: String, _ refusal: FCMErrorBody, _ after: Int64?, _ sentAt: Int64) -> SendResult? {
        switch code {
        case "UNREGISTERED", "SENDER_ID_MISMATCH": .invalidToken(DeviceRemoval(reason: code, ifSeenBefore: sentAt))
        case "INVALID_ARGUMENT": invalid(refusal, isTokenMeant: !refusal.isTooBig, sentAt)
        // The key that Firebase was given for Apple is bad: ours is not, and neither is the token.
        case "THIRD_PARTY_AUTH_ERROR": .rejected(reason: code, alarm: true)
        case "QUOTA_EXCEEDED": exceeded(code, refusal, after)
        case "UNAVAILABLE", "INTERNAL": .retry(reason: code, after: after)
        default: nil
        }
    }

    private static func fcm(status: String, _ refusal: FCMErrorBody, _ after: Int64?, _ sentAt: Int64) -> SendResult? {
        switch status {
        case "INVALID_ARGUMENT": invalid(refusal, isTokenMeant: false, sentAt)
        case "UNAUTHENTICATED": .credentialExpired(reason: status)
        case "PERMISSION_DENIED": .configurationError(reason: status, newConnection: false)
        case "NOT_FOUND": .rejected(reason: status, alarm: true)  // no such project: of a dead token it says UNREGISTERED
        case "RESOURCE_EXHAUSTED": exceeded(status, refusal, after)
        case "UNAVAILABLE", "INTERNAL": .retry(reason: status, after: after)
        default: nil
        }
    }

    private static func fcm(http status: Int, _ after: Int64?) -> SendResult {
        let reason = "HTTP \(status)"
        return switch status {
        case 401: .credentialExpired(reason: reason)
        case 403: .configurationError(reason: reason, newConnection: false)
        case 429: .retry(reason: reason, after: after ?? quotaMilliseconds)
        case 500...: .retry(reason: reason, after: after)
        case 404, 405: .rejected(reason: reason, alarm: true)  // not what FCM says of a token
        default: .rejected(reason: reason, alarm: false)
        }
    }

    /// The project's quota, or only that of the phone.
    private static func exceeded(_ reason: String, _ refusal: FCMErrorBody, _ after: Int64?) -> SendResult {
        let after = after ?? quotaMilliseconds
        return refusal.isQuotaOfDevice ? .deviceThrottled(reason: reason, after: after) : .retry(reason: reason, after: after)
    }

    /// Our fault or the token's. Where fields are named, the token has to be the only one, however often.
    private static func invalid(_ refusal: FCMErrorBody, isTokenMeant: Bool, _ sentAt: Int64) -> SendResult {
        guard refusal.badFields.map({ !$0.isEmpty && $0.allSatisfy { $0 == "message.token" } }) ?? isTokenMeant else {
            let field = refusal.badFields?.first.map { " \($0)" } ?? ""
            return .rejected(reason: "INVALID_ARGUMENT\(field)", alarm: false)
        }
        return .invalidToken(DeviceRemoval(reason: "INVALID_ARGUMENT", ifSeenBefore: sentAt))
    }

    /// When a quota is used up and FCM does not say when there is more.
    private static let quotaMilliseconds: Int64 = 60_000
}

/// What FCM says when it has taken a message: `{"name":"projects/p/messages/1"}`.
private struct FCMSuccessBody {
    var messageID: String?

    /// Nil where there is no name: then it is not FCM that says so. An answer that was cut off cannot be asked for one.
    init?(_ reply: HTTPClientResponse) {
        var isNamed = false
        var id: String?
        reply.readMembers { key, value in
            guard key.equals("name"), value.kind == .string else { return }
            isNamed = true
            id = value.messageID
        }
        guard reply.status == 200, isNamed || !reply.isWhole else { return nil }
        messageID = id
    }
}

/// What FCM says in the body of an answer that is not 200: `{"error":{"status":…,"details":[{"@type":…,…}]}}`.
private struct FCMErrorBody {
    /// Of the detail that is FCM's own.
    var errorCode: String?
    /// A name of google.rpc.Code.
    var status: String?
    /// What google.rpc.BadRequest names, if it is there: other than the token, they are ours.
    var badFields: [String]?
    /// Whether google.rpc.QuotaFailure speaks of the rate of one device, and of nothing else.
    var isQuotaOfDevice = false
    /// Too long a message has the error code of a malformed token (firebase-admin-go issue 580): only its words tell.
    var isTooBig = false

    init(_ reply: HTTPClientResponse) {
        reply.readMembers { key, error in
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

    /// By its words, of which only the sense is documented: which rate it was, the project's, the device's or the topic's.
    private static func isOfDevice(_ violation: JSONSlice) -> Bool {
        var isOfDevice = false
        violation.readMembers { key, value in
            guard key.equals("subject") || key.equals("description"), let text = value.string else { return }
            if text.utf8.count <= 1_024, text.lowercased().utf8.contains("device".utf8) { isOfDevice = true }
        }
        return isOfDevice
    }

    /// The field that is blamed; what is no name of ours is blamed, too, but not repeated.
    private static func field(of violation: JSONSlice) -> String {
        var field = "(unreadable)"
        violation.readMembers { key, value in
            if key.equals("field"), let path = value.string, path.utf8.count <= 64, path.hasPrefix("message") { field = path }
        }
        return field
    }
}
