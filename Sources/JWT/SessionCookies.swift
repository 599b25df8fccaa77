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

        /// - Parameter claim: the claim that names the user's role in the dashboard.
        package init(claim: String, admin: [String], ops: [String]) {
            self.claim = claim
            self.admin = admin
            self.ops = ops
        }
    }

    /// The cookies' names, in the order in which they are tried.
    package let names: [String]
    private let roles: Roles
    /// By name of the cookie.
    private let keys: [String: [any JWEKey]]

    /// Accepts no cookie.
    package static let none = SessionCookies(
        names: [], secrets: [], scheme: .v4, roles: Roles(claim: "", admin: [], ops: []))

    /// - Parameter secrets: any of them may have encrypted a cookie. Empty: no cookie is accepted.
    package init(names: [String], secrets: [String], scheme: SessionScheme, roles: Roles) {
        self.names = secrets.isEmpty ? [] : names
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
        if let start = seconds(.nbf), start > Double(now) + TokenVerifier.clockSkewSeconds {
            throw TokenError("The session cookie is not valid yet")
        }
        guard let id = text(.sub) ?? text(.email) else { throw TokenError("The session cookie lacks sub and email") }
        guard let role = role(roles) else {
            throw TokenError("The session's user has no role: see auth.session.roles", kind: .withoutRole)
        }
        guard role.accepts(id: id) else {
            throw TokenError(
                "The session's user id \(id.clipped) is longer than \(Identity.idLengthMax) bytes or has control characters")
        }
        return Identity(role: role, id: id, name: text(.name), tokenIssuedAt: seconds(.iat).map { Int64($0 * 1_000) })
    }

    /// The role of the user. Nil if the claim is absent or given twice, or grants none.
    private func role(_ roles: SessionCookies.Roles) -> Role? {
        var values: [String?] = []
        try? content.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { name, value in
                if name.equals(text: roles.claim) { values.append(value.string) }
            }
        }
        guard values.count == 1, let value = values[0].map(Self.folded) else { return nil }
        if roles.admin.contains(where: { Self.folded($0) == value }) { return .admin }
        return roles.ops.contains { Self.folded($0) == value } ? .ops : nil
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

    private func seconds(_ name: Name) -> Double? {
        guard case .number(let digits) = members[name], let seconds = Double(digits), (0...253_402_300_799).contains(seconds)
        else { return nil }
        return seconds
    }
}
