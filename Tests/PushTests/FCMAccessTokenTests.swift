import HTTPClient
import TestSupport
import Testing

@testable import Push

struct FCMAccessTokenTests {
    /// Wraps the token in a class, so that `#expect` can call its mutating methods.
    private final class Fixture {
        private var token = FCMAccessToken()
        private var rng = SplitMix(seed: 3)

        var nextTurn: Int64? { token.nextTurn }
        var isExpected: Bool { token.isExpected }
        func current(at now: Int64) -> IssuedCredential? { token.current(at: now) }
        func use(at now: Int64) -> IssuedCredential? { token.use(at: now) }
        func claimFetch(at now: Int64) -> Bool { token.claimFetch(at: now) }
        func requestRenewal(after generation: Int, at now: Int64) -> FCMAccessToken.RenewalRequest {
            token.requestRenewal(after: generation, at: now)
        }

        @discardableResult func handle(_ response: AccessTokenResponse, at now: Int64) -> FCMAccessToken.FetchResult {
            token.handle(response, at: now, using: &rng)
        }

        func grant(_ text: String, at now: Int64) {
            #expect(requestRenewal(after: -1, at: now) == .requested)
            #expect(claimFetch(at: now))
            handle(.granted(text, seconds: 3_600), at: now)
        }
    }

    private let token = Fixture()

    @Test func tokenIsFetchedOnceAndUsedUntilItExpires() {
        #expect(token.current(at: 0) == nil)
        #expect(!token.claimFetch(at: 0), "no request needs a token")
        #expect(token.requestRenewal(after: -1, at: 0) == .requested)
        #expect(token.claimFetch(at: 0))
        #expect(!token.claimFetch(at: 5), "one fetch at a time")
        #expect(token.nextTurn == nil)
        #expect(token.handle(.granted("abc", seconds: 3_600), at: 400) == .renewed)
        #expect(token.current(at: 400) == IssuedCredential(authorization: "Bearer abc", generation: 0))
        #expect(token.nextTurn == nil)
        #expect(!token.claimFetch(at: 3_000_000), "no request has used the token after four fifths of its lifetime")
        #expect(token.use(at: 2_879_999) != nil)
        #expect(!token.claimFetch(at: 2_879_999))
        #expect(token.current(at: 3_599_999) != nil)
        #expect(token.current(at: 3_600_000) == nil)
    }

    @Test(arguments: [Int64(0), 1, 9]) func rejectsATokenThatExpiredBeforeItArrived(_ seconds: Int64) {
        #expect(token.requestRenewal(after: -1, at: 0) == .requested)
        #expect(token.claimFetch(at: 0))
        let result = token.handle(.granted("abc", seconds: seconds), at: 9_000)
        #expect(result == .delayed(reason: "the token had expired when it arrived"))
        #expect(token.current(at: 9_000) == nil && token.isExpected)
        #expect(!token.claimFetch(at: 9_500))
        #expect(token.claimFetch(at: 10_500), "fetched again, after the back-off")
    }

    @Test func usesThePresentTokenDuringAFetch() {
        token.grant("old", at: 0)
        #expect(token.use(at: 2_880_000)?.authorization == "Bearer old")
        #expect(token.claimFetch(at: 2_880_000))
        #expect(token.current(at: 2_900_000)?.authorization == "Bearer old")
        #expect(token.handle(.delayed(reason: "503"), at: 2_900_000) == .delayed(reason: "503"))
        #expect(token.current(at: 2_900_000)?.generation == 0)
        #expect(!token.claimFetch(at: 2_900_999))
        #expect(token.claimFetch(at: 2_901_500))
        #expect(token.handle(.granted("new", seconds: 100), at: 2_902_000) == .renewed)
        #expect(token.current(at: 2_902_000) == IssuedCredential(authorization: "Bearer new", generation: 1))
    }

    @Test func delayedFetchesBackOffExponentially() {
        var now: Int64 = 0
        var waits: [Int64] = []
        #expect(token.requestRenewal(after: -1, at: 0) == .requested)
        for _ in 0..<8 {
            #expect(token.claimFetch(at: now))
            token.handle(.delayed(reason: "503"), at: now)
            let next = token.nextTurn ?? 0
            waits.append(next - now)
            now = next
        }
        for (wait, seconds) in zip(waits, [1, 2, 4, 8, 16, 32, 60, 60] as [Int64]) {
            #expect(wait >= seconds * 1_000 && wait <= seconds * 1_500, "\(waits)")
        }
    }

    @Test func refusedFetchesRepeatEvery30Seconds() {
        #expect(token.requestRenewal(after: -1, at: 0) == .requested)
        #expect(token.claimFetch(at: 0))
        #expect(token.handle(.refused(reason: "invalid_grant"), at: 10) == .refused(reason: "invalid_grant"))
        #expect(token.nextTurn == 30_010)
    }

    /// A proxy's response, or that of a wrong address.
    @Test func twoForeignResponsesInARowCountAsARefusal() {
        var now: Int64 = 0
        #expect(token.requestRenewal(after: -1, at: 0) == .requested)
        for (response, result) in [
            (.foreign(reason: "404"), .delayed(reason: "404")), (.delayed(reason: "503"), .delayed(reason: "503")),
            (.foreign(reason: "404"), .delayed(reason: "404")), (.foreign(reason: "404"), .refused(reason: "404")),
            (.foreign(reason: "404"), .refused(reason: "404")), (.granted("a", seconds: 100), .renewed),
        ] as [(AccessTokenResponse, FCMAccessToken.FetchResult)] {
            #expect(token.claimFetch(at: now))
            #expect(token.handle(response, at: now) == result)
            now = token.nextTurn ?? now
        }
    }

    @Test func refusedTokenIsRenewedOncePerMinute() {
        token.grant("a", at: 0)
        #expect(token.requestRenewal(after: 0, at: 1_000) == .requested)
        #expect(token.current(at: 1_000) == nil)
        #expect(token.claimFetch(at: 1_000))
        #expect(token.requestRenewal(after: 0, at: 1_001) == .requested)
        #expect(!token.claimFetch(at: 1_001))
        token.handle(.granted("b", seconds: 3_600), at: 1_100)
        #expect(token.requestRenewal(after: 0, at: 1_200) == .alreadyRenewed)
        #expect(token.requestRenewal(after: 1, at: 1_300) == .tooSoon)
        #expect(token.current(at: 1_300)?.authorization == "Bearer b", "the new token stays in use")
        #expect(token.requestRenewal(after: 1, at: 61_000) == .requested)
    }

    // MARK: Responses

    @Test(
        arguments: [
            (
                200, #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#,
                AccessTokenResponse.granted("ya29.x", seconds: 3_599)
            ),
            (200, #"{"access_token":"ya29.x"}"#, .granted("ya29.x", seconds: 3_600)),
            (200, #"{"access_token":"ya29.x","expires_in":99999999}"#, .granted("ya29.x", seconds: 86_400)),
            (200, #"{"access_token":"a\r\nb","expires_in":10}"#, .delayed(reason: "the response has no valid access token")),
            (200, #"{"access_token":"a","expires_in":0}"#, .delayed(reason: "the response has no valid access token")),
            (200, #"{"access_token":"a""#, .delayed(reason: "the response has no valid access token")),
            (200, "<html>", .delayed(reason: "the response has no valid access token")),
            (
                400, #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#,
                .refused(reason: "400 invalid_grant Invalid JWT")
            ),
            (400, #"{"error":"invalid_scope"}"#, .refused(reason: "400 invalid_scope")),
            (401, #"{"error":"invalid_client"}"#, .refused(reason: "401 invalid_client")),
            (401, "", .foreign(reason: "401")), (403, "<html>", .foreign(reason: "403")), (404, "{}", .foreign(reason: "404")),
            (302, "", .delayed(reason: "302")), (408, "", .delayed(reason: "408")), (429, "", .delayed(reason: "429")),
            (500, #"{"error":"internal_failure"}"#, .delayed(reason: "500 internal_failure")), (503, "", .delayed(reason: "503")),
        ] as [(Int, String, AccessTokenResponse)])
    func parsesResponses(status: Int, body: String, expected: AccessTokenResponse) {
        #expect(AccessTokenResponse(.success(HTTPClientResponse(status: status, body: Array(body.utf8)))) == expected)
    }

    @Test func requestErrorsDelayTheFetch() {
        #expect(AccessTokenResponse(.failure(.notSent("refused"))) == .delayed(reason: "refused"))
        #expect(AccessTokenResponse(.failure(.timedOut)) == .delayed(reason: "timed out"))
    }
}
