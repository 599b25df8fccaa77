import Crypto
import JWT
import TestSupport
import Testing
import Threads

@Suite struct IssuerKeyCacheTests {
    static let issuers = [
        TokenIssuer(algorithm: .rs256, keys: .remote(url: "https://rsa.example/keys", .jwks), issuer: "https://rsa.example"),
        TokenIssuer(algorithm: .es256, keys: .remote(url: "https://ec.example/keys", .jwks), issuer: "https://ec.example"),
        .firebase(projectID: "fleet-test", certificatesURL: "https://google.example/certificates", role: .driver),
    ]

    /// Whether the cache finds a key of this issuer for a token with this `kid`; nil is a token without `kid`.
    static func has(_ cache: IssuerKeyCache, _ issuer: Int, _ keyID: String?) -> Bool {
        if case .key = cache.key(issuer: issuer, keyID: keyID) { true } else { false }
    }

    // MARK: Documents

    @Test func findsKeysByIssuerAndKeyID() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        #expect(!Self.has(cache, 0, "a"))
        #expect(!Self.has(cache, 0, nil))
        let other = KeyDocuments.rsa("b", modulus: TestKeys.otherRSAModulus)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a"), other), for: 0)
        try cache.store(KeyDocuments.set(KeyDocuments.p256("c")), for: 1)
        try cache.store(KeyDocuments.certificates([("d", TestKeys.rsaCertificate)]), for: 2)
        #expect(Self.has(cache, 0, "a") && Self.has(cache, 0, "b") && Self.has(cache, 1, "c") && Self.has(cache, 2, "d"))
        #expect(!Self.has(cache, 0, "c") && !Self.has(cache, 1, "a") && !Self.has(cache, 2, "a") && !Self.has(cache, 0, "A"))
        guard case .ambiguous = cache.key(issuer: 0, keyID: nil) else {
            Issue.record("expected .ambiguous: the issuer has two keys")
            return
        }
        #expect(Self.has(cache, 1, nil) && Self.has(cache, 2, nil), "without a kid, the issuer's only key is used")
    }

    @Test func comparesKeyIDsAsBytes() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("K"), KeyDocuments.rsa(#"\u00e9"#)), for: 0)
        #expect(Self.has(cache, 0, "K") && Self.has(cache, 0, "é"))
        #expect(!Self.has(cache, 0, "\u{212A}") && !Self.has(cache, 0, "e\u{301}"))
    }

    @Test func documentReplacesTheIssuersKeys() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a")), for: 0)
        try cache.store(KeyDocuments.set(KeyDocuments.p256("a")), for: 1)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("b")), for: 0)
        #expect(!Self.has(cache, 0, "a") && Self.has(cache, 0, "b") && Self.has(cache, 1, "a"))
    }

    @Test(arguments: [
        KeyDocuments.rsa("x", ",\"use\":\"enc\""), KeyDocuments.rsa("x", ",\"use\":1"),
        KeyDocuments.rsa("x", ",\"use\":\"null\""),
        KeyDocuments.rsa("x", ",\"alg\":\"RS512\""), KeyDocuments.rsa("x", ",\"alg\":\"PS256\""),
        KeyDocuments.rsa("x", ",\"alg\":\"HS256\""), KeyDocuments.rsa("x", ",\"key_ops\":[\"sign\"]"),
        KeyDocuments.rsa("x", ",\"key_ops\":\"verify\""), KeyDocuments.rsa("x", ",\"n\":\"AQAB\""),
        KeyDocuments.rsa("x", ",\"kid\":\"x\""), KeyDocuments.rsa("x", modulus: TestKeys.shortRSAModulus),
        KeyDocuments.rsa("x", modulus: TestKeys.rsaModulus + "=="), KeyDocuments.rsa("x", modulus: ""),
        KeyDocuments.rsa("x", modulus: "+/+/"), KeyDocuments.rsa("x", exponent: "AQ"), KeyDocuments.rsa("x", exponent: "AA"),
        KeyDocuments.rsa("x", exponent: ""), KeyDocuments.rsa("x", exponent: "Ag"), KeyDocuments.rsa("x", exponent: "AQAB="),
        KeyDocuments.rsa(String(repeating: "x", count: 201)), KeyDocuments.p256("x"),
        #"{"kty":"oct","kid":"x","k":"AAAA"}"#, #"{"kty":"RSA","kid":"x"}"#, #"{"kty":"RSA","kid":"x","n":1,"e":2}"#,
        #"{"kty":["RSA"],"kid":"x"}"#, #"{"kid":"x"}"#, "{}", "[]", "null", "1", #""x""#,
    ]) func skipsUnusableKeys(key: String) throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        do throws(TokenIssuerError) {
            try cache.store(KeyDocuments.set(key), for: 0)
            Issue.record("expected an error")
        } catch {
            #expect(error.description == "the fetched keys: 0 of 1 are usable RS256 keys")
        }
        try cache.store(KeyDocuments.set(key, KeyDocuments.rsa("a"), key), for: 0)
        #expect(Self.has(cache, 0, "a") && !Self.has(cache, 0, "x"))
    }

    /// Some issuers' serialisers write members that they do not use so.
    @Test func aNullMemberIsAbsent() throws {
        let nulls = #","use":null,"alg":null,"key_ops":null,"x5c":null,"x5t":null"#
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a", nulls)), for: 0)
        #expect(Self.has(cache, 0, "a"))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa(nil, nulls + #","kid":null"#)), for: 0)
        #expect(Self.has(cache, 0, nil) && !Self.has(cache, 0, "a") && !Self.has(cache, 0, "null"))
        for key in [#"{"kty":null,"kid":"x","n":"AQAB","e":"AQAB"}"#, KeyDocuments.rsa("x", exponent: #"","e":null,"":""#)] {
            #expect(throws: TokenIssuerError.self) { try cache.store(KeyDocuments.set(key), for: 0) }
        }
    }

    @Test(arguments: [
        KeyDocuments.p256("x", curve: "P-384"), KeyDocuments.p256("x", curve: "secp256k1"),
        KeyDocuments.p256("x", curve: "p-256"),
        KeyDocuments.p256("x", x: TestKeys.p256Y), KeyDocuments.p256("x", y: TestKeys.p256X), KeyDocuments.p256("x", x: ""),
        KeyDocuments.p256("x", x: "AA" + TestKeys.p256X), KeyDocuments.p256("x", x: String(TestKeys.p256X.dropLast(3))),
        KeyDocuments.p256("x", ",\"alg\":\"ES384\""), KeyDocuments.p256("x", ",\"alg\":\"ECDH-ES\""), KeyDocuments.rsa("x"),
    ]) func skipsUnusableP256Keys(key: String) throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(key, KeyDocuments.p256("a")), for: 1)
        #expect(Self.has(cache, 1, "a") && !Self.has(cache, 1, "x"))
    }

    @Test func acceptsKeysWhoseMembersPermitVerification() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let more = #","use":"sig","alg":"RS256","key_ops":["verify"],"x5t":"AAAA","x5c":[],"d":"ignored""#
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a", more)), for: 0)
        #expect(Self.has(cache, 0, "a"))
    }

    @Test func keepsTheFirstKeyOfAKeyID() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let second = KeyDocuments.rsa("rsa1", modulus: TestKeys.otherRSAModulus)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("rsa1"), second), for: 0)
        let verifier = try TokenVerifier(issuers: Self.issuers, keyCache: cache)
        guard case .identity = verifier.verify(TestKeys.rs256, now: TestTokens.now) else {
            Issue.record("the second key replaced the first")
            return
        }
    }

    @Test func keysWithoutKeyIDVerifyTokensWithoutKeyID() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa(nil)), for: 0)
        #expect(Self.has(cache, 0, nil) && !Self.has(cache, 0, "rsa1") && !Self.has(cache, 0, ""))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa(nil), KeyDocuments.rsa("a")), for: 0)
        #expect(!Self.has(cache, 0, nil) && Self.has(cache, 0, "a"))
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"keys":[]}"#, #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":"x"}"#, #"{"Keys":[]}"#,
        "<html>502 Bad Gateway</html>", "{\"keys\":[]} ,", "{\"keys\":[" + KeyDocuments.rsa("b"),
        "{\"keys\":[" + KeyDocuments.rsa("b") + "],\"keys\":[" + KeyDocuments.rsa("b") + "]}",
        "{\"keys\":[" + [String](repeating: "{}", count: 100).joined(separator: ",") + "," + KeyDocuments.rsa("b") + "]}",
        "{\"keys\":" + String(repeating: "[", count: 100_000),
    ]) func unusableDocumentKeepsTheOldKeys(document: String) throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a")), for: 0)
        #expect(throws: TokenIssuerError.self) { try cache.store(Array(document.utf8), for: 0) }
        #expect(throws: TokenIssuerError.self) { try cache.store(Array(document.utf8), for: 2) }
        #expect(Self.has(cache, 0, "a") && !Self.has(cache, 0, "b"))
    }

    @Test func skipsUnusableCertificates() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        try cache.store(
            KeyDocuments.certificates([
                ("a", TestKeys.rsaCertificate), ("b", TestKeys.p256Certificate), ("c", "no PEM"),
                ("a", TestKeys.otherRSACertificate),
                ("d", TestKeys.otherRSACertificate),
            ]), for: 2)
        #expect(Self.has(cache, 2, "a") && !Self.has(cache, 2, "b") && !Self.has(cache, 2, "c") && Self.has(cache, 2, "d"))
        #expect(throws: TokenIssuerError.self) { try cache.store(Array(#"{"a":1,"b":null,"c":{}}"#.utf8), for: 2) }
        #expect(Self.has(cache, 2, "d"))
    }

    // MARK: Changes

    @Test func storingADocumentSaysWhatHasChanged() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let (a, b) = (KeyDocuments.rsa("a"), KeyDocuments.rsa("b", modulus: TestKeys.otherRSAModulus))
        #expect(try cache.store(KeyDocuments.set(a), for: 0) == .added)
        #expect(try cache.store(KeyDocuments.set(KeyDocuments.rsa("a", #","use":"sig""#)), for: 0) == .none, "the same key")
        #expect(try cache.store(KeyDocuments.set(b, a), for: 0) == .added)
        #expect(try cache.store(KeyDocuments.set(a, b), for: 0) == .none, "in another order")
        #expect(try cache.store(KeyDocuments.set(b), for: 0) == .removed)
        let reused = KeyDocuments.rsa("b", modulus: TestKeys.rsaModulus)
        #expect(try cache.store(KeyDocuments.set(reused), for: 0) == .added, "another key of the same name")
        #expect(try cache.store(KeyDocuments.set(reused, KeyDocuments.rsa(nil)), for: 0) == .added)
        #expect(try cache.store(KeyDocuments.set(reused, KeyDocuments.rsa(nil)), for: 0) == .none)
    }

    @Test func lacksAKeyUntilADocumentHasIt() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let (key, none) = (MissingKey(issuer: 0, keyID: "a"), MissingKey(issuer: 0, keyID: nil))
        #expect(cache.lacks(key) && cache.lacks(none))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("a")), for: 0)
        #expect(!cache.lacks(key) && !cache.lacks(none) && cache.lacks(MissingKey(issuer: 1, keyID: "a")))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("b")), for: 0)
        #expect(cache.lacks(key), "the new document dropped it")
    }

    @Test func threadsCanShareTheCache() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let document = KeyDocuments.set(KeyDocuments.rsa("rsa1"))
        let verified = Lock(0)
        try cache.store(document, for: 0)
        let threads = (0..<4).map { number in
            Thread(name: "verifier-\(number)") {
                guard let verifier = try? TokenVerifier(issuers: Self.issuers, keyCache: cache) else { return }
                for _ in 0..<50 {
                    _ = try? cache.store(document, for: 0)
                    let result = verifier.verify(TestKeys.rs256, now: TestTokens.now)
                    if case .identity = result { verified.withLock { $0 += 1 } }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(verified.withLock { $0 } == 200)
    }

    @Test func onlyTokensWhoseKeyIsMissingRequireAFetch() throws {
        let cache = IssuerKeyCache(issuers: Self.issuers)
        let verifier = try TokenVerifier(issuers: Self.issuers, keyCache: cache)
        #expect(verifier.verify(TestKeys.rs256, now: TestTokens.now) == .needsKey(MissingKey(issuer: 0, keyID: "rsa1")))
        #expect(verifier.verify(TestKeys.rs256WithoutKeyID, now: TestTokens.now) == .needsKey(MissingKey(issuer: 0, keyID: nil)))
        #expect(verifier.verify(TestKeys.es256, now: TestTokens.now) == .needsKey(MissingKey(issuer: 1, keyID: "ec1")))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("old")), for: 0)
        #expect(verifier.verify(TestKeys.rs256, now: TestTokens.now) == .needsKey(MissingKey(issuer: 0, keyID: "rsa1")))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("old"), KeyDocuments.rsa("rsa1")), for: 0)
        guard case .identity = verifier.verify(TestKeys.rs256, now: TestTokens.now) else {
            Issue.record("expected an identity: the key is in the cache")
            return
        }
        let refused = VerificationResult.refused("The token names no key (kid), and its issuer has several")
        #expect(verifier.verify(TestKeys.rs256WithoutKeyID, now: TestTokens.now) == refused)
    }
}
