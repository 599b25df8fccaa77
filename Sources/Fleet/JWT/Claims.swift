import Access
import JSON
import Primitives

/// The claims of a token (RFC 7519 section 4). Before the signature is verified, only `iss` may be read.
struct Claims {
    private enum Name: String, CaseIterable {
        case iss, aud, exp, nbf, iat, sub, role, name, bookings, jti
        case authTime = "auth_time"
        case driverID = "driver_id"
        case phoneNumber = "phone_number"
    }

    /// The end of the year 9999 in seconds since 1970. A larger value is a mistake, usually a time in milliseconds.
    private static let dateMax: Double = 253_402_300_799

    private let payload: [UInt8]
    private let members: JSONMembers<Name>

    init(_ payload: [UInt8]) throws(TokenError) {
        self.payload = payload
        do throws(JSONMembersError) {
            members = try JSONMembers(of: payload)
        } catch {
            throw TokenError("The token's payload: \(error.problem)")
        }
    }

    /// The claimed issuer; nil if the token has none.
    func issuer() throws(TokenError) -> String? { try string(.iss) }

    /// Maps the claims to an identity.
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - expiredSecondsMax: so long after its end the token is accepted, too, if sign-in by code may have issued it.
    /// - Returns: the identity, and when the token is valid, in seconds since 1970.
    /// - Throws: ``TokenError`` if the token is expired or not yet valid, is for another audience, or has no valid
    ///   subject or role.
    func identity(
        for issuer: TokenIssuer, now: Int64, expiredSecondsMax: Int64 = 0
    ) throws(TokenError) -> (Identity, validity: Range<Double>) {
        let grace = issuer.signsCustomersIn ? Double(expiredSecondsMax) : 0
        let validity = try checkTimes(now: Double(now), profile: issuer.profile, grace)
        try checkAudience(issuer.audience)
        guard let subject = try idOrNumber(.sub) else { throw TokenError("The token lacks sub") }
        let role = try role(issuer.profile)
        var (id, claim) = (subject, Name.sub)
        if issuer.profile != .standard, role == .driver, let driverID = try driverID() {
            (id, claim) = (driverID, .driverID)
        }
        guard role.accepts(id: id) else { throw Self.invalid(claim, id, role) }
        var identity = Identity(
            role: role, id: id, name: try name(), bookings: role == .customer ? try bookings() : [],
            tokenIssuedAt: try date(.iat).map { Int64($0 * 1_000) })
        identity.firebase = try firebaseUser(subject, issuer.profile)
        if role == .customer, case .text(let jti) = members[.jti] {
            identity.session = TokenSession(
                jti: jti, expiresAt: try date(.exp).map { Int64($0) } ?? 0, isCurrent: issuer.signsCustomersIn)
        }
        return (identity, validity)
    }

    /// Maps the members of an introspection response (RFC 7662 section 2.2), which have the names and meanings of claims.
    /// `exp` is optional there, and so are all times: null counts as absent, because backends write it for a token without
    /// an end. The audience is the backend's business, which knows the gateway.
    /// - Returns: the identity, and the token's `exp`. A code's sign-in is not among them: those tokens are JWTs.
    /// - Throws: as ``identity(for:now:expiredSecondsMax:)``.
    func introspected(now: Int64) throws(TokenError) -> (Identity, expiresAt: Int64?) {
        _ = try checkTimes(now: Double(now), profile: .standard, 0, isJWT: false)
        guard let subject = try idOrNumber(.sub) else { throw TokenError("The token lacks sub") }
        let role = try role(.standard)
        guard role.accepts(id: subject) else { throw Self.invalid(.sub, subject, role) }
        let identity = Identity(
            role: role, id: subject, name: try name(), bookings: role == .customer ? try bookings() : [],
            tokenIssuedAt: try date(.iat, orNull: true).map { Int64($0 * 1_000) })
        return (identity, try date(.exp, orNull: true).map { Int64($0) })
    }

    private static func invalid(_ claim: Name, _ id: String, _ role: Role) -> TokenError {
        TokenError("The token's \(claim.rawValue) \(id.clipped) is not a valid \(role.rawValue) id: \(rule(role))")
    }

    // MARK: Times and audience

    /// - Returns: when the token is valid.
    private func checkTimes(
        now: Double, profile: TokenIssuer.Profile, _ grace: Double, isJWT: Bool = true
    ) throws(TokenError) -> Range<Double> {
        let skew = TokenVerifier.clockSkewSeconds
        guard let expiry = try date(.exp, orNull: !isJWT) ?? (isJWT ? nil : Self.dateMax) else {
            throw TokenError("The token lacks exp")
        }
        guard now < expiry + max(skew, grace) else {
            throw TokenError("The token expired at \(Self.iso8601(expiry))", kind: .expired)
        }
        let (start, issued) = (try date(.nbf, orNull: !isJWT) ?? 0, try date(.iat, orNull: !isJWT) ?? 0)
        guard start <= now + skew else { throw TokenError("The token is not valid before \(Self.iso8601(start))") }
        guard issued <= now + skew else { throw TokenError("The token's iat is in the future: \(Self.iso8601(issued))") }
        let signedIn = try profile == .standard ? 0 : date(.authTime) ?? 0
        guard signedIn <= now + skew else {
            throw TokenError("The token's auth_time is in the future: \(Self.iso8601(signedIn))")
        }
        // Only a token of an issuer who makes mistakes begins after its end; with the grace it may come so far.
        let (first, end) = (max(start, issued, signedIn) - skew, expiry + skew)
        return first..<max(first, end)
    }

    private func checkAudience(_ audience: String) throws(TokenError) {
        let audiences: [String] =
            switch members[.aud] {
            case nil: []
            case .text(let text): [text]
            case .texts(let list): list
            default: throw TokenError("The token: expected aud to be a string or an array of strings")
            }
        guard audience.isEmpty || audiences.contains(where: { $0.utf8.elementsEqual(audience.utf8) }) else {
            throw TokenError("The token is for another audience: expected aud \(audience.clipped)")
        }
    }

    /// A NumericDate: seconds since 1970, possibly with a fraction. Values before 1970 or after the year 9999 are
    /// rejected, so that later arithmetic cannot overflow. Nil if absent.
    /// - Parameter orNull: whether null counts as absent.
    private func date(_ name: Name, orNull: Bool = false) throws(TokenError) -> Double? {
        guard let value = members[name], !(orNull && value == .null) else { return nil }
        guard case .number(let digits) = value, let seconds = Double(digits), (0...Self.dateMax).contains(seconds) else {
            throw TokenError("The token: expected \(name.rawValue) to be a number of seconds since 1970")
        }
        return seconds
    }

    private static func iso8601(_ date: Double) -> String { Timestamp.iso8601(milliseconds: Int64(date) * 1000) }

    // MARK: Identity

    private func role(_ profile: TokenIssuer.Profile) throws(TokenError) -> Role {
        guard let text = try string(.role) else {
            guard case .firebase(let role, let requiredClaim, let hasAccounts) = profile else {
                throw TokenError("The token lacks role")
            }
            guard hasAccounts || requiredClaim.isEmpty || grants(requiredClaim) else {
                throw TokenError("The user has no role: the token lacks role and \(requiredClaim)", kind: .withoutRole)
            }
            return role
        }
        guard let role = Role(anyCase: text) else {
            throw TokenError("The token's role \(text.clipped) is unknown: expected driver, admin, customer or ops")
        }
        return role
    }

    /// - Returns: nil unless the token is Firebase's and the gateway keeps accounts.
    private func firebaseUser(_ subject: String, _ profile: TokenIssuer.Profile) throws(TokenError) -> FirebaseUser? {
        guard case .firebase(_, let requiredClaim, hasAccounts: true) = profile else { return nil }
        let driverID = try driverID() ?? subject
        guard Role.admin.accepts(id: subject), Role.driver.accepts(id: driverID) else {
            throw TokenError("The token's driver id \(driverID.clipped) is not valid: \(Self.rule(.driver))")
        }
        return FirebaseUser(
            uid: subject, driverID: driverID, phone: try phoneNumber(), namesRole: try string(.role) != nil,
            hasDefaultRole: requiredClaim.isEmpty || grants(requiredClaim))
    }

    /// The phone number in E.164: `+` and up to 15 digits.
    private func phoneNumber() throws(TokenError) -> String? {
        guard members[.phoneNumber] != .null, let text = try string(.phoneNumber) else { return nil }
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), (4...15).contains(digits.count),
            digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
        else { throw TokenError("The token: expected phone_number in E.164, such as +919179621765") }
        return text
    }

    /// Whether the token has this claim with a value other than null, false and "": with these, an administrator takes the
    /// claim back.
    private func grants(_ claim: String) -> Bool {
        var values: [String] = []
        try? payload.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { name, value in
                guard name.equals(text: claim) else { return }
                values.append(String(decoding: value.raw, as: UTF8.self))
            }
        }
        // Two values contradict each other: other readers of the token may use either.
        return values.count == 1 && !["null", "false", #""""#].contains(values[0])
    }

    /// The custom claim `driver_id` of a Firebase user, which operators set by hand.
    private func driverID() throws(TokenError) -> String? { try idOrNumber(.driverID) }

    /// An id. Issuers write that of a row as a number, although RFC 7519 section 4.1.2 wants a string: a whole one counts as
    /// its digits. Others have several spellings, which would be several people.
    private func idOrNumber(_ name: Name) throws(TokenError) -> String? {
        switch members[name] {
        case nil: return nil
        case .text(let text): return text
        case .number(let digits) where digits.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains): return digits
        default: throw TokenError("The token: expected \(name.rawValue) to be a string or a whole number")
        }
    }

    /// The name, which only people read: a number counts as its text.
    private func name() throws(TokenError) -> String? {
        switch members[.name] {
        case .null: nil
        case .number(let text): text
        default: try string(.name)
        }
    }

    private func bookings() throws(TokenError) -> [String] {
        switch members[.bookings] {
        case nil, .null: return []
        case .texts(let references):
            guard let wrong = references.first(where: { !Identity.isReference($0) }) else { return references }
            throw TokenError(
                "The token's bookings contain \(wrong.clipped), which is not a valid reference: \(Self.rule(.customer))")
        default: throw TokenError("The token: expected bookings to be an array of strings")
        }
    }

    private func string(_ name: Name) throws(TokenError) -> String? {
        switch members[name] {
        case nil: return nil
        case .text(let text): return text
        default: throw TokenError("The token: expected \(name.rawValue) to be a string")
        }
    }

    private static func rule(_ role: Role) -> String {
        switch role {
        case .driver, .customer: "expected 1 to \(Identity.idLengthMax) characters of A-Z a-z 0-9 _ - = @ , . ;"
        case .admin, .ops: "expected 1 to \(Identity.idLengthMax) bytes without control characters"
        }
    }
}
