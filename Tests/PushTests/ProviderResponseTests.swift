import Fleet
import HTTPClient
import Push
import Testing

@Suite struct APNsResponseTests {
    /// Each reason of Apple's page "Handling notification responses from APNs".
    @Test(arguments: [
        (400, "BadDeviceToken", SendResult.wrongEnvironment(DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: sentAt))),
        (400, "DeviceTokenNotForTopic", .doubtfulToken(DeviceRemoval(reason: "DeviceTokenNotForTopic", ifSeenBefore: sentAt))),
        (400, "BadCollapseId", .rejected(reason: "BadCollapseId", alarm: false)),
        (400, "BadExpirationDate", .rejected(reason: "BadExpirationDate", alarm: false)),
        (400, "BadMessageId", .rejected(reason: "BadMessageId", alarm: false)),
        (400, "BadPriority", .rejected(reason: "BadPriority", alarm: false)),
        (400, "InvalidPushType", .rejected(reason: "InvalidPushType", alarm: false)),
        (400, "DuplicateHeaders", .rejected(reason: "DuplicateHeaders", alarm: false)),
        (400, "PayloadEmpty", .rejected(reason: "PayloadEmpty", alarm: false)),
        (400, "MissingDeviceToken", .rejected(reason: "MissingDeviceToken", alarm: false)),
        (400, "BadTopic", .unknownAddress(reason: "BadTopic")),
        (400, "MissingTopic", .unknownAddress(reason: "MissingTopic")),
        (400, "TopicDisallowed", .unknownAddress(reason: "TopicDisallowed")),
        (400, "IdleTimeout", .goAway(reason: "IdleTimeout")),
        (403, "ExpiredProviderToken", .credentialExpired(reason: "ExpiredProviderToken")),
        (403, "InvalidProviderToken", .configurationError(reason: "InvalidProviderToken", newConnection: false)),
        (403, "MissingProviderToken", .configurationError(reason: "MissingProviderToken", newConnection: false)),
        (403, "UnrelatedKeyIdInToken", .configurationError(reason: "UnrelatedKeyIdInToken", newConnection: true)),
        (403, "BadEnvironmentKeyIdInToken", .configurationError(reason: "BadEnvironmentKeyIdInToken", newConnection: false)),
        (403, "BadEnvironmentKeyInToken", .configurationError(reason: "BadEnvironmentKeyInToken", newConnection: false)),
        (403, "BadCertificate", .configurationError(reason: "BadCertificate", newConnection: false)),
        (403, "BadCertificateEnvironment", .configurationError(reason: "BadCertificateEnvironment", newConnection: false)),
        (403, "Forbidden", .configurationError(reason: "Forbidden", newConnection: false)),
        (404, "BadPath", .unknownAddress(reason: "BadPath")),
        (405, "MethodNotAllowed", .unknownAddress(reason: "MethodNotAllowed")),
        (410, "Unregistered", .invalidToken(DeviceRemoval(reason: "Unregistered", ifSeenBefore: sentAt))),
        (410, "ExpiredToken", .invalidToken(DeviceRemoval(reason: "ExpiredToken", ifSeenBefore: sentAt))),
        (413, "PayloadTooLarge", .rejected(reason: "PayloadTooLarge", alarm: false)),
        (429, "TooManyRequests", .deviceThrottled(reason: "TooManyRequests", after: nil)),
        (429, "TooManyProviderTokenUpdates", .tooManyTokens(reason: "TooManyProviderTokenUpdates")),
        (500, "InternalServerError", .retry(reason: "InternalServerError", after: nil)),
        (503, "ServiceUnavailable", .retry(reason: "ServiceUnavailable", after: nil)),
        (503, "Shutdown", .shutdown(reason: "Shutdown", after: nil)),
        // Unknown reasons, and reasons with another status.
        (400, "New", .rejected(reason: "New", alarm: false)),
        (403, "New", .configurationError(reason: "New", newConnection: false)),
        (410, "New", .invalidToken(DeviceRemoval(reason: "New", ifSeenBefore: sentAt))),
        (429, "New", .deviceThrottled(reason: "New", after: nil)),
        (418, "New", .rejected(reason: "New", alarm: false)),
        (502, "New", .retry(reason: "New", after: nil)), (500, "BadDeviceToken", .retry(reason: "BadDeviceToken", after: nil)),
        (408, "New", .rejected(reason: "New", alarm: false)),
        (413, "Unregistered", .rejected(reason: "Unregistered", alarm: false)),
    ])
    func mapsEachReason(_ status: Int, _ reason: String, _ result: SendResult) {
        #expect(Self.result(status, #"{"reason":"\#(reason)"}"#) == result)
    }

    @Test func acceptedResultHasTheMessageIDIfItIsValid() {
        #expect(Self.result(200, "", ["apns-id": "ID"]) == .accepted(messageID: "ID"))
        #expect(Self.result(200, "") == .accepted(messageID: nil))
    }

    /// These responses come from a proxy or from a wrong address: APNs' own 200 has no body, and APNs does not
    /// redirect.
    @Test(arguments: [
        (200, "<html>Sign in</html>"), (200, #"{"reason":"BadDeviceToken"}"#), (204, ""), (302, ""), (308, "x"),
        (403, ""), (403, "<html>"), (403, "{}"),
    ])
    func nonAPNsResponsesAreForeign(_ status: Int, _ body: String) {
        let reason = "HTTP \(status): not a response of the provider"
        #expect(Self.result(status, body) == .foreign(reason: reason))
    }

    /// The device is removed if it was last seen before APNs' timestamp, in milliseconds. If the timestamp is invalid,
    /// the time at which the request was sent is used instead.
    @Test(
        arguments: [
            ("1795250000000", 1_795_250_000_000), ("1", 1), ("0", sentAt), ("-5", sentAt), ("1.5e12", sentAt),
            ("\"1795250000000\"", sentAt),
            ("null", sentAt), ("99999999999999999999", sentAt), ("[]", sentAt),
        ] as [(String, Int64)])
    func removalUsesTheTimestamp(_ timestamp: String, _ time: Int64) {
        let result = Self.result(410, #"{"timestamp":\#(timestamp),"reason":"Unregistered"}"#)
        #expect(result == .invalidToken(DeviceRemoval(reason: "Unregistered", ifSeenBefore: time)))
        // In responses other than 410 the timestamp does not concern the token.
        let other = Self.result(400, #"{"timestamp":\#(timestamp),"reason":"BadDeviceToken"}"#)
        #expect(other == .wrongEnvironment(DeviceRemoval(reason: "BadDeviceToken", ifSeenBefore: sentAt)))
    }

    /// Without a valid reason the HTTP status decides, and the token is kept.
    @Test(arguments: HostileBody.all)
    func hostileBodiesAreMappedByStatus(_ body: String) {
        #expect(Self.result(400, body) == .rejected(reason: "HTTP 400", alarm: false))
        #expect(Self.result(500, body) == .retry(reason: "HTTP 500", after: nil))
    }

    @Test func readsRetryAfter() {
        #expect(Self.result(503, "", ["retry-after": "7"]) == .retry(reason: "HTTP 503", after: 7_000))
        #expect(Self.result(429, "", ["retry-after": "7"]) == .deviceThrottled(reason: "HTTP 429", after: 7_000))
    }

    private static func result(_ status: Int, _ body: String, _ headers: [String: String] = [:]) -> SendResult {
        SendResult(
            apns: HTTPClientResponse(status: status, body: Array(body.utf8), headers: headers), sentAt: sentAt, now: sentAt + 50)
    }
}

@Suite struct FCMResponseTests {
    /// Each `ErrorCode` of FCM's HTTP v1 API. A known error code takes precedence over the status name, and a known
    /// status name over the HTTP status. `name` and `code` are nil if the response has none.
    @Test(
        arguments: [
            (
                404, "NOT_FOUND", "UNREGISTERED",
                SendResult.invalidToken(DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: sentAt))
            ),
            (
                400, "INVALID_ARGUMENT", "INVALID_ARGUMENT",
                .doubtfulToken(DeviceRemoval(reason: "INVALID_ARGUMENT", ifSeenBefore: sentAt))
            ),
            (
                403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH",
                .doubtfulToken(DeviceRemoval(reason: "SENDER_ID_MISMATCH", ifSeenBefore: sentAt))
            ),
            (401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", .rejected(reason: "THIRD_PARTY_AUTH_ERROR", alarm: true)),
            (429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .retry(reason: "QUOTA_EXCEEDED", after: 60_000)),
            (503, "UNAVAILABLE", "UNAVAILABLE", .retry(reason: "UNAVAILABLE", after: nil)),
            (500, "INTERNAL", "INTERNAL", .retry(reason: "INTERNAL", after: nil)),
            // The error code takes precedence over a status that does not match it.
            (400, "INVALID_ARGUMENT", "UNREGISTERED", .invalidToken(DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: sentAt))),
            // The status name decides without an error code, and with an unknown one or UNSPECIFIED_ERROR.
            (403, "PERMISSION_DENIED", nil, .configurationError(reason: "PERMISSION_DENIED", newConnection: false)),
            (401, "UNAUTHENTICATED", nil, .credentialExpired(reason: "UNAUTHENTICATED")),
            (400, "INVALID_ARGUMENT", nil, .rejected(reason: "INVALID_ARGUMENT", alarm: false)),
            (404, "NOT_FOUND", nil, .unknownAddress(reason: "NOT_FOUND")),
            (429, "RESOURCE_EXHAUSTED", nil, .retry(reason: "RESOURCE_EXHAUSTED", after: 60_000)),
            (503, "UNAVAILABLE", "UNSPECIFIED_ERROR", .retry(reason: "UNAVAILABLE", after: nil)),
            (500, "INTERNAL", nil, .retry(reason: "INTERNAL", after: nil)),
            (403, "PERMISSION_DENIED", "NEW", .configurationError(reason: "PERMISSION_DENIED", newConnection: false)),
            // The HTTP status decides if error code and status name are absent or unknown.
            (400, nil, nil, .rejected(reason: "HTTP 400", alarm: false)), (401, nil, nil, .credentialExpired(reason: "HTTP 401")),
            (403, "NEW", nil, .configurationError(reason: "HTTP 403", newConnection: false)),
            (404, nil, nil, .unknownAddress(reason: "HTTP 404")),
            (429, nil, nil, .retry(reason: "HTTP 429", after: 60_000)),
            (500, nil, "UNSPECIFIED_ERROR", .retry(reason: "HTTP 500", after: nil)),
            (413, nil, nil, .rejected(reason: "HTTP 413", alarm: false)),
            (408, nil, nil, .rejected(reason: "HTTP 408", alarm: false)), (504, nil, nil, .retry(reason: "HTTP 504", after: nil)),
        ] as [(Int, String?, String?, SendResult)])
    func mapsEachErrorCode(_ status: Int, _ name: String?, _ code: String?, _ result: SendResult) {
        let details = code.map { [#"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"#] }
        #expect(Self.result(status, Self.body(name, details ?? [])) == result)
    }

    @Test func acceptedResultHasTheMessageIDIfItIsValid() {
        #expect(Self.result(200, #"{"name":"projects/p/messages/1"}"#) == .accepted(messageID: "1"))
        let long = String(repeating: "x", count: 257)
        #expect(Self.result(200, #"{"name":"\#(long)"}"#) == .accepted(messageID: nil))
        for body in ["", #"{"name":"projects/p/mess"#] {
            let cut = HTTPClientResponse(status: 200, body: Array(body.utf8), isComplete: false)
            #expect(SendResult(fcm: cut, sentAt: sentAt, now: sentAt) == .accepted(messageID: nil))
        }
    }

    /// Such responses come from a proxy or from a wrong address.
    @Test(
        arguments: [
            (200, ""), (200, "<html>Sign in</html>"), (200, "{}"), (200, #"{"name":7}"#), (200, #"["name"]"#),
            (200, #"{"error":{"status":"UNAVAILABLE"}}"#), (201, #"{"name":"projects/p/messages/1"}"#), (204, ""), (302, ""),
            (304, #"{"error":{"status":"UNAVAILABLE"}}"#), (403, ""), (403, "<html>"), (403, "{}"),
        ])
    func nonFCMResponsesAreForeign(_ status: Int, _ body: String) {
        let reason = "HTTP \(status): not a response of the provider"
        #expect(Self.result(status, body) == .foreign(reason: reason))
    }

    /// If a BadRequest detail names fields, the token is invalid only if `message.token` is the only one. `rejected`:
    /// the field in the reason of the rejected push, empty if the reason names none; nil: the token is invalid.
    @Test(
        arguments: [
            (["message.token"], true, nil), (["message.token"], false, nil),
            (["message.data[0].value"], true, "message.data[0].value"),
            (["message.token", "message.android.ttl"], true, "message.token"),
            (["message.android.ttl"], false, "message.android.ttl"), (["message.token", "message.token"], true, nil),
            (["message.token", "message.data." + String(repeating: "x", count: 64)], true, "message.token"),
            (["message.token", "validate_only"], true, "message.token"), (["", "message.token"], true, "(unreadable)"),
            ([], true, ""),
        ] as [([String], Bool, String?)])
    func tokenIsInvalidOnlyIfBadRequestNamesNoOtherField(_ fields: [String], _ hasErrorCode: Bool, _ rejected: String?) {
        let violations = fields.map { #"{"field":"\#($0)","description":"bad"}"# }.joined(separator: ",")
        var details = [#"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(violations)]}"#]
        if hasErrorCode {
            details.append(
                #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"}"#)
        }
        let expected: SendResult =
            switch rejected {
            case nil: .doubtfulToken(DeviceRemoval(reason: "INVALID_ARGUMENT", ifSeenBefore: sentAt))
            case "": .rejected(reason: "INVALID_ARGUMENT", alarm: false)
            case .some(let field): .rejected(reason: "INVALID_ARGUMENT \(field)", alarm: false)
            }
        #expect(Self.result(400, Self.body("INVALID_ARGUMENT", details)) == expected)
    }

    /// For a message that is too large, FCM gives the same error code as for an invalid token.
    @Test func tooLargeMessageKeepsTheToken() {
        let body = #"""
            {"error":{"code":400,"message":"Android message is too big","status":"INVALID_ARGUMENT",
            "details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"}]}}
            """#
        #expect(Self.result(400, body) == .rejected(reason: "INVALID_ARGUMENT", alarm: false))
    }

    /// An error code in a detail of another type is not FCM's, even if it has the same name.
    @Test func ignoresErrorCodesOfOtherDetails() {
        let body = Self.body("NOT_FOUND", [#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","errorCode":"UNREGISTERED"}"#])
        #expect(Self.result(404, body) == .unknownAddress(reason: "NOT_FOUND"))
    }

    /// Only the violation's text shows whether the quota is that of the device or of the project.
    @Test(arguments: [
        (#"{"subject":"device:abc","description":"x"}"#, true), (#"{"description":"Device message rate exceeded"}"#, true),
        (#"{"subject":"project:p","description":"Message rate exceeded"}"#, false),
        (#"{"subject":"device:a"},{"subject":"project:p"}"#, false), ("", false), ("{}", false),
    ])
    func deviceQuotaThrottlesTheDevice(_ violations: String, _ isOfDevice: Bool) {
        let detail = #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[\#(violations)]}"#
        let code = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"}"#
        for (details, reason) in [([code, detail], "QUOTA_EXCEEDED"), ([detail], "RESOURCE_EXHAUSTED")] {
            let result = Self.result(429, Self.body("RESOURCE_EXHAUSTED", details), ["retry-after": "90"])
            #expect(
                result == (isOfDevice ? .deviceThrottled(reason: reason, after: 90_000) : .retry(reason: reason, after: 90_000)))
        }
    }

    /// A response may quote the device token, which must not become the reason. Tokens contain digits, and reasons do
    /// not, so a text with digits is not used as a reason.
    @Test func quotedTokensAreNotReasons() {
        let token = String(repeating: "a1", count: 32)
        let body = #"{"error":{"status":"\#(token)","details":[]}}"#
        #expect(Self.result(503, body) == .retry(reason: "HTTP 503", after: nil))
        let response = HTTPClientResponse(status: 400, body: Array(#"{"reason":"\#(token)"}"#.utf8))
        #expect(SendResult(apns: response, sentAt: 1, now: 2) == .rejected(reason: "HTTP 400", alarm: false))
    }

    @Test(arguments: HostileBody.all + HostileBody.fcm)
    func hostileBodiesAreMappedByStatus(_ body: String) {
        #expect(Self.result(400, body) == .rejected(reason: "HTTP 400", alarm: false))
        #expect(Self.result(404, body) == .unknownAddress(reason: "HTTP 404"))
        #expect(Self.result(503, body) == .retry(reason: "HTTP 503", after: nil))
    }

    /// `after`: milliseconds; nil: the header is invalid.
    @Test(
        arguments: [
            ("5", 5_000), ("0", 0), ("007", 7_000), ("99999999999999999999999", 2_419_200_000),
            ("Sat, 21 Nov 2026 09:31:00 GMT", 59_877), ("Sat, 21 Nov 2026 09:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:60 GMT", 0),
            ("Mon, 01 Mar 2027 00:00:00 GMT", 2_419_199_877), ("Sun, 29 Nov 2026 00:00:00 GMT", 656_999_877),
            ("Saturday, 21-Nov-26 09:31:00 GMT", 59_877), ("Fri, 31 Dec 9999 23:59:59 GMT", 2_419_199_877),
            ("", nil), ("-5", nil), ("5.5", nil), ("soon", nil), ("٥", nil), ("X 1 Jan 99999999999 1:1:1 GMT", nil),
            ("Sat, 21 Xxx 2026 09:31:00 GMT", nil), ("Sat, 21 Nov 2026 09:61:00 GMT", nil),
            ("Sat, 00 Nov 2026 09:31:00 GMT", nil),
        ] as [(String, Int64?)])
    func readsEachFormOfRetryAfter(_ header: String, _ after: Int64?) {
        let headers = ["retry-after": header]
        #expect(Self.result(503, "", headers, now: PushFixture.now) == .retry(reason: "HTTP 503", after: after))
        #expect(Self.result(429, "", headers, now: PushFixture.now) == .retry(reason: "HTTP 429", after: after ?? 60_000))
    }

    @Test(
        arguments: [
            (1_803_772_800_000, "Mon, 01 Mar 2027 00:00:00 GMT", 86_400_000),
            (1_835_308_800_000, "Tue, 29 Feb 2028 00:00:00 GMT", 86_400_000),
            (1_835_308_800_000, "Wed, 01 Mar 2028 00:00:00 GMT", 172_800_000),
            (1_798_761_599_000, "Fri, 01 Jan 2027 00:00:00 GMT", 1_000),
            (1_801_353_600_000, "Mon, 01 Feb 2027 00:00:01 GMT", 86_401_000),
        ] as [(Int64, String, Int64)])
    func retryAfterDatesAcrossMonthsAndYears(_ now: Int64, _ header: String, _ after: Int64) {
        #expect(Self.result(503, "", ["retry-after": header], now: now) == .retry(reason: "HTTP 503", after: after))
    }

    private static func body(_ status: String?, _ details: [String]) -> String {
        let status = status.map { #""status":"\#($0)","# } ?? ""
        return #"{"error":{"code":1,"message":"words",\#(status)"details":[\#(details.joined(separator: ","))]}}"#
    }

    private static func result(
        _ status: Int, _ body: String, _ headers: [String: String] = [:], now: Int64 = sentAt + 50
    ) -> SendResult {
        SendResult(fcm: HTTPClientResponse(status: status, body: Array(body.utf8), headers: headers), sentAt: sentAt, now: now)
    }
}

@Suite struct RequestErrorTests {
    @Test func requestErrorsAreRetried() {
        #expect(SendResult(.notSent("refused")) == .retry(reason: "not sent: refused", after: nil))
        #expect(SendResult(.lost("code 18")) == .retry(reason: "connection lost: code 18", after: nil))
        #expect(SendResult(.timedOut) == .retry(reason: "timed out", after: nil))
    }
}

/// When the requests of these tests were sent.
private let sentAt = PushFixture.now - 1_000

/// Bodies without a valid reason.
private enum HostileBody {
    static let all = [
        "", "null", "[]", "\"BadDeviceToken\"", "<html>Unregistered</html>", #"{"reason":"BadDeviceToken""#,
        #"{"reason":"BadDeviceToken"} x"#, #"{"reason":null}"#, #"{"reason":{"reason":"BadDeviceToken"}}"#, #"{"reason":["x"]}"#,
        #"{"reason":410}"#, #"{"reason":""}"#, #"{"reason":"\#(String(repeating: "x", count: 60_000))"}"#,
        #"{"reason":"Bad\nDeviceToken"}"#, #"{"reason":"é"}"#, String(repeating: "[", count: 60_000), "\u{0}", "\u{FEFF}{}",
    ]

    /// Bodies that look like FCM's errors.
    static let fcm = [
        #"{"error":null}"#, #"{"error":"UNREGISTERED"}"#, #"{"error":["UNREGISTERED"]}"#, #"{"error":{"status":7}}"#,
        #"{"error":{"details":{}}}"#, #"{"error":{"details":["UNREGISTERED",null,7,{"errorCode":"UNREGISTERED"}]}}"#,
        #"{"error":{"details":[{"@type":7,"errorCode":"UNREGISTERED"}]}}"#, #"{"status":"UNREGISTERED"}"#,
        #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":["UNREGISTERED"]}]}}"#,
        #"{"error":{"details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}"#,
    ]
}
