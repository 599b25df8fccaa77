import Access
import Fleet
import HTTP
import PusherAPI
import Testing

/// Device registrations: by FCM token (`/api/auth/fcm-token`), and by a token of either provider
/// (`/app-register-device`).
@Suite struct FleetDeviceTests {
    private static let apnsToken = "00FCae12345678Ff"
    private static let apnsTokenInLowerCase = "00fcae12345678ff"

    private static func fcm(_ body: String, _ method: HTTPRequest.Method = .post, as role: Role = .driver) -> FleetCall {
        FleetCall(method, "/api/auth/fcm-token", body, as: role)
    }

    private static func app(_ body: String, _ method: HTTPRequest.Method = .post, as role: Role = .customer) -> FleetCall {
        FleetCall(method, "/app-register-device", body, as: role)
    }

    private static func apns(_ environment: DeviceToken.Environment? = nil) -> DeviceToken {
        DeviceToken(provider: .apns, platform: .ios, environment: environment, text: apnsTokenInLowerCase)
    }

    private static func fcm(_ text: String, _ platform: DeviceToken.Platform?) -> DeviceToken {
        DeviceToken(provider: .fcm, platform: platform, environment: nil, text: text)
    }

    // MARK: Valid requests

    @Test(arguments: [Role.driver, .customer]) func registersFCMTokens(role: Role) {
        let call = Self.fcm(#"{"fcmToken":"a:B-_1","deviceId":"my phone","platform":1}"#, as: role)
        #expect(
            call.action
                == DeviceRegistration(.register, Self.fcm("a:B-_1", nil), deviceID: "my phone", form: .fcmToken))
        #expect(call.command?.actor == FleetCall.identity(role))
        for body in [#"{"fcmToken":"t"}"#, #"{"fcmToken":"t","deviceId":null}"#] {
            #expect(Self.fcm(body).action == DeviceRegistration(.register, Self.fcm("t", nil), form: .fcmToken))
        }
    }

    @Test func registersTokensOfEitherProvider() {
        let registrations: [(String, DeviceToken)] = [
            (#""platform":"ios""#, Self.apns()), (#""platform":"ios","environment":null"#, Self.apns()),
            (#""platform":"ios","environment":"production""#, Self.apns(.production)),
            (#""platform":"iOS","environment":"Sandbox""#, Self.apns(.sandbox)), (#""platform":"IOS""#, Self.apns()),
            (#""platform":"Android""#, Self.fcm(Self.apnsToken, .android)),
            (#""platform":"ios","environment":"sandbox""#, Self.apns(.sandbox)),
            (#""platform":"android""#, Self.fcm(Self.apnsToken, .android)),
            (#""platform":"android","environment":"sandbox""#, Self.fcm(Self.apnsToken, .android)),
        ]
        for (members, token) in registrations {
            let call = Self.app(#"{"deviceToken":"\#(Self.apnsToken)","deviceId":"d",\#(members)}"#)
            #expect(
                call.action == DeviceRegistration(.register, token, deviceID: "d", form: .appDevice), "\(members)")
        }
    }

    @Test func unregistersTheTokenOfTheBody() {
        let removal = DeviceRegistration(.unregister, Self.fcm("t", nil), form: .fcmToken)
        #expect(Self.fcm(#"{"fcmToken":"t","deviceId":1}"#, .delete).action == removal)
        let tokens: [(String, DeviceToken)] = [
            (#""platform":"ios""#, Self.apns()), (#""platform":"ios","environment":"sandbox""#, Self.apns(.sandbox)),
            (#""platform":"android""#, Self.fcm(Self.apnsToken, .android)), (#""platform":null"#, Self.apns()),
            (#""environment":"sandbox""#, Self.apns(.sandbox)),
        ]
        for (members, token) in tokens {
            let call = Self.app(#"{"deviceToken":"\#(Self.apnsToken)",\#(members)}"#, .delete)
            #expect(call.action == DeviceRegistration(.unregister, token, form: .appDevice), "\(members)")
        }
        for text in ["fcm:token", "00FCae12345678F", "00FC"] {
            let call = Self.app(#"{"deviceToken":"\#(text)"}"#, .delete)
            #expect(call.action == DeviceRegistration(.unregister, Self.fcm(text, nil), form: .appDevice), "\(text)")
        }
    }

    @Test func unregistersTheTokenOfTheQueryIfTheBodyHasNone() {
        let removal = { DeviceRegistration(.unregister, Self.fcm($0, nil), form: .fcmToken) }
        for body in ["", "{}", #"{"fcmToken":null}"#] {
            #expect(Self.fcm(body, .delete).withQuery("fcmToken", "q").action == removal("q"))
        }
        #expect(Self.fcm(#"{"fcmToken":"b"}"#, .delete).withQuery("fcmToken", "q").action == removal("b"))
        let app = Self.app("", .delete).withQuery("deviceToken", Self.apnsToken)
        #expect(app.action == DeviceRegistration(.unregister, Self.apns(), form: .appDevice))
        #expect(Self.fcm("", .delete).withQuery("deviceToken", "q").status() == 400)
        #expect(Self.fcm("").withQuery("fcmToken", "q").status() == 400, "POST reads the token from the body only")
    }

    // MARK: Errors

    private static let longID = String(repeating: "é", count: 150)

    private static let invalidFCMToken = "an FCM token is 1 to 4096 printable ASCII characters without spaces"

    static let wrong: [(body: String, field: String, text: String)] = [
        ("", "fcmToken", "Expected \"fcmToken\": a string is required"),
        (#"{"fcmToken":null}"#, "fcmToken", "Expected \"fcmToken\": a string is required"),
        (#"{"fcmToken":1}"#, "fcmToken", "Expected \"fcmToken\" to be a string"),
        (#"{"fcmToken":true}"#, "fcmToken", "Expected \"fcmToken\" to be a string"),
        (#"{"fcmToken":[]}"#, "fcmToken", "Expected \"fcmToken\" to be a string"),
        (#"{"fcmToken":{}}"#, "fcmToken", "Expected \"fcmToken\" to be a string"),
        (#"{"fcmToken":"tab\there"}"#, "fcmToken", "Expected \"fcmToken\": \(invalidFCMToken)"),
        (#"{"fcmToken":"emoji🚚"}"#, "fcmToken", "Expected \"fcmToken\": \(invalidFCMToken)"),
        (#"{"fcmToken":"line\n"}"#, "fcmToken", "Expected \"fcmToken\": \(invalidFCMToken)"),
        (#"{"fcmToken":""}"#, "fcmToken", "Expected \"fcmToken\": \(invalidFCMToken)"),
        (#"{"fcmToken":"a b"}"#, "fcmToken", "Expected \"fcmToken\": \(invalidFCMToken)"),
        (
            #"{"fcmToken":"\#(String(repeating: "x", count: 4_097))"}"#, "fcmToken",
            "Expected \"fcmToken\": \(invalidFCMToken)"
        ),
        (#"{"fcmToken":"t","deviceId":1}"#, "deviceId", "Expected \"deviceId\" to be a string"),
    ]

    @Test(arguments: wrong) func listsTheInvalidFieldByName(body: String, field: String, text: String) {
        let text = text.replacing("\"", with: "\\\"")
        let expected = #"{"message":"Validation error","data":null,"error":{"fields":{"\#(field)":"\#(text)"}}}"#
        #expect(Self.fcm(body).response() == .json(400, expected.utf8))
    }

    @Test(arguments: [
        "null", "1", "true", "[]", "{}", #""""#, #""a b""#, #""tab\there""#, #""emoji🚚""#, #""line\n""#,
        #""\#(String(repeating: "x", count: 4_097))""#,
    ])
    func rejectsUnregisteringInvalidFCMTokens(token: String) {
        #expect(Self.fcm(#"{"fcmToken":\#(token)}"#, .delete).status() == 400)
    }

    @Test func listsAllInvalidFields() {
        let call = Self.fcm(#"{"fcmToken":"a b","deviceId":""}"#)
        let fields =
            #"{"fcmToken":"Expected \"fcmToken\": \#(Self.invalidFCMToken)","#
            + #""deviceId":"Expected \"deviceId\" to have 1 to 150 characters, none of them a control character"}"#
        let expected = #"{"message":"Validation error","data":null,"error":{"fields":\#(fields)}}"#
        #expect(call.response() == .json(400, expected.utf8))
    }

    @Test func repeatsTheTextOfAnErrorWithoutAField() {
        let text = #"The body is not a JSON object: expected a member's name at byte 1"#
        #expect(Self.fcm("{").response() == .json(400, #"{"message":"\#(text)","data":null,"error":"\#(text)"}"#.utf8))
    }

    @Test(arguments: ["", "\\u0007", "a\\n", "\\u009f", longID + "x"]) func rejectsInvalidDeviceIDs(id: String) {
        let expectation = "have 1 to 150 characters, none of them a control character"
        let refusal = Self.app(#"{"deviceToken":"t","platform":"android","deviceId":"\#(id)"}"#).refusal
        #expect(refusal == "400 Expected \"deviceId\" to \(expectation)")
    }

    @Test func acceptsTheLongestDeviceIDAndToken() {
        let token = String(repeating: "x", count: 4_096)
        let call = Self.fcm(#"{"fcmToken":"\#(token)","deviceId":"\#(Self.longID)"}"#)
        #expect(
            call.action
                == DeviceRegistration(.register, Self.fcm(token, nil), deviceID: Self.longID, form: .fcmToken))
    }

    private static let invalidRegistrations: [(members: String, refusal: String)] = [
        ("", "\"deviceToken\": a string is required"), (#""deviceToken":[]"#, "\"deviceToken\" to be a string"),
        (#""deviceToken":null,"platform":"ios""#, "\"deviceToken\": a string is required"),
        (#""deviceToken":1,"platform":"ios""#, "\"deviceToken\" to be a string"),
        (#""deviceToken":"t""#, "\"platform\": ios or android is required"),
        (#""deviceToken":"t","platform":null"#, "\"platform\": ios or android is required"),
        (#""deviceToken":"t","platform":"ios ""#, "\"platform\" to be ios or android; found ios "),
        (#""deviceToken":"t","platform":"\u0131OS""#, "\"platform\" to be ios or android; found \u{131}OS"),
        (
            #""deviceToken":"null","platform":"android""#,
            "\"deviceToken\": an FCM token is 1 to 4096 printable ASCII characters; found null, which is no token"
        ),
        (#""deviceToken":"t","platform":"windows""#, "\"platform\" to be ios or android; found windows"),
        (#""deviceToken":"t","platform":1"#, "\"platform\" to be a string"),
        (#""deviceToken":"t","platform":"""#, "\"platform\" to be ios or android; found "),
        (#""deviceToken":"t","platform":true"#, "\"platform\" to be a string"),
        (
            #""deviceToken":"t","platform":"android","environment":"staging""#,
            "\"environment\" to be production or sandbox; found staging"
        ),
        (#""deviceToken":"0011223344556677","platform":"ios","environment":1"#, "\"environment\" to be a string"),
        (
            #""deviceToken":"0011223344556677","platform":"ios","environment":"development""#,
            "\"environment\" to be production or sandbox; found development"
        ),
        (
            #""deviceToken":"0011223344556677","platform":"ios","environment":"""#,
            "\"environment\" to be production or sandbox; found "
        ),
        (
            #""deviceToken":"t","platform":"ios""#,
            "\"deviceToken\": an iOS token is an even number of hexadecimal digits, from 16 to 400"
        ),
        (#""deviceToken":"é","platform":"android""#, "\"deviceToken\": \(invalidFCMToken)"),
    ]

    @Test(arguments: invalidRegistrations) func rejectsInvalidRegistrations(members: String, refusal: String) {
        #expect(Self.app("{\(members)}").refusal == "400 Expected \(refusal)")
    }

    @Test func rejectsUnregisteringInvalidTokens() {
        for text in ["", "a b", "é"] {
            let refusal = "400 Expected \"deviceToken\": \(Self.invalidFCMToken)"
            #expect(Self.app(#"{"deviceToken":"\#(text)"}"#, .delete).refusal == refusal)
        }
        #expect(
            Self.app(#"{"deviceToken":"t","platform":"ios"}"#, .delete).refusal
                == "400 Expected \"deviceToken\": an iOS token is an even number of hexadecimal digits, from 16 to 400")
    }
}
