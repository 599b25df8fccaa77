import Access
import JWT
import Testing

@Suite struct ClaimsTests {
    /// A claim and its new JSON value; nil removes the claim.
    typealias Change = (name: String, json: String?)

    static func refusal(_ changes: Change..., now: Int64 = TestTokens.now) throws -> String? {
        try TestTokens.refusal(TestTokens.token(TestTokens.claims(changes.map { ($0.name, $0.json) })), now: now)
    }

    static func identity(_ changes: Change...) throws -> Identity? {
        try TestTokens.identity(TestTokens.token(TestTokens.claims(changes.map { ($0.name, $0.json) })))
    }

    // MARK: Identity

    @Test func mapsClaimsToAnIdentity() throws {
        #expect(try Self.identity() == Identity(role: .driver, id: "42"))
        #expect(try Self.identity(("name", #""Anna \u00e9""#)) == Identity(role: .driver, id: "42", name: "Anna é"))
        #expect(try Self.identity(("name", "null")) == Identity(role: .driver, id: "42"))
        #expect(try Self.identity(("role", #""ADMIN""#), ("sub", #""a b""#)) == Identity(role: .admin, id: "a b"))
        #expect(
            try Self.identity(("role", #""Customer""#), ("bookings", #"["B-1","B-2"]"#))
                == Identity(role: .customer, id: "42", bookings: ["B-1", "B-2"]))
        #expect(try Self.identity(("role", #""customer""#)) == Identity(role: .customer, id: "42"))
        #expect(try Self.identity(("bookings", #"["B-1"]"#)) == Identity(role: .driver, id: "42"), "drivers have no bookings")
    }

    @Test(arguments: ["sub", "role", "exp"]) func requiresSubRoleAndExp(name: String) throws {
        #expect(try Self.refusal((name, nil)) == "The token lacks \(name)")
    }

    static let values = ["null", "true", "{}", "[]", #"["x"]"#, "1", "1.5", #""""#, #""NaN""#, "[1]", "[null]", "[[]]"]

    /// For each claim, the elements of ``values`` with which a token is valid if neither issuer nor audience is
    /// configured. `exp` has none, because the time 1 is in the past.
    static let accepted: [(name: String, values: [String])] = [
        ("sub", [#""NaN""#, "1"]), ("role", []), ("exp", []), ("nbf", ["1", "1.5"]), ("iat", ["1", "1.5"]),
        ("iss", [#""""#, #""NaN""#]), ("aud", ["[]", #"["x"]"#, #""""#, #""NaN""#]),
        ("name", ["null", #""""#, #""NaN""#, "1", "1.5"]),
    ]

    @Test(arguments: accepted) func acceptsOnlyClaimsOfTheirTypes(name: String, accepted: [String]) throws {
        for json in Self.values {
            let refusal = try Self.refusal((name, json))
            #expect((refusal == nil) == accepted.contains(json), "\(name): \(json)")
            #expect(refusal?.contains(name) != false)
        }
    }

    @Test(arguments: values + [#"["a b"]"#, #"["B-1",1]"#, #"["B-1",null]"#, #"[""]"#, #"["é"]"#])
    func rejectsInvalidBookings(json: String) throws {
        let refusal = try Self.refusal(("role", #""customer""#), ("bookings", json))
        if [#"["x"]"#, "[]", "null"].contains(json) {
            #expect(refusal == nil)
        } else {
            #expect(refusal?.contains("bookings") == true)
        }
    }

    /// Issuers write the number of a row.
    @Test func aNumberIsItsText() throws {
        #expect(try Self.identity(("sub", "42"), ("name", "5")) == Identity(role: .driver, id: "42", name: "5"))
        #expect(try Self.identity(("sub", "0042"), ("name", "-1.50e3"))?.id == nil, "no JSON")
        let most = "340282366920938463463374607431768211456"
        #expect(try Self.identity(("sub", most), ("name", "-1.50e3")) == Identity(role: .driver, id: most, name: "-1.50e3"))
        for number in ["42.0", "4.2e1", "-42", "1E2"] {
            #expect(try Self.refusal(("sub", number)) == "The token: expected sub to be a string or a whole number")
        }
        #expect(
            try Self.identity(("role", #""customer""#), ("bookings", "null")) == Identity(role: .customer, id: "42"))
    }

    @Test func timesMayHaveAFraction() throws {
        let now = TestTokens.now
        for digits in ["\(now + 600).5", "\(Double(now + 600))", "1.9e9"] { #expect(try Self.refusal(("exp", digits)) == nil) }
        for name in ["iat", "nbf"] { #expect(try Self.refusal((name, "\(now).25")) == nil) }
        #expect(try Self.refusal(("nbf", "\(now + 60).5")) != nil)
    }

    @Test func rejectsInvalidIDs() throws {
        for id in [#""a b""#, #""a/b""#, #""""#, #""\u0000""#, #""é""#, "\"" + String(repeating: "x", count: 151) + "\""] {
            #expect(try Self.refusal(("sub", id))?.hasPrefix("The token's sub ") == true)
        }
        #expect(
            try Self.refusal(("sub", #""a b""#))
                == "The token's sub a b is not a valid driver id: expected 1 to 150 characters of A-Z a-z 0-9 _ - = @ , . ;")
        let refusal = try #require(try Self.refusal(("role", #""ops""#), ("sub", #""a\nb""#)))
        #expect(refusal.hasSuffix("expected 1 to 150 bytes without control characters"))
        for role in ["root", "king", "driver,admin", "driver "] {
            let reason = "The token's role \(role) is unknown: expected driver, admin, customer or ops"
            #expect(try Self.refusal(("role", "\"\(role)\"")) == reason)
        }
    }

    // MARK: Times

    @Test func toleratesAMinuteOfClockSkew() throws {
        let now = TestTokens.now
        #expect(try Self.refusal(("exp", "\(now - 59)")) == nil)
        #expect(try Self.refusal(("exp", "\(now - 60)")) == "The token expired at 2027-01-15T07:59:00.000Z")
        #expect(try Self.refusal(("exp", "\(now - 60).5")) == nil)
        #expect(try Self.refusal(("nbf", "\(now + 60)")) == nil)
        #expect(try Self.refusal(("nbf", "\(now + 61)")) == "The token is not valid before 2027-01-15T08:01:01.000Z")
        #expect(try Self.refusal(("iat", "\(now + 60)")) == nil)
        #expect(
            try Self.refusal(("iat", "\(now + 61)")) == "The token's iat is in the future: 2027-01-15T08:01:01.000Z")
        #expect(try Self.refusal(("nbf", "0"), ("iat", "0")) == nil)
    }

    @Test(arguments: ["1.8000036e9", "1800003600.0", "18000036E+2", "18000036000000e-4", "253402300799"])
    func acceptsDatesInAnyNumberFormat(json: String) throws {
        #expect(try Self.refusal(("exp", json)) == nil)
    }

    @Test(
        arguments: ["exp", "nbf", "iat"],
        [
            "1e400", "-1e400", "1e308", "-1", "-0.5", "9223372036854775808", "1800003600000", "253402300800",
            String(repeating: "9", count: 2000), "1e999999999999999999", #""1800003600""#,
        ]) func rejectsNumbersThatAreNotDates(name: String, json: String) throws
    {
        #expect(try Self.refusal((name, json)) == "The token: expected \(name) to be a number of seconds since 1970")
    }

    @Test(arguments: ["0", "-0", "0.0", "1e-400", "-0e0"]) func tokensThatExpireIn1970AreExpired(json: String) throws {
        #expect(try Self.refusal(("exp", json))?.contains("exp") == true)
    }

    @Test(arguments: [Int64.min, -1, 0, .max]) func extremeClocksDoNotTrap(now: Int64) throws {
        _ = try Self.refusal(("nbf", "0"), ("iat", "253402300799"), now: now)
    }

    // MARK: Issuer and audience

    @Test func requiresAConfiguredAudience() throws {
        let issuers = [TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), audience: "fleet")]
        func refusal(_ json: String?) throws -> String? {
            try TestTokens.refusal(TestTokens.token(TestTokens.claims([("aud", json)])), issuers)
        }
        for json in [#""fleet""#, #"["fleet"]"#, #"["a","fleet","b"]"#, #""\u0066leet""#] { #expect(try refusal(json) == nil) }
        for json in [nil, #""Fleet""#, #""fleet ""#, #""""#, "[]", #"["a","b"]"#] {
            #expect(try refusal(json) == "The token is for another audience: expected aud fleet", "\(json ?? "none")")
        }
        for json in ["1", "null", #"[["fleet"]]"#, #"["fleet",1]"#, #"{"fleet":1}"#] {
            #expect(try refusal(json) == "The token: expected aud to be a string or an array of strings")
        }
    }

    @Test func matchesTheIssuerExactly() throws {
        let other = "another secret of 32 bytes or so"
        let issuers = [
            TokenIssuer(algorithm: .hs256, keys: .secret(TestTokens.secret), issuer: "K"),
            TokenIssuer(algorithm: .hs256, keys: .secret(other), issuer: "B"),
        ]
        func refusal(_ iss: String?, _ secret: String, _ issuers: [TokenIssuer]) throws -> String? {
            try TestTokens.refusal(TestTokens.token(TestTokens.claims([("iss", iss)]), secret: secret), issuers)
        }
        #expect(try refusal(#""K""#, TestTokens.secret, issuers) == nil)
        #expect(try refusal(#""B""#, other, issuers) == nil)
        #expect(try refusal(#""K""#, other, issuers) == "The token's signature is wrong")
        #expect(try refusal(#""\u212A""#, TestTokens.secret, issuers) == "Unknown issuer \u{212A}")
        #expect(try refusal(nil, TestTokens.secret, issuers) == "The token lacks iss")
        #expect(try refusal("\"" + String(repeating: "i", count: 500) + "\"", other, issuers)?.utf8.count ?? 0 < 130)
        // An issuer without a name accepts tokens with any `iss`, or none, except the `iss` of another configured
        // issuer.
        let withAny = issuers + [TokenIssuer(algorithm: .hs256, keys: .secret(other + "!"))]
        for iss in [nil, #""C""#, #""""#, #""k""#] { #expect(try refusal(iss, other + "!", withAny) == nil) }
        #expect(try refusal(#""K""#, other + "!", withAny) == "The token's signature is wrong")
    }

    @Test func identityKnowsWhenItsTokenWasIssued() throws {
        #expect(try TestTokens.identity(TestTokens.token())?.tokenIssuedAt == nil)
        let token = TestTokens.token(TestTokens.claims([("iat", "\(TestTokens.now).25")]))
        #expect(try TestTokens.identity(token)?.tokenIssuedAt == TestTokens.now * 1_000 + 250)
    }
}
