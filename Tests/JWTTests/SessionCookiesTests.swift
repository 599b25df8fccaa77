import Access
import Crypto
import Testing

@testable import JWT

/// The cookies were made by a program in Python with the package `cryptography`.
@Suite struct SessionCookiesTests {
    private static let secret = "a-secret-of-the-dashboard-with-32-bytes"
    private static let now: Int64 = 1_795_253_400
    /// The user 7, Ada, whose claim `role` is `admin`; valid for 30 days.
    private static let v4 =
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAECAwQFBgcICQoL.obSbdUzDLYf2Z6Qo7HnBHuiIWyHT5D-KyHCF9PLCIO"
        + "Tu-RueiV5boh1tHCXfTsj9K-0SeTIOvCARtpSAGajH6ZSlJuEj-c1NrJvwJz48Go6RvtK-6THB63mHNBjCWQAsnww-.Fx2L15hty"
        + "ejMBsVRfefDUA"
    private static let v5 =
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIiwia2lkIjoieCJ9..AAECAwQFBgcICQoLDA0ODw.I9QxrarwnR40FRm"
        + "DoA6WStOB8eT9vGhJTBxBZIbUVHlCVOZjYnUDNjdp_hz2Bhltenl2ZQkx4AIvlmqncEch5-LyjsJGEhmneNgb5cmW7zJBOb9hDX0"
        + "rT-pVDRtC4j_lOOkz39UqggBaltkHil_1lQ.GDAGFp6VpumregpP6M8YfkjcHGKT8JZifAs2m105dPY"
    private static let v5GCM =
        "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAECAwQFBgcICQoL.UNCI58wE4U3NLFomG2LeTD36oOUktKSBcuNGXhsSrW"
        + "YkH-Em-LsqZBDkunQ1E8P3Eecu1wMelNSMs4FQB_pZVuaGgWE_TxEbm92UCbDFhKMlkeGU_WqAfP3NJVP30dL3b8aN.6ReqRZ9au"
        + "6QSPepYIRnWWg"
    private static let identity = Identity(role: .admin, id: "7", name: "Ada", tokenIssuedAt: now * 1_000)

    private static func cookies(
        _ scheme: SessionScheme, secrets: [String] = [secret], admin: [String] = ["ADMIN"], ops: [String] = [],
        claim: String = "role"
    ) -> SessionCookies {
        SessionCookies(
            names: ["authjs.session-token", "other"], secrets: secrets, scheme: scheme,
            roles: .init(claim: claim, admin: admin, ops: ops))
    }

    private static func verify(_ value: String, by cookies: SessionCookies, now: Int64 = now) -> VerificationResult {
        cookies.verify(value, name: "authjs.session-token", now: now)
    }

    private static let refused = VerificationResult.refused("The session cookie is invalid")

    @Test func acceptsTheCookiesOfItsScheme() {
        #expect(Self.verify(Self.v4, by: Self.cookies(.v4)) == .identity(Self.identity))
        #expect(Self.verify(Self.v5, by: Self.cookies(.v5)) == .identity(Self.identity))
        #expect(Self.verify(Self.v5GCM, by: Self.cookies(.v5)) == .identity(Self.identity))
        #expect(Self.verify(Self.v4, by: Self.cookies(.v5)) == Self.refused)
        #expect(Self.verify(Self.v5, by: Self.cookies(.v4)) == Self.refused)
        #expect(Self.verify(Self.v5GCM, by: Self.cookies(.v4)) == Self.refused)
    }

    @Test func aSecondSecretReplacesTheFirst() {
        for (secrets, isAccepted) in [
            (["new", Self.secret], true), ([Self.secret, "new"], true), (["new"], false), ([], false),
        ] {
            let result = Self.verify(Self.v5, by: Self.cookies(.v5, secrets: secrets))
            #expect(result == (isAccepted ? .identity(Self.identity) : Self.refused), "\(secrets)")
        }
        #expect(Self.cookies(.v4, secrets: []).names.isEmpty)
    }

    /// The key of Auth.js 5 depends on the cookie's name, that of NextAuth.js 4 does not.
    @Test func theNameIsPartOfTheKey() {
        #expect(Self.cookies(.v5).verify(Self.v5, name: "other", now: Self.now) == Self.refused)
        #expect(Self.cookies(.v4).verify(Self.v4, name: "other", now: Self.now) == .identity(Self.identity))
        #expect(Self.cookies(.v4).verify(Self.v4, name: "third", now: Self.now) == Self.refused)
    }

    @Test(arguments: [(SessionScheme.v4, v4), (.v5, v5), (.v5, v5GCM)])
    func refusesEveryChangedCharacter(scheme: SessionScheme, cookie: String) {
        let cookies = Self.cookies(scheme)
        let bytes = Array(cookie.utf8)
        for index in bytes.indices {
            for replacement in [UInt8(ascii: "A"), UInt8(ascii: "."), UInt8(ascii: "="), bytes[index] ^ 1]
            where replacement != bytes[index] {
                var changed = bytes
                changed[index] = replacement
                #expect(Self.verify(String(decoding: changed, as: UTF8.self), by: cookies) == Self.refused, "\(index)")
            }
        }
        for wrong in [
            "", ".", "....", cookie + ".", cookie + "A", String(cookie.dropLast(4)), "\(Self.v4).\(Self.v4)", " " + cookie,
        ] {
            #expect(Self.verify(wrong, by: cookies) == Self.refused)
        }
        #expect(Self.verify(cookie + String(repeating: "A", count: 8_193), by: cookies) == Self.refused)
    }

    @Test func aSessionEndsAMinuteAfterItsTime() {
        let end: Int64 = 1_797_845_400
        #expect(Self.verify(Self.v4, by: Self.cookies(.v4), now: end + 59) == .identity(Self.identity))
        #expect(
            Self.verify(Self.v4, by: Self.cookies(.v4), now: end + 60) == .expired("The session is over: sign in again"))
    }

    @Test func rolesAreComparedInAnyASCIICase() {
        for (admin, ops, role) in [
            (["aDmIn"], [], Role.admin), ([], ["ADMIN"], .ops), (["x", "ADMIN"], ["ADMIN"], .admin), (["adm\u{131}n"], [], nil),
            ([], [], nil), (["ADMIN "], [], nil),
        ] as [([String], [String], Role?)] {
            let result = Self.verify(Self.v4, by: Self.cookies(.v4, admin: admin, ops: ops))
            if let role {
                #expect(result == .identity(Identity(role: role, id: "7", name: "Ada", tokenIssuedAt: Self.now * 1_000)))
            } else {
                #expect(result == .withoutRole("The session's user has no role: see auth.session.roles"))
            }
        }
        #expect(Self.verify(Self.v4, by: Self.cookies(.v4, admin: ["ada"], claim: "name")) == .identity(Self.identity))
    }

    // MARK: Claims

    /// A cookie of NextAuth.js 4 with this content.
    private static func cookie(_ content: String) throws -> String {
        let key = HKDF.key(
            secret: Array(secret.utf8), salt: [], info: Array("NextAuth.js Generated Encryption Key".utf8), count: 32)
        let header = Base64URL.text(Array(#"{"alg":"dir","enc":"A256GCM"}"#.utf8))
        let sealed = try #require(AESGCMKey(key)).seal(Array(content.utf8), authenticating: Array(header.utf8))
        let parts = [sealed[..<12], sealed[12..<(sealed.count - 16)], sealed[(sealed.count - 16)...]]
        return "\(header)..\(parts.map { Base64URL.text(Array($0)) }.joined(separator: "."))"
    }

    private static func result(_ members: String, by cookies: SessionCookies = cookies(.v4)) throws -> VerificationResult {
        verify(try cookie(#"{"exp":\#(now + 60),"sub":"7",\#(members)}"#), by: cookies)
    }

    private static let withoutRole = VerificationResult.withoutRole("The session's user has no role: see auth.session.roles")

    private static func accepted(_ role: Role, id: String = "7") -> VerificationResult {
        .identity(Identity(role: role, id: id, name: nil, tokenIssuedAt: nil))
    }

    @Test(
        "The claim is a text or a list, of the user or of an object in it",
        arguments: [
            ("role", #""role":["viewer","Admin"]"#, Role.admin), ("role", #""role":["operator","admin"]"#, .admin),
            ("role", #""role":["operator"]"#, .ops), ("role", #""role":[]"#, nil),
            ("role", #""role":[1,["admin"],null,"ADMIN"]"#, .admin),
            ("role", #""role":{"role":"admin"}"#, nil), ("role", #""role":"admin","role":"admin""#, nil),
            ("user.role", #""user":{"role":"admin"}"#, .admin), ("user.role", #""user":{"role":["x","operator"]}"#, .ops),
            ("user.role", #""user.role":"admin""#, .admin), ("user.role", #""user.role":"x","user":{"role":"admin"}"#, nil),
            ("user.role", #""user":{"role":"admin","role":"x"}"#, nil), ("user.role", #""user":{"role":"admin"},"user":{}"#, nil),
            ("user.role", #""user":"admin""#, nil), ("user.role", #""user":[{"role":"admin"}]"#, nil),
            ("user.role", #""role":"admin""#, nil),
            ("a.b.c", #""a":{"b":{"c":"admin"}}"#, .admin), ("a.b.c", #""a":{"b.c":"admin"}"#, .admin),
            ("https://example.com/roles", #""https://example.com/roles":["admin"]"#, .admin), (".", #""":{"":"admin"}"#, .admin),
        ])
    func roles(claim: String, members: String, role: Role?) throws {
        let cookies = Self.cookies(.v4, ops: ["operator"], claim: claim)
        #expect(try Self.result(members, by: cookies) == (role.map { Self.accepted($0) } ?? Self.withoutRole))
    }

    /// RFC 7519 section 4.1.5, with the minute that clocks may differ by.
    @Test func aSessionBeginsAtItsTime() throws {
        let role = #""role":"admin","nbf":"#
        for nbf in ["\(Self.now + 60)", "\(Self.now).5", "0"] { #expect(try Self.result(role + nbf) == Self.accepted(.admin)) }
        #expect(try Self.result(role + "\(Self.now + 61)") == .refused("The session is not valid yet"))
        for nbf in ["\"\(Self.now)\"", "null", "-1", "1e300", "true"] {
            #expect(
                try Self.result(role + nbf)
                    == .refused("The session cookie: expected nbf to be a number of seconds since 1970"))
        }
    }

    @Test func aWholeNumberIsAnID() throws {
        let cookies = Self.cookies(.v4)
        func verified(_ sub: String) throws -> VerificationResult {
            Self.verify(try Self.cookie(#"{"exp":\#(Self.now + 60),"sub":\#(sub),"email":"a@b","role":"admin"}"#), by: cookies)
        }
        #expect(try verified("42") == Self.accepted(.admin, id: "42"))
        for sub in ["4.2", "-1", "null", "true"] { #expect(try verified(sub) == Self.accepted(.admin, id: "a@b")) }
    }
}
