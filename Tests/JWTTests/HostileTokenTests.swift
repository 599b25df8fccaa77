import Access
import Crypto
import JWT
import Testing

@Suite struct HostileTokenTests {
    // MARK: Format

    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", "a.b.c.d", "a.b.c.d.e", "Bearer x.y.z", "😀.😀.😀", "e30.e30", "e30.e30.", ".e30.e30",
        "e30..e30",
        "e30=.e30.e30", "e30.e30.e30\n", " e30.e30.e30", "e30.e31.e30", "e30.e30.A",
    ]) func rejectsMalformedTokens(token: String) throws {
        #expect(try TestTokens.refusal(token) != nil)
    }

    @Test func limitsTokensTo16KiB() throws {
        func token(_ fill: Int) -> String {
            TestTokens.token(TestTokens.claims([("fill", "\"" + String(repeating: "x", count: fill) + "\"")]))
        }
        let longest = try #require((12_000...12_300).last { token($0).utf8.count <= 16_384 })
        #expect(try TestTokens.refusal(token(longest)) == nil)
        #expect(try TestTokens.refusal(token(longest + 3)) == "The token exceeds 16384 bytes")
        #expect(try TestTokens.refusal(String(repeating: "x", count: 1_048_576)) == "The token exceeds 16384 bytes")
        let dots = String(repeating: ".", count: 16_384)
        #expect(try TestTokens.refusal(dots) == "Expected a signed JWT: three parts with dots between them")
    }

    @Test func rejectsTokensWithAnyCharacterChanged() throws {
        let token = Array(TestTokens.token().utf8)
        let verifier = try TokenVerifier(
            issuers: [TestTokens.anyIssuer], keyCache: IssuerKeyCache(issuers: [TestTokens.anyIssuer]))
        for index in token.indices {
            for bit in 0..<7 {
                var wrong = token
                wrong[index] ^= 1 << bit
                let result = verifier.verify(String(decoding: wrong, as: UTF8.self), now: TestTokens.now)
                guard case .refused = result else {
                    Issue.record("byte \(index), bit \(bit): \(result)")
                    continue
                }
            }
        }
    }

    // MARK: Header

    @Test(arguments: [
        "none", "None", "NONE", "nOnE", "", "HS256 ", "hs256", "HS384", "HS512", "RS256", "ES256", "PS256", "EdDSA", "HS256\0",
        "ＨS256",
    ]) func rejectsOtherAlgorithms(name: String) throws {
        let header = Base64URL.text(Array("{\"alg\":\"\(name == "HS256\0" ? #"HS256\u0000"# : name)\"}".utf8))
        let signed = header + "." + Base64URL.text(Array(TestTokens.claims().utf8))
        #expect(try TestTokens.refusal(TestTokens.signed(signed)) == "The token's alg \(name) is refused: expected HS256")
        #expect(try TestTokens.refusal(signed + ".") == "The token's signature is empty")
        #expect(try TestTokens.refusal(signed) != nil)
    }

    @Test(arguments: [
        ("{}", "expected alg to be a string"), (#"{"alg":null}"#, "expected alg to be a string"),
        (#"{"alg":["HS256"]}"#, "expected alg to be a string"), (#"{"alg":1}"#, "expected alg to be a string"),
        (#"{"ALG":"HS256"}"#, "expected alg to be a string"),
        (#"{"alg":"none","alg":"HS256"}"#, "alg is given twice"), (#"{"alg":"HS256","alg":"HS256"}"#, "alg is given twice"),
        (#"{"alg":"HS256","\u0061lg":"none"}"#, "alg is given twice"),
        (#"{"alg":"HS256","kid":"a","kid":"b"}"#, "kid is given twice"),
        (#"{"alg":"HS256","kid":1}"#, "expected kid to be a string of at most 200 bytes"),
        (#"{"alg":"HS256","kid":null}"#, "expected kid to be a string of at most 200 bytes"),
        (#"{"alg":"HS256","kid":["a"]}"#, "expected kid to be a string of at most 200 bytes"),
        ("", "is empty"), ("[]", "expected an object at byte 0"), ("null", "expected an object at byte 0"),
        (#""HS256""#, "expected an object at byte 0"), (#"{"alg":"HS256"}{}"#, "unexpected text after the value at byte 15"),
        (#"{"alg":"HS256",}"#, "expected a member's name at byte 15"), ("{'alg':'HS256'}", "expected a member's name at byte 1"),
        (#"{"alg":"HS256","x":NaN}"#, "expected a value at byte 19"),
    ]) func rejectsHostileHeaders(header: String, reason: String) throws {
        #expect(try TestTokens.refusal(TestTokens.token(header: header))?.hasSuffix(reason) == true)
    }

    /// A recipient must reject extensions in `crit` that it does not support (RFC 7515 section 4.1.11). One of them is
    /// `b64`, which changes the signed bytes (RFC 7797).
    @Test(arguments: [#"["b64"]"#, #"["exp"]"#, "[]", "null", #""alg""#, #"["alg"]"#, "false"])
    func rejectsCriticalExtensions(crit: String) throws {
        let header = "{\"alg\":\"HS256\",\"b64\":false,\"crit\":\(crit)}"
        #expect(
            try TestTokens.refusal(TestTokens.token(header: header))
                == "The token's header requires unsupported extensions (crit)")
    }

    @Test func limitsTheSizeOfHeaders() throws {
        func header(kid: Int, fill: Int = 0) -> String {
            #"{"alg":"HS256","kid":""# + String(repeating: "k", count: kid) + #"","x5c":""#
                + String(repeating: "x", count: fill) + "\"}"
        }
        #expect(try TestTokens.refusal(TestTokens.token(header: header(kid: 200))) == nil)
        #expect(try TestTokens.refusal(TestTokens.token(header: header(kid: 201))) != nil)
        #expect(try TestTokens.refusal(TestTokens.token(header: header(kid: 1, fill: 4000))) == nil)
        #expect(
            try TestTokens.refusal(TestTokens.token(header: header(kid: 1, fill: 4096)))
                == "The token's header exceeds 4096 bytes")
        let deep = #"{"alg":"HS256","x":"# + String(repeating: "[", count: 3000) + String(repeating: "]", count: 1000) + "}"
        #expect(try TestTokens.refusal(TestTokens.token(header: deep))?.contains("nested deeper") == true)
    }

    @Test(arguments: [
        #""kid":"../../../../dev/null""#, #""kid":"/etc/passwd\u0000""#, #""kid":"' OR 1=1 --""#, #""kid":"""#,
        #""kid":"http://evil.example/key""#, #""jku":"https://evil.example/jwks.json""#, #""x5u":"file:///dev/null""#,
        #""jwk":{"kty":"oct","k":"AAAA"}"#, #""x5c":["AAAA"]"#, #""jwk":null"#, #""typ":"at+jwt""#, #""cty":"JWT""#,
    ]) func ignoresKeysInTheHeader(member: String) throws {
        let header = "{\"alg\":\"HS256\",\(member)}"
        #expect(try TestTokens.identity(TestTokens.token(header: header)) == Identity(role: .driver, id: "42"))
        let forged = TestTokens.token(header: header, secret: "\0")
        #expect(try TestTokens.refusal(forged) == "The token's signature is wrong")
    }

    // MARK: Payload

    @Test(arguments: ["sub", "role", "exp", "nbf", "iat", "iss", "aud", "name", "bookings", "driver_id", "auth_time"])
    func rejectsRepeatedClaims(name: String) throws {
        let payload = String(TestTokens.claims([(name, "1")]).dropLast()) + ",\"\(name)\":1}"
        #expect(try TestTokens.refusal(TestTokens.token(payload)) == "The token's payload: \(name) is given twice")
        let first = String(try #require(name.utf8.first), radix: 16)
        let escaped = String(TestTokens.claims([(name, "1")]).dropLast()) + ",\"\\u00\(first)\(name.dropFirst())\":1}"
        #expect(try TestTokens.refusal(TestTokens.token(escaped)) == "The token's payload: \(name) is given twice")
    }

    @Test func ignoresUnknownClaims() throws {
        let payload = String(TestTokens.claims().dropLast()) + #","x":1,"x":{"sub":"7"},"admin":true,"":[],"Role":"admin"}"#
        #expect(try TestTokens.identity(TestTokens.token(payload)) == Identity(role: .driver, id: "42"))
    }

    @Test(arguments: ["", "[]", "null", "42", #""sub""#, "{", "{}}", "{\"sub\":}", "{\"sub\":\"\u{1}\"}"])
    func rejectsPayloadsThatAreNotObjects(payload: String) throws {
        #expect(try TestTokens.refusal(TestTokens.token(payload))?.hasPrefix("The token's payload") == true)
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3], [0x80]] as [[UInt8]])
    func rejectsInvalidUTF8(bytes: [UInt8]) throws {
        let (start, end) = (#"{"role":"admin","exp":1800003600,"sub":"x"#, "\"}")
        let payload = Array(start.utf8) + bytes + Array(end.utf8)
        let token = TestTokens.token(bytes: payload, header: Array(#"{"alg":"HS256"}"#.utf8))
        #expect(try TestTokens.refusal(token) == "The token's payload: invalid UTF-8 at byte \(start.utf8.count)")
    }

    @Test func errorsClipQuotedValues() throws {
        let long = "\"" + String(repeating: "z", count: 3000) + "\""
        for name in ["sub", "role"] {
            #expect(try TestTokens.refusal(TestTokens.token(TestTokens.claims([(name, long)])))?.utf8.count ?? .max < 250)
        }
        let header = "{\"alg\":\(long)}"
        #expect(try TestTokens.refusal(TestTokens.token(header: header))?.utf8.count ?? .max < 250)
    }
}
