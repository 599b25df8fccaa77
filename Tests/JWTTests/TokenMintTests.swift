import Access
import Crypto
import JWT
import Testing

@Suite struct TokenMintTests {
    @Test(arguments: [
        Identity(role: .driver, id: "42"), Identity(role: .driver, id: "42", name: "Anna \"é\" 😀\n"),
        Identity(role: .customer, id: "c@d.e", bookings: ["B-1", "B;2"]), Identity(role: .customer, id: "c"),
        Identity(role: .admin, id: "a \\ \"b\""), Identity(role: .ops, id: "ops"),
    ]) func mintedTokensVerify(identity: Identity) throws {
        let issuers = [TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), issuer: "dev", audience: "fleet")]
        let token = TokenMint.token(
            for: identity, secret: TestTokens.secret, issuer: "dev", audience: "fleet", issuedAt: TestTokens.now,
            lifetimeSeconds: 3600)
        #expect(try TestTokens.identity(token, issuers) == identity)
        // The verifier tolerates a minute of clock skew at both ends of the lifetime of 3,600 s.
        #expect(try TestTokens.identity(token, issuers, now: TestTokens.now + 3659) == identity)
        #expect(try TestTokens.refusal(token, issuers, now: TestTokens.now + 3660)?.hasPrefix("The token expired at ") == true)
        #expect(try TestTokens.refusal(token, issuers, now: TestTokens.now - 61)?.contains("iat") == true)
        let other = [TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret + "x"), issuer: "dev", audience: "fleet")]
        #expect(try TestTokens.refusal(token, other) == "The token's signature is wrong")
    }

    @Test func omitsEmptyIssuerAndAudience() throws {
        let token = TokenMint.token(
            for: Identity(role: .driver, id: "42"), secret: "s", issuedAt: 1_800_000_000, lifetimeSeconds: .max)
        let parts = token.split(separator: ".")
        #expect(Base64URL.bytes(String(parts[0])) == Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
        let payload = #"{"sub":"42","role":"driver","iat":1800000000,"exp":9223372036854775807}"#
        #expect(Base64URL.bytes(String(parts[1])) == Array(payload.utf8))
    }
}
