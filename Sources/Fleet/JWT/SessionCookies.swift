import Access
import Crypto
import JSON

/// Verifies the encrypted session cookies of dashboards that sign in with NextAuth.js 4 or Auth.js 5: JWEs whose key is
/// derived from a secret that the dashboard and the gateway share.
package struct SessionCookies: Sendable {
    /// Who gets a role: users whose claim has one of these values, in any case.
    package struct Roles: Sendable {
        let claim: String
        let admin: [String]
        let ops: [String]

        /// - Parameter claim: the claim that names the user's role in the dashboard, or a list of roles: its name, or those of
        ///   objects and of a member in the innermost one, with dots between them, such as `user.role`.
        package init(claim: String, admin: [String], ops: [String]) {
            self.claim = claim
            self.admin = admin
            self.ops = ops
        }
    }

    /// The cookies' names, in the order in which they are tried.
    package let names: [String]
    /// The names of cookies that are not read, because no secret is configured.
    package let unreadNames: [String]
    private let roles: Roles
    /// By name of the cookie.
    private let keys: [String: [any JWEKey]]

    /// Accepts no cookie.
    package static let none = SessionCookies(
        names: [], secrets: [], scheme: .v4, roles: Roles(claim: "", admin: [], ops: []))

    /// - Parameter secrets: any of them may have encrypted a cookie. Empty: no cookie is accepted.
    package init(names: [String], secrets: [String], scheme: SessionScheme, roles: Roles) {
        self.names = secrets.isEmpty ? [] : names
        unreadNames = secrets.isEmpty ? names : []
        self.roles = roles
        var keys: [String: [any JWEKey]] = [:]
        for name in self.names {
            keys[name] = secrets.flatMap { secret in
                scheme.ciphers.compactMap { cipher in
                    cipher.key { scheme.key(secret: Array(secret.utf8), cookie: name, count: $0) }
                }
            }
        }
        self.keys = keys
    }

    /// Decrypts a cookie and maps its claims to an identity.
    /// - Parameters:
    ///   - value: the whole value, its chunks joined.
    ///   - name: the cookie's name, one of ``names``.
    ///   - now: seconds since 1970.
    package func verify(_ value: String, name: String, now: Int64) -> VerificationResult {
        let jwe = JWE(value)
        // Tries all keys, so that the time does not tell which one fits.
        let contents = (keys[name] ?? []).compactMap { $0.open(jwe) }
        guard let content = contents.first else { return .refused("The session cookie is invalid") }
        do throws(TokenError) {
            return .identity(try SessionClaims(content).identity(roles, now: now))
        } catch {
            return VerificationResult(error)
        }
    }
}

extension SessionScheme {
    fileprivate var ciphers: [JWE.Cipher] {
        switch self {
        case .v4: [.aes256GCM]
        case .v5: [.aes256CBCHMAC, .aes256GCM]
        }
    }

    /// - Parameter count: the key's length in bytes.
    fileprivate func key(secret: [UInt8], cookie: String, count: Int) -> [UInt8] {
        switch self {
        case .v4:
            HKDF.key(secret: secret, salt: [], info: Array("NextAuth.js Generated Encryption Key".utf8), count: count)
        case .v5:
            HKDF.key(
                secret: secret, salt: Array(cookie.utf8), info: Array("Auth.js Generated Encryption Key (\(cookie))".utf8),
                count: count)
        }
    }
}

/// The claims in a session cookie, which has been decrypted.
private struct SessionClaims {
    private enum Name: String, CaseIterable {
        case sub, email, name, iat, exp, nbf
    }

    private let content: [UInt8]
    private let members: JSONMembers<Name>

    init(_ content: [UInt8]) throws(TokenError) {
        self.content = content
        do throws(JSONMembersError) {
            members = try JSONMembers(of: content)
        } catch {
            throw TokenError("The session cookie's content: \(error.problem)")
        }
    }

    /// - Throws: ``TokenError`` if the session is over, or its user has no id or no role.
    func identity(_ roles: SessionCookies.Roles, now: Int64) throws(TokenError) -> Identity {
        guard let expiry = seconds(.exp) else { throw TokenError("The session cookie lacks exp") }
        guard Double(now) < expiry + TokenVerifier.clockSkewSeconds else {
            throw TokenError("The session is over: sign in again", kind: .expired)
        }
        try checkBegin(now: now)
        guard let id = subject ?? text(.email) else { throw TokenError("The session cookie lacks sub and email") }
        guard let role = role(roles) else {
            throw TokenError("The session's user has no role: see auth.session.roles", kind: .withoutRole)
        }
        guard role.accepts(id: id) else {
            throw TokenError(
                "The session's user id \(id.clipped) is longer than \(Identity.idLengthMax) bytes or has control characters")
        }
        return Identity(role: role, id: id, name: text(.name), tokenIssuedAt: seconds(.iat).map { Int64($0 * 1_000) })
    }

    /// `nbf` (RFC 7519 section 4.1.5).
    private func checkBegin(now: Int64) throws(TokenError) {
        guard members[.nbf] != nil else { return }
        guard let begin = seconds(.nbf) else {
            throw TokenError("The session cookie: expected nbf to be a number of seconds since 1970")
        }
        guard begin <= Double(now) + TokenVerifier.clockSkewSeconds else { throw TokenError("The session is not valid yet") }
    }

    /// The role of the user: of several, the one with most rights. Nil if the claim is absent or given twice, or grants none.
    private func role(_ roles: SessionCookies.Roles) -> Role? {
        let values = content.withUnsafeBytes { Self.texts(of: roles.claim[...], in: $0) }.map(Self.folded)
        func grants(_ names: [String]) -> Bool { names.contains { values.contains(Self.folded($0)) } }
        if grants(roles.admin) { return .admin }
        return grants(roles.ops) ? .ops : nil
    }

    /// The text of a claim, or the texts of a list. A name with dots is that of a claim, as in `https://example.com/roles`,
    /// or of an object and of a claim in it.
    private static func texts(of claim: Substring, in object: UnsafeRawBufferPointer) -> [String] {
        let dot = claim.utf8.firstIndex(of: UInt8(ascii: "."))
        let outer = dot.map { String(claim[..<$0]) }
        var (whole, objects): ([[String]], [[String]]) = ([], [])
        try? JSONReader.object(object) { name, value in
            if name.equals(text: String(claim)) { whole.append(texts(value)) }
            if let dot, let outer, name.equals(text: outer), value.kind == .object {
                objects.append(texts(of: claim[dot...].dropFirst(), in: value.raw))
            }
        }
        // Two values contradict each other: other readers of the cookie may use either.
        let found = whole.isEmpty ? objects : whole
        return found.count == 1 ? found[0] : []
    }

    private static func texts(_ value: JSONSlice) -> [String] {
        guard value.kind == .array else { return value.string.map { [$0] } ?? [] }
        var texts: [String] = []
        try? JSONReader.array(value.raw) { element in if let text = element.string { texts.append(text) } }
        return texts
    }

    /// The bytes with ASCII letters in lower case. Other letters are compared as they are: some equal an ASCII letter in
    /// lower case, such as the Kelvin sign.
    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }

    private func text(_ name: Name) -> String? {
        guard case .text(let text) = members[name], !text.isEmpty else { return nil }
        return text
    }

    /// The id of the user, which some dashboards write as a number, as tokens' issuers do.
    private var subject: String? {
        guard case .number(let digits) = members[.sub],
            digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { return text(.sub) }
        return digits
    }

    private func seconds(_ name: Name) -> Double? {
        guard case .number(let digits) = members[name], let seconds = Double(digits), (0...253_402_300_799).contains(seconds)
        else { return nil }
        return seconds
    }
}
