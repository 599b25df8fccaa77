import Access
import JWT
import TestSupport
import Testing

@Suite struct FirebaseTests {
    static let issuers = [
        TokenIssuer.firebase(projectID: "fleet-test", certificatesURL: "https://google.example/certificates", role: .driver)
    ]

    /// Verifies a token with two certificates in the cache: `fb1` belongs to the key that signed the tokens.
    static func verify(_ token: String, now: Int64 = TestKeys.now) throws -> VerificationResult {
        let cache = IssuerKeyCache(issuers: issuers)
        try cache.store(
            KeyDocuments.certificates([("fb0", TestKeys.otherRSACertificate), ("fb1", TestKeys.rsaCertificate)]), for: 0)
        return try TokenVerifier(issuers: issuers, keyCache: cache).verify(token, now: now)
    }

    /// Why a token with the Firebase profile is refused; nil if it is valid. The token is signed with a secret instead
    /// of Google's key.
    static func refusal(_ changes: [(String, String?)], role: Role = .driver) throws -> String? {
        try TestTokens.refusal(TestTokens.token(TestTokens.claims([("role", nil)] + changes)), [secretProfile(role)])
    }

    /// The identity of a token with the Firebase profile, signed with a secret; nil if the token is not valid. `role`
    /// is the configured role.
    static func identity(_ changes: [(String, String?)], role: Role = .driver) throws -> Identity? {
        try TestTokens.identity(TestTokens.token(TestTokens.claims([("role", nil)] + changes)), [secretProfile(role)])
    }

    private static func secretProfile(_ role: Role) -> TokenIssuer {
        TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), profile: .firebase(role: role))
    }

    @Test func googlesCertificatesVerifyTokens() throws {
        #expect(try Self.verify(TestKeys.firebase) == .identity(Identity(role: .driver, id: "uid1")))
        #expect(try Self.verify(TestKeys.firebaseDriver) == .identity(Identity(role: .driver, id: "D-7")))
        #expect(
            try Self.verify(TestKeys.firebase, now: TestKeys.now + 3610)
                == .expired("The token expired at 2027-01-15T08:59:10.000Z"))
    }

    @Test func issuerMatchesGooglesDocumentation() {
        let issuer = Self.issuers[0]
        #expect(issuer.algorithm == .rs256)
        #expect(issuer.issuer == "https://securetoken.google.com/fleet-test")
        #expect(issuer.audience == "fleet-test")
        #expect(issuer.keys == .remote(url: "https://google.example/certificates", .certificates))
    }

    @Test func rejectsTokensOfOtherProjects() throws {
        let issuers = [TokenIssuer.firebase(projectID: "other", certificatesURL: "https://google.example", role: .driver)]
        #expect(
            try TestTokens.refusal(TestKeys.firebase, issuers) == "Unknown issuer https://securetoken.google.com/fleet-test")
    }

    /// Apps take a 401 for a logout, so a forgotten key of the configuration must not cause one.
    @Test func aTokenNeedsAProjectInTheConfiguration() throws {
        func result(_ issuers: [TokenIssuer]) throws -> VerificationResult {
            try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers)).verify(
                TestKeys.firebase, now: TestKeys.now)
        }
        let named = TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), issuer: "https://auth.example")
        for issuers in [[], [named], [TestTokens.anyIssuer]] {
            #expect(try result(issuers) == .needsSetting("auth.firebase.project_id"))
        }
        let remote = TokenIssuer(algorithm: .rs256, keys: .remote(url: "https://x.example", .jwks))
        #expect(try result([remote]) == .needsKey(MissingKey(issuer: 0, keyID: "fb1")), "it may be the issuer of the token")
        #expect(
            try TestTokens.refusal(TestTokens.token(TestTokens.claims([("iss", "\"https://securetoken.google.com\"")]))) == nil)
    }

    /// The Firebase user of a token, for a gateway that keeps accounts.
    private static func user(
        _ changes: [(String, String?)], requiredClaim: String = "", hasAccounts: Bool = true
    ) throws -> FirebaseUser? {
        let profile = TokenIssuer.Profile.firebase(role: .driver, requiredClaim: requiredClaim, hasAccounts: hasAccounts)
        let issuer = TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), profile: profile)
        return try TestTokens.identity(TestTokens.token(TestTokens.claims([("role", nil)] + changes)), [issuer])?.firebase
    }

    @Test func theUserOfAnAccountIsTheSubject() throws {
        #expect(
            try Self.user([("phone_number", #""+919179621765""#)])
                == FirebaseUser(uid: "42", driverID: "42", phone: "+919179621765", namesRole: false, hasDefaultRole: true))
        #expect(
            try Self.user([("driver_id", #""D7""#), ("role", #""driver""#)], requiredClaim: "fleet")
                == FirebaseUser(uid: "42", driverID: "D7", phone: nil, namesRole: true, hasDefaultRole: false))
        #expect(try Self.user([("phone_number", "null")])?.phone == nil)
        #expect(try Self.user([], hasAccounts: false) == nil)
    }

    @Test(arguments: [#""919179621765""#, #""+12a45678""#, #""+1234567890123456""#, "12345", #""""#])
    func aPhoneNumberIsInE164(_ number: String) throws {
        #expect(try Self.user([("phone_number", number)]) == nil)
    }

    @Test func usesTheConfiguredRoleOnlyIfTheTokenHasNoRole() throws {
        #expect(try Self.identity([]) == Identity(role: .driver, id: "42"))
        #expect(try Self.identity([], role: .customer) == Identity(role: .customer, id: "42"))
        #expect(try Self.identity([("role", #""Admin""#)]) == Identity(role: .admin, id: "42"))
        #expect(try Self.refusal([("role", #""root""#)])?.contains("role root") == true)
        #expect(try Self.refusal([("role", "null")]) == "The token: expected role to be a string")
    }

    @Test func givesTheConfiguredRoleOnlyWithTheRequiredClaim() throws {
        let issuers = [
            TokenIssuer(
                algorithm: .hs256, keys: .secret(TestTokens.secret), profile: .firebase(role: .driver, requiredClaim: "fleet"))
        ]
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        func result(_ changes: [(String, String?)]) -> VerificationResult {
            verifier.verify(TestTokens.token(TestTokens.claims([("role", nil)] + changes)), now: TestTokens.now)
        }
        let withoutRole = VerificationResult.withoutRole("The user has no role: the token lacks role and fleet")
        #expect(result([]) == withoutRole)
        for json in ["null", "false", #""""#] { #expect(result([("fleet", json)]) == withoutRole, "\(json)") }
        #expect(result([("Fleet", "true")]) == withoutRole)
        #expect(result([("fleet", #"true,"fleet":true"#)]) == withoutRole, "given twice")
        let driver = VerificationResult.identity(Identity(role: .driver, id: "42"))
        for json in ["true", "1", #""north""#, #"{"id":1}"#, #"["a"]"#] { #expect(result([("fleet", json)]) == driver) }
        let admin = VerificationResult.identity(Identity(role: .admin, id: "42"))
        #expect(result([("role", #""admin""#)]) == admin, "the token's own role needs no claim")
        #expect(
            result([("exp", "1")]) == .expired("The token expired at 1970-01-01T00:00:01.000Z"),
            "a token that is not valid is refused for that")
    }

    @Test func driverIDTakesPrecedenceOverSub() throws {
        #expect(try Self.identity([("driver_id", #""D-7""#)]) == Identity(role: .driver, id: "D-7"))
        #expect(try Self.identity([("driver_id", "9007199254740993")]) == Identity(role: .driver, id: "9007199254740993"))
        #expect(try Self.identity([("driver_id", #""D-7""#)], role: .customer) == Identity(role: .customer, id: "42"))
        for json in ["null", "-1", "1.5", "1e3", "true", "[]"] {
            #expect(
                try Self.refusal([("driver_id", json)]) == "The token: expected driver_id to be a string or a whole number")
        }
        #expect(
            try Self.refusal([("driver_id", #""a b""#)])?.hasPrefix("The token's driver_id a b is not a valid driver id") == true)
        #expect(try Self.refusal([("driver_id", #""D-7""#), ("sub", nil)]) == "The token lacks sub")
    }

    @Test func rejectsASignInInTheFuture() throws {
        #expect(try Self.refusal([("auth_time", "\(TestTokens.now + 60)")]) == nil)
        #expect(
            try Self.refusal([("auth_time", "\(TestTokens.now + 61)")])
                == "The token's auth_time is in the future: 2027-01-15T08:01:01.000Z")
        #expect(
            try Self.refusal([("auth_time", "1e400")]) == "The token: expected auth_time to be a number of seconds since 1970")
    }

    @Test func otherIssuersIgnoreFirebasesClaims() throws {
        let token = TestTokens.token(TestTokens.claims([("driver_id", #""D-7""#), ("auth_time", #""never""#)]))
        #expect(try TestTokens.identity(token) == Identity(role: .driver, id: "42"))
    }
}
