import Access
import Fleet
import PusherAPI
import PusherProtocol
import Testing

/// `/pusher/auth` and `/pusher/user-auth`. The expected signatures were computed by Python's hmac module with the key
/// `secret1`.
@Suite struct ChannelAuthorizationTests {
    private func form(_ body: String, as role: Role = .admin, type: String? = "application/x-www-form-urlencoded") -> FleetCall {
        FleetCall(.post, "/pusher/auth", body, as: role).with(.contentType, type)
    }

    private func json(_ body: String, as role: Role = .admin) -> FleetCall {
        FleetCall(.post, "/pusher/auth", body, as: role).with(.contentType, "application/json; charset=utf-8")
    }

    private func channelAuthorization(_ call: FleetCall, _ router: Router = FleetCall.router()) -> ChannelAuthorization? {
        if case .authorize(let authorization)? = call.apiAction(router).ofFleet { authorization } else { nil }
    }

    private func authRequest(_ channel: String, _ socket: String = "1.2") -> FleetCall {
        json(#"{"socket_id":"\#(socket)","channel_name":"\#(channel)"}"#)
    }

    // MARK: Signatures

    @Test func signsAPrivateChannel() throws {
        let call = form("socket_id=1234.5678&channel_name=private-driver-42", as: .driver)
        let authorization = try #require(channelAuthorization(call))
        #expect(authorization.granted.status == 200)
        let signature = "a5131215876f49415f7e1e975cf672ceae56290051ad4348519e74545babbb06"
        #expect(authorization.granted.text == #"{"auth":"key1:\#(signature)"}"#)
        #expect(authorization.identity == FleetCall.identity(.driver) && authorization.app == 0)
        #expect(authorization.channel.text == "private-driver-42" && authorization.socket == SocketID("1234.5678"))
    }

    @Test func signsAPresenceChannelWithChannelData() throws {
        let authorization = try #require(channelAuthorization(authRequest("presence-x")))
        let signature = "a1ba664633079b1b9c90be0ae2ad356f04bd911cc7e55821fe1cba6388c6dcf1"
        let data = #"{\"user_id\":\"admin:7\",\"user_info\":{\"name\":\"Ada\"}}"#
        #expect(authorization.granted.text == #"{"auth":"key1:\#(signature)","channel_data":"\#(data)"}"#)
    }

    @Test func sendsTheSharedSecretOfAnEncryptedChannel() throws {
        let app = Application(
            index: 0, id: "1001", key: "key1", secrets: ["secret1"], encryptionMasterKey: (0..<32).map { UInt8($0) })
        let router = Router.example([app], issuers: [FleetCall.issuer])
        let authorization = try #require(channelAuthorization(authRequest("private-encrypted-x"), router))
        let signature = "1f1a3600f87ec57db7dc6db2f3ff7ff7bb3c12a3ad86d450da8d9e5ff0a7a385"
        // The base64 form of SHA-256 over "private-encrypted-x" and the bytes 0 to 31, computed by Python.
        let secret = "6WW+JhQkrDHUfm5BytoU8ryaUq0zo82MTvUPheddo/Y="
        #expect(authorization.granted.text == #"{"auth":"key1:\#(signature)","shared_secret":"\#(secret)"}"#)
    }

    @Test func rejectsEncryptedChannelsWithoutAMasterKey() {
        let text = "403 private-encrypted-x needs encryption_master_key, which application 1001 does not have"
        #expect(authRequest("private-encrypted-x").refusal == text)
    }

    @Test func signsWithTheFirstOfSeveralSecrets() throws {
        let router = Router.example([.example(secrets: ["secret1", "old"])], issuers: [FleetCall.issuer])
        let rotated = try #require(channelAuthorization(authRequest("private-x"), router))
        #expect(rotated.granted == channelAuthorization(authRequest("private-x"))?.granted)
    }

    /// A well-formed socket id is signed even if no connection can have it. That does no harm: the signature is valid
    /// for this socket id only.
    @Test(arguments: ["0.1", "01.2", "1.02", "4294967296.1", "1.4294967296", "99999999999999999999.99999999999999999999"])
    func signsSocketIDsThatNoServerCanIssue(socket: String) throws {
        let authorization = try #require(channelAuthorization(authRequest("private-x", socket)))
        #expect(authorization.socket == nil && authorization.granted.status == 200)
    }

    @Test func deniedResponseNamesIdentityAndChannel() throws {
        let authorization = try #require(channelAuthorization(form("socket_id=1.2&channel_name=private-driver-43", as: .driver)))
        #expect(
            authorization.refused == .json(403, #"{"error":"driver:42 may not subscribe to private-driver-43"}"#.utf8))
    }

    // MARK: Errors

    @Test(arguments: ["x", "driver-42", "cache-x", "drivers-channel", "#server-to-user-driver:42", "Private-x", "privatex"])
    func rejectsChannelsThatNeedNoSignature(channel: String) {
        #expect(authRequest(channel).refusal == "403 \(channel) needs no signature: only private- and presence- channels do")
    }

    @Test(arguments: [
        "", "private-a b", "private-é", "private-\u{212A}", "private-a:b", "private-" + String(repeating: "x", count: 193),
    ])
    func rejectsInvalidChannelNames(channel: String) {
        #expect(authRequest(channel).refusal?.hasPrefix("400 Expected \"channel_name\" to be a channel name; found ") == true)
    }

    @Test func signsTheLongestName() {
        #expect(channelAuthorization(authRequest("private-" + String(repeating: "x", count: 192))) != nil)
    }

    @Test(arguments: [
        "", "1", "1.", ".2", "1.2.3", "1.2 ", " 1.2", "a.b", "1,2", "-1.2", "+1.2", "١.٢", "1.2\\n", "1.2:private-y",
        "1\u{2024}2",
        "1.2\u{301}", "1.2:private-y:", "1.2::user::{}", "１.２", "1.2.", String(repeating: "1", count: 63) + ".2",
        String(repeating: "1", count: 300) + ".2",
    ]) func rejectsInvalidSocketIDs(socket: String) {
        #expect(authRequest("private-x", socket).refusal == "400 Expected \"socket_id\": digits, a dot, digits")
        let call = FleetCall(.post, "/pusher/user-auth", #"{"socket_id":"\#(socket)"}"#)
        #expect(call.refusal == "400 Expected \"socket_id\": digits, a dot, digits")
    }

    private static let badJSON = [
        ("{}", "Expected \"socket_id\": digits, a dot, digits"), (#"{"socket_id":1.2}"#, "Expected \"socket_id\" to be a string"),
        (#"{"socket_id":12}"#, "Expected \"socket_id\" to be a string"),
        (#"{"socket_id":true}"#, "Expected \"socket_id\" to be a string"),
        (#"{"socket_id":["1.2"]}"#, "Expected \"socket_id\" to be a string"),
        (#"{"socket_id":{"a":"1.2"}}"#, "Expected \"socket_id\" to be a string"),
        (#"{"socket_id":"1.2\u0000"}"#, "Expected \"socket_id\" to contain no NUL character"),
        (#"{"socket_id":null}"#, "Expected \"socket_id\": digits, a dot, digits"),
        (#"{"socket_id":"1.2"}"#, "Expected \"channel_name\": a string is required"),
        (#"{"socket_id":"1.2","channel_name":null}"#, "Expected \"channel_name\": a string is required"),
        (#"{"socket_id":"1.2","channel_name":["private-x"]}"#, "Expected \"channel_name\" to be a string"),
        ("{", "The body is not a JSON object: expected a member's name at byte 1"),
        ("", "Expected \"socket_id\": digits, a dot, digits"),
    ]

    @Test(arguments: badJSON) func rejectsInvalidJSONBodies(body: String, problem: String) {
        #expect(json(body).refusal == "400 " + problem)
    }

    private static let badForms = [
        ("", "Expected \"socket_id\": digits, a dot, digits"),
        ("socket_id=1.2", "Expected \"channel_name\": a string is required"),
        ("channel_name=private-x", "Expected \"socket_id\": digits, a dot, digits"),
        ("socket_id=1.2&channel_name=private-x&socket_id=1.2", "Expected \"socket_id\" at most once"),
        ("socket_id=1.2&channel_name=private-x&channel%5Fname=private-y", "Expected \"channel_name\" at most once"),
        ("socket_id=1.2&channel_name=private-%", "The form contains a malformed percent escape"),
        ("socket_id=1.2&channel_name=private-%zz", "The form contains a malformed percent escape"),
        ("socket_id=1.2&channel_name=private-x+y", "Expected \"channel_name\" to be a channel name; found private-x y"),
        ("nonsense", "Expected \"socket_id\": digits, a dot, digits"),
        (#"[{"socket_id":"1.2"}]"#, "Expected \"socket_id\": digits, a dot, digits"),
    ]

    @Test(arguments: badForms) func rejectsInvalidForms(body: String, problem: String) {
        #expect(form(body).refusal == "400 " + problem)
    }

    // MARK: Forms and JSON

    /// React Native labels forms as JSON; URLSession, HttpURLConnection and `curl -d` label JSON as a form.
    @Test func theFirstByteSelectsFormOrJSONWhateverTheContentTypeSays() {
        let granted = channelAuthorization(authRequest("private-a=b@c,d.e;"))?.granted
        let body = "socket_id=1.2&channel_name=private-a%3Db%40c%2Cd.e%3B"
        #expect(granted != nil && channelAuthorization(form(body))?.granted == granted)
        #expect(channelAuthorization(form(body, type: "Application/X-WWW-Form-URLEncoded; charset=UTF-8"))?.granted == granted)
        #expect(channelAuthorization(form(body, type: nil))?.granted == granted)
        #expect(channelAuthorization(form(body, type: "text/plain"))?.granted == granted)
        let text = #"{"channel_name":"private-a=b@c,d.e;","socket_id":"1.2","x":1}"#
        let formType = "application/x-www-form-urlencoded"
        for type in [nil, "text/plain", "APPLICATION/JSON", "application/json;charset=utf-8", formType, formType + ", x/y"] {
            for space in ["", " ", "\r\n\t ", "\u{FEFF}", "\u{FEFF}\n"] {
                #expect(channelAuthorization(form(space + text, type: type))?.granted == granted, "\(type ?? "")")
                let user = FleetCall(.post, "/pusher/user-auth", space + text).with(.contentType, type)
                #expect(user.status() == 200)
            }
            #expect(channelAuthorization(form(body, type: type))?.granted == granted)
            #expect(FleetCall(.post, "/pusher/user-auth", body).with(.contentType, type).status() == 200)
        }
    }

    // MARK: Sign-in

    private static let users: [(Role, String, String)] = [
        (
            .driver, #"{"id":"driver:42","user_info":{"name":"Dan"}}"#,
            "ff284a508d4fd227aa665075e883770b5ce69bd0fe34af8734b8ebb5f18fb188"
        ),
        (
            .admin, #"{"id":"admin:7","user_info":{"name":"Ada"}}"#,
            "b963f0c4294a746f8284ca416d53c556a2afce661c4143b1257203f8e2a1407d"
        ),
        (
            .customer, #"{"id":"customer:9","user_info":{"name":null},"bookings":["B-1","B-2"]}"#,
            "474e13bcf678b83e911f0ec0738672a413cea88ca17e489d2b5a4faf705542b7"
        ),
        (
            .ops, #"{"id":"ops:o1","user_info":{"name":null}}"#,
            "4b540347957214c07482abd4dc8c61529991d8843dec31f3fd35f0498431bf51"
        ),
    ]

    @Test(arguments: users) func usersOfEveryRoleCanSignIn(role: Role, userData: String, signature: String) throws {
        for body in ["socket_id=1.2", #"{"socket_id":"1.2"}"#] {
            let response = try #require(FleetCall(.post, "/pusher/user-auth", body, as: role).response())
            #expect(response.status == 200 && response.contentType == "application/json")
            #expect(response.member("auth") == "key1:" + signature)
            #expect(response.member("user_data") == userData)
        }
    }

    @Test func escapesTheNameOfASignedInUser() throws {
        let token = FleetCall.token(for: Identity(role: .admin, id: "7", name: "A\"\\\né"))
        let call = FleetCall(.post, "/pusher/user-auth", "socket_id=1.2", as: nil).with(.authorization, "Bearer " + token)
        let response = try #require(call.response())
        #expect(response.member("user_data") == #"{"id":"admin:7","user_info":{"name":"A\"\\\né"}}"#)
        #expect(response.member("auth") == "key1:2132eb246408d1ef3b67e994aa2f08124426098e464c4c21e80ff4a84faff322")
    }

    @Test func signInIgnoresTheChannel() {
        let call = FleetCall(.post, "/pusher/user-auth", "socket_id=1.2&channel_name=%20", as: .driver)
        #expect(call.status() == 200)
    }
}
