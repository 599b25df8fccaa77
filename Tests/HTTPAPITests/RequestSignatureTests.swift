import Crypto
import Fleet
import HTTP
import Primitives
import PusherAPI
import TestSupport
import Testing

@Suite struct RequestSignatureTests {
    /// The error for a request. Nil if it is accepted.
    private func refusal(_ call: Call, app: Application = .example(), now: Int64 = Call.now) -> APIError? {
        call.asRequest { request in
            do throws(APIError) {
                let signature = RequestSignature()
                try signature.check(request.body, of: try signature.check(request, for: app, now: now))
                return nil
            } catch {
                return error
            }
        }
    }

    private func invalidSignature(_ text: String, _ sent: String) -> APIError {
        APIError(
            401, #"Invalid signature: you should have sent HmacSHA256Hex("\#(text)", your_secret_key), but you sent "\#(sent)""#)
    }

    // MARK: Valid requests (A1, A7, A10)

    @Test func acceptsTheExampleOfPushersDocumentation() {
        let app = Application.example(id: "3", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8")
        var call = Call(#"{"name":"foo","channels":["project-3"],"data":"{\"some\":\"data\"}"}"#, key: app.key)
        call.path = "/apps/3/events"
        #expect(call.query.last?.value == "ec365a775a4cd0599faeb73354201b6f")
        call = call.with("auth_signature", "da454824c97ba181a32ccc17a72625ba02771f50b50e1e7430e47a1f3f457e6c")
        #expect(refusal(call, app: app) == nil)
    }

    @Test(arguments: [HTTPRequest.Method.get, .head, .post, .put, .patch, .delete, .options])
    func acceptsEveryMethod(method: HTTPRequest.Method) {
        var call = Call()
        call.method = method
        #expect(refusal(call.signed()) == nil)
    }

    /// Where the gateway is reached below a path, some libraries sign that path and others the one behind it; some sign a path
    /// with its escapes, as they send it.
    @Test func acceptsTheFormsOfThePathThatLibrariesSign() {
        func isAccepted(_ target: String, signing path: String, prefix: String = "") -> Bool {
            var call = Call("")
            call.path = path
            let signature = call.signed().query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
            return RawRequest(.post, target + "?" + signature).withRequest { request in
                (try? RequestSignature(pathPrefix: prefix).check(request, for: .example(), now: Call.now)) != nil
            }
        }
        let (escaped, decoded) = (
            "/apps/1001/users/auth0%7C5f%20c/terminate_connections", "/apps/1001/users/auth0|5f c/terminate_connections"
        )
        #expect(isAccepted(escaped, signing: decoded) && isAccepted(escaped, signing: escaped))
        for prefix in ["", "/ws"] {
            for path in ["/ws" + escaped, "/ws" + decoded, "/ws" + "/apps/1001/events"] {
                let target = path.hasSuffix("events") ? "/apps/1001/events" : escaped
                #expect(isAccepted(target, signing: path, prefix: prefix) == (prefix == "/ws"), "\(path)")
                #expect(
                    !isAccepted(target, signing: "/ws" + path, prefix: prefix)
                        && !isAccepted(target, signing: "/w" + path, prefix: prefix))
            }
            #expect(isAccepted("/apps/1001/events", signing: "/apps/1001/events", prefix: prefix))
            #expect(!isAccepted(escaped, signing: "/apps/1001/users/auth0%7c5f%20c/terminate_connections", prefix: prefix))
        }
    }

    @Test func acceptsARequestWithoutBodyAndDigest() {
        #expect(refusal(Call.get("/apps/1001/channels").signed()) == nil)
    }

    @Test func acceptsParametersInAnyOrder() {
        let call = Call().signed()
        for _ in 0..<20 {
            var shuffled = call
            shuffled.query.shuffle()
            #expect(refusal(shuffled) == nil)
        }
    }

    @Test func acceptsARepeatedRequest() {
        let call = Call().signed()
        let signature = RequestSignature()
        let app = Application.example()
        for _ in 0..<3 {
            call.asRequest { request in
                #expect(throws: Never.self) { _ = try signature.check(request, for: app, now: Call.now) }
            }
        }
    }

    static let values = [
        "", "a,b", ",", "a b/c:d=e%f&g+h,é", "%2C", "=", "&", "😀", "a\nb", "a\r\nb", String(repeating: "x", count: 5_000),
    ]

    @Test(arguments: values) func signatureCoversUnescapedValues(value: String) {
        #expect(refusal(Call().with("note", value).signed()) == nil)
    }

    @Test(arguments: ["note", "Note", "NOTE", "aBc", "AUTH_other", "", "filter[x]"]) func signatureCoversNamesInLowerCase(
        name: String
    ) {
        let call = Call().with(name, "Value").signed()
        #expect(refusal(call) == nil)
        #expect(call.signedText.contains(name.lowercased() + "=Value"))
    }

    @Test(arguments: ["auth_key", "auth_timestamp", "auth_version", "auth_signature", "body_md5"])
    func acceptsAuthParametersInAnyCase(name: String) throws {
        var call = Call().signed()
        let index = try #require(call.query.firstIndex { $0.name == name })
        call.query[index].name = name.uppercased()
        #expect(refusal(call) == nil)
    }

    @Test func usesTheLastOfDuplicateParameters() {
        for (name, value) in [("auth_key", "key1"), ("auth_version", "1.0"), ("auth_timestamp", String(Call.now))] {
            var call = Call().with(name, "other")
            call.query.append((name, value))
            #expect(refusal(call.signed()) == nil, "\(name)")
        }
    }

    // MARK: Missing parameters (A2)

    @Test(arguments: ["auth_key", "auth_timestamp", "auth_version"]) func requiresEveryParameter(name: String) {
        let expected = APIError(401, "Missing parameter: \(name)")
        #expect(refusal(Call().with(name, nil).signed()) == expected)
        #expect(refusal(Call().with(name, nil).with(name + "s", "1").signed()) == expected)
    }

    @Test func requiresTheSignature() {
        #expect(refusal(Call()) == APIError(401, "Missing parameter: auth_signature"))
    }

    @Test func requiresTheDigestOfABody() {
        #expect(refusal(Call().with("body_md5", nil).signed()) == APIError(401, "Missing parameter: body_md5"))
    }

    @Test func checksTheKeyFirst() {
        var call = Call()
        call.query = []
        #expect(refusal(call) == APIError(401, "Missing parameter: auth_key"))
    }

    // MARK: Key and version (A4, A9)

    @Test(arguments: ["key2", "KEY1", "key1 ", " key1", "key", "key11", "", "secret1"])
    func rejectsOtherKeys(key: String) {
        #expect(refusal(Call(key: key).signed()) == APIError(401, "Unknown auth_key"))
    }

    @Test(arguments: ["", "1", "1.1", "2.0", "1.0.0", "01.0", "1,0", "one", " 1.0", "1.0 ", "１.０"])
    func rejectsOtherVersions(version: String) {
        #expect(refusal(Call().with("auth_version", version).signed()) == APIError(401, "Invalid auth_version: expected 1.0"))
    }

    // MARK: Timestamp (A6)

    @Test(arguments: [-600, -599, -1, 0, 1, 599, 600]) func acceptsTimestampsWithinTenMinutes(seconds: Int64) {
        #expect(refusal(Call().signed(), now: Call.now + seconds) == nil)
    }

    static let expired: [(timestamp: String, given: String)] = [
        ("1353087578", "2012-11-16T17:39:38.000Z"), ("1353088780", "2012-11-16T17:59:40.000Z"), ("0", "1970-01-01T00:00:00.000Z"),
        ("1353001779", "2012-11-15T17:49:39.000Z"), ("2353088179", "2044-07-25T19:36:19.000Z"),
        ("253402300799", "9999-12-31T23:59:59.000Z"), ("1099511627775", "36812-02-20T00:36:15.000Z"),
    ]

    @Test(arguments: expired) func rejectsTimestampsBeyondTenMinutes(timestamp: String, given: String) {
        let text = "Timestamp expired: Given timestamp (\(given)) not within 600s of server time (2012-11-16T17:49:39.000Z)"
        #expect(refusal(Call().with("auth_timestamp", timestamp).signed()) == APIError(401, text))
    }

    static let malformedTimestamps = [
        "", "now", "1e9", "1.353088179e9", "0x50a67a73", "1353088179.0", " 1353088179", "1353088179 ", "1353088179\n", "-1",
        "-1353088179", "１３５３０８８１７９", "9223372036854775807", "-9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "-9223372036854775809", "18446744073709551615", "99999999999999999999999999", "2012-11-16T17:49:39Z", "-", "+",
        "+1353088179",
        // In milliseconds, a common mistake.
        "1353088179000",
    ]

    @Test(arguments: malformedTimestamps) func rejectsMalformedTimestamps(timestamp: String) {
        let refusal = refusal(Call().with("auth_timestamp", timestamp).signed())
        #expect(refusal == APIError(401, "Invalid auth_timestamp: expected seconds since 1970"))
    }
}

// MARK: Signature (A3) and body (A8)

extension RequestSignatureTests {
    static let modifications: [(name: String, modify: @Sendable (String) -> String)] = [
        ("zeros", { _ in String(repeating: "0", count: 64) }), ("not hexadecimal", { _ in String(repeating: "x", count: 64) }),
        ("upper case", { $0.uppercased() }), ("empty", { _ in "" }), ("short", { String($0.dropLast()) }), ("long", { $0 + "0" }),
        ("a space after", { $0 + " " }), ("one digit", { String($0.prefix(1)) }), ("quotes", { _ in #"""# }),
        ("text", { _ in "é😀" }),
    ]

    @Test(arguments: modifications) func rejectsOtherSignaturesAndShowsTheTextToSign(
        name: String, modify: @Sendable (String) -> String
    ) throws {
        let call = Call().signed()
        let right = try #require(call.query.last?.value)
        let sent = modify(right)
        let error = try #require(refusal(call.with("auth_signature", sent)))
        #expect(error == invalidSignature(call.signedText.split(separator: "\n").joined(separator: #"\n"#), sent), "\(name)")
        #expect(!error.text.contains("secret1"))
        #expect(sent.hasPrefix(right) || !error.text.contains(right))
    }

    static let changes: [(name: String, change: @Sendable (inout Call) -> Void)] = [
        ("another method", { $0.method = .get }), ("another path", { $0.path = "/apps/1001/batch_events" }),
        ("another application's path", { $0.path = "/apps/1002/events" }), ("a longer path", { $0.path += "/" }),
        ("another parameter", { $0.query.append(("info", "subscription_count")) }),
        ("one parameter less", { $0.query.removeAll { $0.name == "note" } }),
        ("another value", { $0 = $0.with("note", "y") }), ("a value's case", { $0 = $0.with("note", "X") }),
        ("another time", { $0 = $0.with("auth_timestamp", String(Call.now + 1)) }),
        ("another digest", { $0 = $0.with("body_md5", String(repeating: "0", count: 32)) }),
        ("a digest in upper case", { $0 = $0.with("body_md5", $0.query[3].value.uppercased()) }),
    ]

    @Test(arguments: changes) func signatureCoversTheWholeRequest(name: String, change: @Sendable (inout Call) -> Void) throws {
        var call = Call().with("note", "x").signed()
        change(&call)
        let sent = try #require(call.query.last { $0.name == "auth_signature" }?.value)
        let shown = call.signedText.split(separator: "\n").joined(separator: #"\n"#)
        #expect(refusal(call) == invalidSignature(shown, sent), "\(name)")
    }

    @Test(arguments: ["secret2", "secret", "secret11", "Secret1"]) func rejectsOtherSecrets(secret: String) {
        #expect(refusal(Call().signed(secret))?.text.hasPrefix("Invalid signature: ") == true)
    }

    /// Line breaks in a value are shown escaped.
    @Test(arguments: ["a\nb", "a\r\nb", "\n", "\r\n", "\n\u{301}"]) func errorIsOneLine(value: String) throws {
        let error = try #require(refusal(Call().with("note", value).with("auth_signature", "0")))
        #expect(error.text.hasPrefix("Invalid signature: ") && !error.text.utf8.contains(0x0A))
    }

    @Test(arguments: ["00000000000000000000000000000000", "", "x", "d41d8cd98f00b204e9800998ecf8427e"])
    func rejectsAWrongBodyDigest(digest: String) {
        let refusal = refusal(Call().with("body_md5", digest).signed())
        #expect(refusal == APIError(401, "Invalid body_md5: it is not the MD5 of the body received"))
    }

    @Test func rejectsAnotherBody() {
        var call = Call(#"{"name":"e","channel":"c","data":"a"}"#).signed()
        call.body = Array(#"{"name":"e","channel":"c","data":"b"}"#.utf8)
        let expected = APIError(401, "Invalid body_md5: it is not the MD5 of the body received")
        #expect(refusal(call) == expected)
        call.body = []
        #expect(refusal(call) == expected)
    }

    @Test func acceptsADigestInUpperCase() {
        let call = Call()
        #expect(refusal(call.with("body_md5", call.query[3].value.uppercased()).signed()) == nil)
    }

    /// Pusher's Python library sends and signs the digest of the empty body with every GET.
    @Test func acceptsTheDigestOfAnEmptyBody() {
        let call = Call.get("/apps/1001/channels").with("body_md5", "d41d8cd98f00b204e9800998ecf8427e")
        #expect(refusal(call.signed()) == nil)
        #expect(refusal(call.with("body_md5", "x").signed())?.text == "Invalid body_md5: it is not the MD5 of the body received")
    }

    @Test func checksTheSignatureBeforeTheBodyDigest() {
        let call = Call().with("body_md5", "x").with("auth_signature", "0")
        #expect(refusal(call)?.text.hasPrefix("Invalid signature: ") == true)
    }
}

// MARK: Repeated requests

extension RequestSignatureTests {
    private static func router(_ verdict: @escaping ReplayGuard) -> Router {
        Router(apps: [.example()], metricsToken: "", fleet: .example([.example()]), replayGuard: verdict)
    }

    private func status(_ call: Call, _ router: Router) -> Int? {
        let action = call.asRequest { router.action(of: $0, now: Call.now) }
        if case .respond(let response) = action { return response.status }
        return nil
    }

    @Test func asksTheReplayGuardLast() {
        for (verdict, expected) in [(.new, nil), (.repeated, 401), (.full, 503)] as [(SeenSignatures.Verdict, Int?)] {
            let router = Self.router { _ in verdict }
            #expect(status(Call().signed(), router) == expected)
            #expect(status(Call.get("/apps/1001/channels").signed(), router) == expected)
            #expect(status(Call().signed("wrong"), router) == 401)
            #expect(status(Call().with("auth_timestamp", "1").signed(), router) == 401)
        }
        let untouched = Self.router { head in
            Issue.record("a rejected request was recorded: \(head)")
            return .new
        }
        var otherBody = Call().signed()
        otherBody.body.append(0x20)
        #expect(status(otherBody, untouched) == 401)
        #expect(status(Call.get("/apps/1001/x").signed(), untouched) == 404)
        #expect(status(Call().signed("wrong"), untouched) == 401)
    }

    @Test func identifiesARequestByItsSignature() throws {
        let call = Call().signed()
        let signature = try #require(call.query.last?.value)
        let head = call.asRequest { try? RequestSignature().check($0, for: .example(), now: Call.now) }
        #expect(try #require(head).signature == UInt128(signature.prefix(32), radix: 16))
        #expect(head?.timestamp == Call.now && head?.bodyDigest == UInt128(call.query[3].value, radix: 16))
    }
}
