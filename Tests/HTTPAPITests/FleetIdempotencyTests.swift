import Access
import Crypto
import Fleet
import HTTP
import PusherAPI
import Testing

/// `Idempotency-Key` with the digest of the request, and `If-Match`.
@Suite struct FleetIdempotencyTests {
    private func call(_ body: String = "", key: String? = "k", _ path: String = "/api/admin/orders/A1/cancel-enhanced")
        -> FleetCall
    {
        FleetCall(.post, path, body).with(.idempotencyKey, key)
    }

    private func digest(_ body: String) -> [UInt8]? { call(body).command?.idempotencyKey?.digest }

    // MARK: The key

    @Test func keyIsOptional() {
        #expect(call(key: nil).command != nil && call(key: nil).command?.idempotencyKey == nil)
        #expect(call(#"{"idempotencyKey":null}"#, key: nil).command?.idempotencyKey == nil)
    }

    @Test func readsTheKeyFromTheHeaderOrElseFromTheBody() {
        #expect(call(key: "h").command?.idempotencyKey?.text == "h")
        #expect(call(#"{"idempotencyKey":"b"}"#, key: nil).command?.idempotencyKey?.text == "b")
        #expect(call(#"{"idempotencyKey":"b"}"#, key: "h").command?.idempotencyKey?.text == "h")
        #expect(call(#"{"IdempotencyKey":"b"}"#, key: nil).command?.idempotencyKey == nil)
        for value in ["1", "[]", "true"] {
            #expect(call(#"{"idempotencyKey":\#(value)}"#).refusal == "400 Expected \"idempotencyKey\" to be a string")
        }
    }

    @Test func limitsTheKeyTo255Characters() {
        let longest = String(repeating: "😀", count: 255)
        #expect(call(key: longest).command?.idempotencyKey?.text == longest)
        #expect(call(#"{"idempotencyKey":"\#(longest)"}"#, key: nil).command?.idempotencyKey?.text == longest)
        #expect(call(key: "a b").command?.idempotencyKey?.text == "a b")
        for key in ["", longest + "x", String(repeating: "e\u{301}", count: 128)] {
            #expect(call(key: key).refusal == "400 Expected Idempotency-Key to have 1 to 255 characters")
            let inBody = call(#"{"idempotencyKey":"\#(key)"}"#, key: nil).refusal
            #expect(inBody == "400 Expected \"idempotencyKey\" to have 1 to 255 characters")
        }
    }

    /// Valid requests that write: method, path, body, and the role of the token.
    private static let writes: [(HTTPRequest.Method, String, String, Role)] = [
        (.post, "/api/admin/orders/A1/assign-driver", #"{"driverId":"1"}"#, .admin), (.put, "/api/admin/orders/A1", "", .admin),
        (.post, "/api/admin/routes/R1/drops/D1/remove", "", .admin), (.put, "/api/admin/routes/R1", "", .admin),
        (.post, "/api/admin/notifications", #"{"type":"DRIVER_APPROVED","to":{"all":true}}"#, .admin),
        (.post, "/api/driver/jobs/A1/accept", "", .driver), (.post, "/api/driver/routes/R1/accept", "", .driver),
        (.put, "/api/driver/jobs/A1/progress", #"{"step":"arrived"}"#, .driver),
        (.post, "/api/driver/notifications/read", #"{"all":true}"#, .driver),
        (.post, "/api/driver/notifications/log", FleetTelemetryTests.event(), .driver),
        (.put, "/api/driver/preferences", "", .driver), (.put, "/api/customer/preferences", #"{"types":{"a":true}}"#, .customer),
        (.delete, "/api/admin/people/driver/42", "", .admin),
    ]

    @Test(arguments: writes)
    func acceptsAKeyForEveryWrite(method: HTTPRequest.Method, path: String, body: String, role: Role) {
        let key = FleetCall(method, path, body, as: role).with(.idempotencyKey, "k").command?.idempotencyKey
        #expect(key?.text == "k" && key?.digest.count == 32)
    }

    /// A stored response would claim that a device is registered, or removed, although its state has changed since.
    @Test func ignoresTheKeyWhenRegisteringAndUnregisteringADevice() {
        for (path, field) in [("/api/auth/fcm-token", "fcmToken"), ("/app-register-device", "deviceToken")] {
            for call in [
                FleetCall(.post, path, #"{"\#(field)":"t","platform":"android"}"#, as: .driver),
                FleetCall(.delete, path, #"{"\#(field)":"t"}"#, as: .driver),
                FleetCall(.delete, path, as: .driver).withQuery(field, "t"),
            ] {
                let command = call.with(.idempotencyKey, "k").command
                #expect(command != nil && command?.idempotencyKey == nil)
            }
        }
    }

    // MARK: The digest

    @Test func digestCoversMethodPathAndJSONValue() {
        let text = "POST\n/api/admin/orders/A1/cancel-enhanced\n" + #"{"a":[15e-1,"x"],"b":null}"#
        #expect(digest(#"{"b":null,"a":[1.50,"\u0078"]}"#) == SHA256.digest(of: Array(text.utf8)))
    }

    @Test func allFormsOfAnEmptyBodyHaveTheSameDigest() {
        for body in ["{}", " { } ", "\n{\t}\r"] { #expect(digest(body) == digest(""), "\(body)") }
        #expect(digest("") != digest(#"{"a":null}"#))
    }

    @Test func digestDiffersByMethodAndPath() {
        let digests = [
            FleetCall(.put, "/api/admin/orders/A1", ""), FleetCall(.put, "/api/admin/routes/A1", ""),
            FleetCall(.put, "/api/admin/orders/A2", ""), FleetCall(.post, "/api/admin/orders/A1/unassign", ""),
            FleetCall(.post, "/api/admin/orders/A1/remove-driver", ""),
            FleetCall(.post, "/api/driver/jobs/A1/accept", "", as: .driver),
        ].map { $0.with(.idempotencyKey, "k").command?.idempotencyKey?.digest }
        #expect(Set(digests).count == digests.count && !digests.contains(nil))
    }

    @Test func digestDoesNotCoverTheKeyOtherHeadersOrTheQuery() {
        let one = call(#"{"reason":"x"}"#)
        let other = call(#"{"reason":"x"}"#, key: "another").with(.ifMatch, "3").with(.contentType, "x").withQuery("a", "b")
        #expect(one.command?.idempotencyKey?.digest == other.command?.idempotencyKey?.digest)
    }

    // MARK: Versions

    /// The header, nil if absent, and the expected versions, nil if any version is accepted.
    private static let versions: [(String?, [Int]?)] = [
        (nil, nil), ("*", nil), ("3", [3]), ("\"3\"", [3]), ("0", [0]), ("\"0\"", [0]), ("007", [7]),
        ("9223372036854775807", [.max]),
        ("\"3\", \"4\"", [3, 4]), ("3,4", [3, 4]), ("\"3\"\t,\"4\" , 5", [3, 4, 5]), ("W/\"3\", \"4\"", [4]),
        ("\"4\", W/\"3\"", [4]), ("3,,4", [3, 4]), ("\"3\",", [3]), (" ,\t, \"3\"", [3]),
    ]

    @Test(arguments: versions) func readsIfMatchWithAndWithoutQuotes(text: String?, versions: [Int]?) {
        let command = FleetCall(.put, "/api/admin/orders/A1").with(.ifMatch, text).command
        #expect(command != nil && command?.expectedVersions == versions)
    }

    /// `If-Match` compares strongly (RFC 9110 section 13.1.1).
    @Test(arguments: ["W/\"3\"", "W/\"3\", W/\"4\""]) func weakVersionsMatchNothing(text: String) {
        let refusal = FleetCall(.put, "/api/admin/orders/A1").with(.ifMatch, text).refusal
        #expect(refusal == "412 If-Match compares strongly: send the version without W/, such as \"3\"")
    }

    @Test(arguments: [
        "", "\"", "\"\"", "\"3", "3\"", "-1", "\"-1\"", "W/3", "w/\"3\"", "W/ \"3\"", "\"3\", x", ",", ",,", "*, 3", "3,,x",
        "\"3,4\"", "1.0", "x", "٣", "９", "3 4", "**",
        "\"*\"", "+3 4",
        "9223372036854775808", "0x3", "\"\"3\"\"", "\"\u{301}3\"",
    ]) func rejectsOtherIfMatchValues(text: String) {
        let refusal = FleetCall(.put, "/api/admin/orders/A1").with(.ifMatch, text).refusal
        #expect(refusal == "400 Expected If-Match to be a version, such as \"3\", or several; found \(text)")
    }

    @Test func truncatesALongVersionInTheError() {
        let call = FleetCall(.put, "/api/admin/orders/A1").with(.ifMatch, String(repeating: "9", count: 7_000))
        #expect((call.response()?.body.count ?? 9_999) < 400)
    }
}
