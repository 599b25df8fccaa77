import Access
import TestSupport
import Testing

@testable import JWT

@Suite struct VerifiedTokensTests {
    private static let driver = Identity(role: .driver, id: "42")

    private static func entry(until end: Double = 100, generation: Int = 0) -> VerifiedTokens.Entry {
        VerifiedTokens.Entry(identity: driver, issuer: 3, keyGeneration: generation, validity: 10..<end)
    }

    private static func digest(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

    @Test func findsATokenAsLongAsItIsValid() {
        var tokens = VerifiedTokens()
        for (now, isValid) in [(9, false), (10, true), (99, true), (100, false)] as [(Int64, Bool)] {
            tokens.store(Self.entry(), [1])
            #expect((tokens.entry([1], now: now) { _ in 0 } != nil) == isValid, "\(now)")
        }
        #expect(tokens.entry([2], now: 50) { _ in 0 } == nil)
        tokens.store(Self.entry(), [1])
        #expect(tokens.entry([1], now: 100) { _ in 0 } == nil)
        #expect(tokens.count == 0, "an expired token is forgotten")
    }

    @Test func findsATokenAsLongAsItsIssuersKeysAreTheSame() {
        var tokens = VerifiedTokens()
        tokens.store(Self.entry(generation: 5), [1])
        #expect(tokens.entry([1], now: 50) { $0 == 3 ? 5 : 0 }?.identity == Self.driver)
        #expect(tokens.entry([1], now: 50) { _ in 6 } == nil)
        #expect(tokens.entry([1], now: 50) { _ in 5 } == nil, "it was forgotten")
    }

    @Test func keepsTokensInUseAndForgetsOthers() {
        var tokens = VerifiedTokens(countMax: 100)
        tokens.store(Self.entry(), Self.digest(0))
        for number in 1...1_000 {
            tokens.store(Self.entry(), Self.digest(number))
            #expect(tokens.count <= 100)
            #expect(tokens.entry(Self.digest(0), now: 50) { _ in 0 } != nil, "the token in use was forgotten")
        }
        let kept = (1...1_000).filter { number in tokens.entry(Self.digest(number), now: 50) { _ in 0 } != nil }
        #expect(kept.count >= 49 && kept.allSatisfy { $0 > 900 }, "the latest tokens are kept")
    }

    @Test func verifierAcceptsAVerifiedTokenOnlyWhileItsKeyIsInTheCache() throws {
        let issuers = IssuerKeyCacheTests.issuers
        let cache = IssuerKeyCache(issuers: issuers)
        let verifier = try TokenVerifier(issuers: issuers, keyCache: cache)
        let isAccepted = { (now: Int64) -> Bool in
            if case .identity = verifier.verify(TestKeys.rs256, now: now) { true } else { false }
        }
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("rsa1")), for: 0)
        #expect(isAccepted(TestTokens.now) && isAccepted(TestTokens.now))
        #expect(!isAccepted(TestTokens.now + 10_000_000_000), "expired")
        #expect(isAccepted(TestTokens.now))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("rsa1"), KeyDocuments.rsa("other")), for: 0)
        #expect(isAccepted(TestTokens.now), "verified again with the same key")
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("other")), for: 0)
        #expect(verifier.verify(TestKeys.rs256, now: TestTokens.now) == .needsKey(MissingKey(issuer: 0, keyID: "rsa1")))
        try cache.store(KeyDocuments.set(KeyDocuments.rsa("rsa1", modulus: TestKeys.otherRSAModulus)), for: 0)
        #expect(verifier.verify(TestKeys.rs256, now: TestTokens.now) == .refused("The token's signature is wrong"))
    }

    @Test func verifiedTokenDoesNotVouchForOthers() throws {
        let issuers = [TestTokens.anyIssuer]
        let verifier = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        let token = TestTokens.token()
        let first = verifier.verify(token, now: TestTokens.now)
        #expect(first == .identity(Self.driver) && verifier.verify(token, now: TestTokens.now) == first)
        let forged = TestTokens.token(secret: TestTokens.secret + "x")
        #expect(verifier.verify(forged, now: TestTokens.now) == .refused("The token's signature is wrong"))
        let early = TestTokens.token(TestTokens.claims([("nbf", "\(TestTokens.now)")]))
        #expect(verifier.verify(early, now: TestTokens.now) == first)
        #expect(
            verifier.verify(early, now: TestTokens.now - 61) != first, "the clock was set back to before the token is valid")
    }
}
