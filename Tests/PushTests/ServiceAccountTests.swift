import Crypto
import HTTPClient
import JSON
import Testing

@testable import Push

struct ServiceAccountTests {
    /// A service account's file with some members replaced; nil removes a member.
    static func json(_ changes: [String: String?] = [:]) -> String {
        let members: [(String, String)] = [
            ("type", "service_account"), ("project_id", "fleet-1"), ("private_key_id", "0a1b"), ("private_key", PushKeys.rsa),
            ("client_email", "push@fleet-1.example"), ("token_uri", "https://oauth2.example/token"),
        ]
        var json = JSONWriter()
        var isFirst = true
        json.raw("{")
        for (name, text) in members {
            guard let text = changes[name] ?? text else { continue }
            if !isFirst { json.raw(",") }
            isFirst = false
            json.string(name)
            json.raw(":")
            json.string(text)
        }
        json.raw("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func parsesTheFile() throws {
        let account = try ServiceAccount(json: Self.json())
        #expect(account.clientEmail == "push@fleet-1.example")
        #expect(account.projectID == "fleet-1")
        #expect(account.tokenURI == "https://oauth2.example/token")
    }

    @Test func allowsPlainHTTPToThisMachine() throws {
        let account = try ServiceAccount(json: Self.json(["token_uri": "http://127.0.0.1:8080/token"]))
        #expect(account.tokenURI == "http://127.0.0.1:8080/token")
    }

    /// `text`: the member's value; nil: the member is absent.
    @Test(
        arguments: [
            ("client_email", nil, "client_email is missing"), ("private_key", nil, "private_key is missing"),
            ("private_key_id", nil, "private_key_id is missing"), ("project_id", "", "project_id is missing"),
            ("token_uri", nil, "token_uri is missing"), ("type", "authorized_user", "type: expected service_account"),
            ("token_uri", "http://oauth2.example/token", "token_uri: expected an https address, or http on loopback"),
            ("token_uri", "https://a@b", "token_uri: expected an https address, or http on loopback"),
            ("client_email", "a@b\u{0}", "client_email: expected printable ASCII without spaces"),
            ("client_email", "ä@b", "client_email: expected printable ASCII without spaces"),
            ("private_key_id", "0a\r\n1b", "private_key_id: expected printable ASCII without spaces"),
            ("project_id", "a/b", "project_id: expected letters, digits, '-', '.' and ':'"),
            ("private_key", PushKeys.p256, "private_key: expected an RSA key"),
        ] as [(String, String?, String)])
    func errorsNameTheMember(member: String, text: String?, expected: String) {
        #expect(throws: ServiceAccountError(description: expected)) {
            try ServiceAccount(json: Self.json([member: text]))
        }
    }

    @Test func errorsDoNotQuoteTheKey() {
        let error = #expect(throws: ServiceAccountError.self) {
            try ServiceAccount(json: Self.json(["private_key": "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----"]))
        }
        #expect(error?.description.hasPrefix("private_key: ") == true)
        #expect(error?.description.contains("secret") == false)
        #expect(throws: ServiceAccountError(description: "expected a JSON object")) { try ServiceAccount(json: "[]") }
    }

    @Test func requestsATokenWithASignedAssertion() throws {
        let request = try ServiceAccount(json: Self.json()).tokenRequest(at: 1_700_000_000_500)
        #expect(request.method == .post)
        #expect(request.url == "https://oauth2.example/token")
        #expect(request.headers.map(\.name) == ["content-type"])
        #expect(request.headers.map(\.value) == ["application/x-www-form-urlencoded"])
        let form = String(decoding: request.body, as: UTF8.self)
        let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(form.hasPrefix(start))
        let parts = form.dropFirst(start.count).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(text(parts[0]) == #"{"alg":"RS256","typ":"JWT","kid":"0a1b"}"#)
        #expect(
            text(parts[1])
                == #"{"iss":"push@fleet-1.example","scope":"https://www.googleapis.com/auth/firebase.messaging","#
                + #""aud":"https://oauth2.example/token","iat":1700000000,"exp":1700003600}"#)
        let signature = try #require(Base64URL.bytes(parts[2]))
        let key = try PublicKey(pem: PushKeys.rsaPublic)
        #expect(key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    private func text(_ part: String) -> String { String(decoding: Base64URL.bytes(part) ?? [], as: UTF8.self) }
}
