import Testing

@testable import PusherProtocol

/// Checking an `auth` value, `KEY:SIGNATURE`, be it for a subscription or for a sign-in.
@Suite struct SignedAuthTests {
    private func check(_ auth: String?, key: String = "key1") throws(ProtocolError) {
        try SignedAuth(auth).check("text", key: key) { $0 == "text" && $1 == "sig" }
    }

    @Test func acceptsKeyAndSignature() throws {
        try check("key1:sig")
        try check("a:b:sig", key: "a:b")
    }

    @Test func errorsNameThePurpose() {
        let message = "Missing auth for signin: get it from your authorization endpoint"
        #expect(throws: ProtocolError(message, code: 4009)) { try check(nil) }
        #expect(throws: ProtocolError("Invalid auth for signin: expected KEY:SIGNATURE with this application's key", code: 4009))
        {
            try check("key2:sig")
        }
        #expect(throws: ProtocolError("Invalid signature: expected HMAC SHA256 hex digest of text", code: 4009)) {
            try check("key1:gis")
        }
    }

    @Test(arguments: ["", ":", "key1", "sig", "key1:", ":sig", "key1:sig:", "key1::sig", "key1:sig\u{301}", "key1\u{301}:sig"])
    func rejectsNearMisses(auth: String) {
        #expect(throws: ProtocolError.self) { try check(auth) }
    }

    @Test func truncatesLongTextInErrors() throws {
        let long = String(repeating: "x", count: 60_000)
        let error = try #require(throws: ProtocolError.self) {
            try SignedAuth("key1:sig").check(long, key: "key1") { _, _ in false }
        }
        #expect(error.message.utf8.count < 300)
    }
}
