import Access
import Testing
import Threads

@testable import JWT

/// Tokens of customers who have signed in by code.
@Suite struct SignInCodeTokenTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private static let now: Int64 = 1_800_000_000
    private static let jti = "abcdefghijklmnop" + "ABCDEFGHIJKLMN-_"
    private let ended = Lock<Set<String>>([])

    private func verifier(signsCustomersIn: Bool = true) throws -> TokenVerifier {
        var issuer = TokenIssuer(algorithm: .hs256, keys: .secret(Self.secret))
        issuer.signsCustomersIn = signsCustomersIn
        let ended = ended
        return try TokenVerifier(
            issuers: [issuer], keyCache: IssuerKeyCache(issuers: [issuer]),
            isEnded: { identity in ended.withLock { $0.contains(identity.session?.id ?? "") || $0.contains(identity.key) } })
    }

    private func token(_ role: Role = .customer, jti: String? = jti) -> String {
        TokenMint.token(
            for: Identity(role: role, id: "10000"), secret: Self.secret, id: jti, issuedAt: Self.now, lifetimeSeconds: 3_600)
    }

    private func session(_ token: String, _ verifier: TokenVerifier) throws -> TokenSession? {
        guard case .identity(let identity) = verifier.verify(token, now: Self.now) else { return nil }
        return identity.session
    }

    @Test func theFirstHalfOfTheIDIsThatOfTheSignIn() throws {
        let verifier = try verifier()
        let session = try #require(try session(token(), verifier))
        #expect(session.id == "abcdefghijklmnop" && session.expiresAt == Self.now + 3_600)
    }

    @Test(arguments: [nil, "", "short", String(repeating: "a", count: 33), String(repeating: "a", count: 31) + "."])
    func otherTokensBelongToNoSignIn(jti: String?) throws {
        let verifier = try verifier()
        guard case .identity(let identity) = verifier.verify(token(jti: jti), now: Self.now) else {
            Issue.record("refused")
            return
        }
        #expect(identity.session == nil)
    }

    @Test func onlyCustomersOfTheIssuerThatSignsThemIn() throws {
        #expect(try session(token(.driver), verifier()) == nil)
        #expect(try session(token(), verifier(signsCustomersIn: false))?.isCurrent == false)
        #expect(try session(token(), verifier())?.isCurrent == true)
    }

    @Test func anEndedTokenStaysEndedAfterSignInByCodeIsDisabled() throws {
        let verifier = try verifier(signsCustomersIn: false)
        ended.withLock { _ = $0.insert("abcdefghijklmnop") }
        #expect(verifier.verify(token(), now: Self.now) == .refused("The session has ended"))
    }

    @Test func aTokenThatBeginsAfterItsEndIsRefusedOrAcceptedWithoutACrash() throws {
        let token = TokenMint.token(
            for: Identity(role: .customer, id: "10000"), secret: Self.secret, id: Self.jti, issuedAt: Self.now,
            lifetimeSeconds: -1_000)
        let verifier = try verifier()
        guard case .expired = verifier.verify(token, now: Self.now) else {
            Issue.record("an expired token was accepted")
            return
        }
        guard case .identity = verifier.verify(token, now: Self.now, expiredSecondsMax: 2_000) else {
            Issue.record("within the grace, it was refused")
            return
        }
    }

    @Test(arguments: ["abcdefghijklmnop", "customer:10000"]) func anEndCountsAtOnce(key: String) throws {
        let verifier = try verifier()
        let token = token()
        #expect(try session(token, verifier) != nil)
        ended.withLock { _ = $0.insert(key) }
        #expect(verifier.verify(token, now: Self.now) == .refused("The session has ended"), "although it was verified before")
        #expect(verifier.verify(token, now: Self.now, expiredSecondsMax: 100) == .refused("The session has ended"))
        guard case .identity = verifier.verify(self.token(jti: nil), now: Self.now) else {
            Issue.record("a token of the operator's own backend was refused")
            return
        }
    }

    @Test func anExpiredTokenIsAcceptedOnlyWhereThatIsAsked() throws {
        let verifier = try verifier()
        let end = Self.now + 3_600
        func isAccepted(at time: Int64, _ grace: Int64) -> Bool {
            if case .identity = verifier.verify(token(), now: time, expiredSecondsMax: grace) { true } else { false }
        }
        #expect(isAccepted(at: end + 59, 0) && !isAccepted(at: end + 60, 0))
        #expect(isAccepted(at: end + 999, 1_000) && !isAccepted(at: end + 1_000, 1_000))
        #expect(!isAccepted(at: end + 60, 0), "nothing of it was stored")
        let other = try self.verifier(signsCustomersIn: false)
        guard case .expired = other.verify(token(), now: end + 60, expiredSecondsMax: 1_000) else {
            Issue.record("another issuer's token was accepted")
            return
        }
    }
}
