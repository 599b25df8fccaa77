import Access
import Crypto
import JWT
import TestSupport
import Testing

/// Tokens whose key, algorithm and issuer do not fit together must not verify.
@Suite struct KeyConfusionTests {
    static let rsa = TokenIssuer(
        algorithm: .rs256, keys: .remote(url: "https://rsa.example/keys", .jwks), issuer: "https://rsa.example")
    static let p256 = TokenIssuer(
        algorithm: .es256, keys: .remote(url: "https://ec.example/keys", .jwks), issuer: "https://ec.example")
    static let other = TokenIssuer(
        algorithm: .rs256, keys: .remote(url: "https://other.example/keys", .jwks), issuer: "https://other.example")
    static let driver = VerificationResult.identity(Identity(role: .driver, id: "42"))

    /// A verifier with all three issuers, whose keys are in the cache.
    static func verifier() throws -> TokenVerifier {
        let issuers = [rsa, p256, other]
        let cache = IssuerKeyCache(issuers: issuers)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("rsa1")), for: 0)
        try cache.store(KeyDocuments.set(KeyDocuments.p256("ec1")), for: 1)
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("other1", modulus: TestKeys.otherRSAModulus)), for: 2)
        return try TokenVerifier(issuers: issuers, keyCache: cache)
    }

    static func verify(_ token: String) throws -> VerificationResult { try verifier().verify(token, now: TestTokens.now) }

    @Test func verifiesTokensWithTheirIssuersKeys() throws {
        #expect(try Self.verify(TestKeys.rs256) == Self.driver)
        #expect(try Self.verify(TestKeys.rs256WithoutKeyID) == Self.driver, "the issuer has only one key")
        #expect(try Self.verify(TestKeys.es256) == Self.driver)
    }

    @Test func keyIDDoesNotFindAnotherIssuersKey() throws {
        let missing = VerificationResult.needsKey(MissingKey(issuer: 0, keyID: "other1"))
        #expect(try Self.verify(TestKeys.foreignKeyID) == missing, "other1 is not a key of rsa.example")
        #expect(
            try Self.verify(TestKeys.foreignKey) == .refused("The token's alg ES256 is refused: expected RS256"))
    }

    @Test func ignoresKeysInTheToken() throws {
        #expect(try Self.verify(TestKeys.ownKey) == .refused("The token's signature is wrong"))
    }

    @Test func publicKeyIsNotASecret() throws {
        // The classic attack: a token signed by HS256 with the public RSA key's PEM text as the secret.
        let issuer = TokenIssuer(algorithm: .rs256, keys: .pem(TestKeys.rsa), issuer: "https://rsa.example")
        for secret in [TestKeys.rsa, TestKeys.rsa + "\n", TestKeys.rsaModulus] {
            let claims = TestTokens.claims([("iss", #""https://rsa.example""#)])
            #expect(
                try TestTokens.refusal(TestTokens.token(claims, secret: secret), [issuer])
                    == "The token's alg HS256 is refused: expected RS256")
            #expect(
                try TestTokens.refusal(TestTokens.token(claims, header: #"{"alg":"RS256"}"#, secret: secret), [issuer])
                    == "The token's signature is wrong")
        }
        #expect(try TestTokens.identity(TestKeys.rs256, [issuer]) == Identity(role: .driver, id: "42"))
    }

    @Test func pemKeysVerifyLikeFetchedKeys() throws {
        for pem in [TestKeys.rsa, TestKeys.rsaCertificate] {
            let issuer = TokenIssuer(algorithm: .rs256, keys: .pem(pem), issuer: "https://rsa.example")
            #expect(try TestTokens.identity(TestKeys.rs256, [issuer]) != nil)
            #expect(try TestTokens.identity(TestKeys.rs256WithoutKeyID, [issuer]) != nil)
        }
        for pem in [TestKeys.p256, TestKeys.p256Certificate] {
            let issuer = TokenIssuer(algorithm: .es256, keys: .pem(pem), issuer: "https://ec.example")
            #expect(try TestTokens.identity(TestKeys.es256, [issuer]) != nil)
        }
    }

    @Test(arguments: [TestKeys.rs256, TestKeys.es256]) func rejectsChangedSignatures(token: String) throws {
        let dot = try #require(token.lastIndex(of: "."))
        let signature = try #require(Base64URL.bytes(String(token[token.index(after: dot)...])))
        let verifier = try Self.verifier()
        let wrongSignatures = signature.indices.map { index in
            var wrong = signature
            wrong[index] ^= 1
            return wrong
        }
        for wrong in wrongSignatures + [signature.dropLast(), signature + [0], [0] + signature, [0]] {
            let result = verifier.verify(token[...dot] + Base64URL.text(wrong), now: TestTokens.now)
            #expect(result == .refused("The token's signature is wrong"))
        }
    }

    @Test func rejectsP256SignaturesThatAreNotInJOSEsForm() throws {
        #expect(try Self.verify(TestKeys.es256DER) == .refused("The token's signature is wrong"))
        let start = TestKeys.es256[...(try #require(TestKeys.es256.lastIndex(of: ".")))]
        for count in [63, 64, 65, 1] {
            let zeros = start + Base64URL.text([UInt8](repeating: 0, count: count))
            #expect(try Self.verify(String(zeros)) == .refused("The token's signature is wrong"))
        }
    }

    // MARK: Configuration

    static let mismatches: [(TokenAlgorithm, TokenIssuer.Keys, String)] = [
        (.hs256, .secret(""), "the HS256 secret is empty. Set a secret of at least 32 bytes"),
        (
            .hs256, .secret(TestKeys.rsa),
            "the HS256 secret is a PEM file. Set a random secret, or the algorithm RS256 or ES256"
        ),
        (.hs256, .pem(TestKeys.rsa), "HS256 needs a secret, not a public key"),
        (.hs256, .remote(url: "https://rsa.example", .jwks), "HS256 needs a secret, not a public key"),
        (.rs256, .secret(TestTokens.secret), "RS256 needs a public key, not a secret"),
        (.rs256, .pem(TestKeys.p256), "the public key is for ES256, but the algorithm is RS256. Change one of them"),
        (.es256, .pem(TestKeys.rsa), "the public key is for RS256, but the algorithm is ES256. Change one of them"),
        (.es256, .pem(""), "expected PEM, from -----BEGIN …----- to -----END …-----"),
    ]

    @Test(arguments: mismatches)
    func rejectsKeysThatDoNotFitTheAlgorithm(_ algorithm: TokenAlgorithm, keys: TokenIssuer.Keys, problem: String) {
        let issuers = [TokenIssuer(algorithm: algorithm, keys: keys, issuer: "A")]
        do throws(TokenIssuerError) {
            _ = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
            Issue.record("expected an error")
        } catch {
            #expect(error.description == "issuer A: " + problem)
        }
    }

    @Test(arguments: ["", "A"]) func rejectsRepeatedIssuers(name: String) {
        let issuers = [
            TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), issuer: name), Self.rsa,
            TokenIssuer(algorithm: .rs256, keys: .pem(TestKeys.rsa), issuer: name),
        ]
        #expect(throws: TokenIssuerError.self) { try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers)) }
    }

    @Test func rejectsAllTokensWithoutIssuers() throws {
        #expect(
            try TestTokens.refusal(TestTokens.token(), [])
                == "No tokens are accepted: no issuer is configured (auth.jwt)")
    }
}
