import Access
import Testing

@testable import JWT

@Suite struct IntrospectionAnswerTests {
    static let now: Int64 = 1_800_000_000

    private func answer(_ body: String, status: Int = 200) throws(IntrospectionFailure) -> IntrospectionAnswer {
        try IntrospectionAnswer(status: status, body: Array(body.utf8), now: Self.now)
    }

    private func refusal(_ body: String) throws -> VerificationResult { try answer(body).result }

    @Test func readsTheUser() throws {
        let body = #"""
            {"active":true,"sub":"9","role":"CUSTOMER","name":"Ann","bookings":["B-1"],"exp":1800000100,"iat":1799999000,"aud":7,
            "scope":"x","jti":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
            """#
        let answer = try answer(body)
        #expect(
            answer.result == .identity(Identity(role: .customer, id: "9", name: "Ann", bookings: ["B-1"])))
        #expect(answer.expiresAt == 1_800_000_100 && answer.isActive && !answer.isUnusable)
        guard case .identity(let identity) = answer.result else { return }
        #expect(identity.tokenIssuedAt == 1_799_999_000_000)
        #expect(identity.session == nil, "the gateway has not signed this customer in")
    }

    @Test func needsNoExpiry() throws {
        let answer = try answer(#"{"role":"driver","sub":"42","active":true}"#)
        #expect(answer.isActive && answer.expiresAt == nil)
    }

    @Test("the number of a row is an id, as in JWTs")
    func readsANumberAsId() throws {
        #expect(
            try refusal(#"{"active":true,"sub":42,"role":"driver"}"#) == .identity(Identity(role: .driver, id: "42")))
    }

    @Test("a time that is null is absent")
    func readsNullTimes() throws {
        let answer = try answer(#"{"active":true,"sub":"42","role":"driver","exp":null,"nbf":null,"iat":null}"#)
        #expect(answer.isActive && answer.expiresAt == nil)
        guard case .identity(let identity) = answer.result else { return }
        #expect(identity.tokenIssuedAt == nil)
    }

    @Test func tellsWhatIsNotActive() throws {
        for body in [#"{"active":false}"#, #"{"active":false,"sub":"42","role":"driver","exp":1}"#] {
            #expect(try answer(body) == .inactive)
        }
    }

    /// The backend has answered, but not what the gateway needs: the token is refused, and the operator is told.
    @Test(
        arguments: [
            (#"{"active":true}"#, "The token lacks sub"),
            (#"{"active":true,"sub":"42"}"#, "The token lacks role"),
            (#"{"active":true,"sub":4.2,"role":"driver"}"#, "The token: expected sub to be a string or a whole number"),
            (
                #"{"active":true,"sub":"42","role":"king"}"#,
                "The token's role king is unknown: expected driver, admin, customer or ops"
            ),
            (#"{"active":true,"sub":"4 2","role":"driver"}"#, nil),
            (#"{"active":true,"sub":"9","role":"customer","bookings":"B-1"}"#, nil),
            (#"{"active":true,"sub":"9","role":"driver","exp":"soon"}"#, nil),
            (#"{"active":true,"sub":"9","role":"driver","nbf":1900000000}"#, nil),
            (#"{"active":true,"sub":"9","sub":"1","role":"driver"}"#, "The token's payload: sub is given twice"),
        ] as [(String, String?)])
    func refusesAUserThatIsNone(body: String, reason: String?) throws {
        let answer = try answer(body)
        guard case .refused(let text) = answer.result else {
            Issue.record("\(answer)")
            return
        }
        #expect(answer.isUnusable && !answer.isActive)
        if let reason { #expect(text == reason) }
    }

    /// As in JWTs: clocks may differ by a minute.
    @Test func acceptsAnExpiryWithinTheSkew() throws {
        #expect(try answer(#"{"active":true,"sub":"9","role":"driver","exp":1799999950}"#).isActive)
        guard case .expired = try refusal(#"{"active":true,"sub":"9","role":"driver","exp":1799999940}"#) else {
            Issue.record("an expired token is accepted")
            return
        }
    }

    /// None of these says anything of the token, so none may sign anybody out.
    @Test(arguments: [
        (200, "", "the response is no JSON object"), (200, "[]", "the response is no JSON object"),
        (200, "<html>", "the response is no JSON object"), (200, #"{"active":true"#, "the response is no JSON object"),
        (200, "{}", #"the response needs "active" exactly once"#),
        (200, #"{"active":true,"active":false}"#, #"the response needs "active" exactly once"#),
        (200, #"{"active":"true"}"#, #"expected "active" to be true or false"#),
        (200, #"{"active":null}"#, #"expected "active" to be true or false"#),
        (302, #"{"active":true}"#, "HTTP 302: redirects are not followed"),
        (401, #"{"active":false}"#, "HTTP 401: check client_id and client_secret"), (500, "", "HTTP 500"),
        (204, "", "HTTP 204"), (404, #"{"active":false}"#, "HTTP 404"),
    ])
    func isAFailureWithoutAnAnswer(status: Int, body: String, reason: String) {
        #expect(throws: IntrospectionFailure(reason)) { try answer(body, status: status) }
    }
}
