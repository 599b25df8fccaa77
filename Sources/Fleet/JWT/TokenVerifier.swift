import Access
import Crypto

/// The result of verifying a token.
package enum VerificationResult: Equatable, Sendable {
    /// The token is valid and has this identity.
    case identity(Identity)
    /// The token is genuine, but has expired. The string says when, for developers.
    case expired(String)
    /// The token is invalid for another reason, which the string explains to developers.
    case refused(String)
    /// The token is valid, but its user has no role. The string explains the reason to developers.
    case withoutRole(String)
    /// The token's key is not in the cache. Verify the token again after the issuer's keys were fetched; see
    /// ``KeyFetchSchedule``.
    case needsKey(MissingKey)
    /// The token is opaque, and its backend has not said yet what it is worth, or said so too long ago.
    case needsAnswer(OpaqueToken)
    /// The token cannot be judged, because this key of the configuration is not set.
    case needsSetting(String)
}

extension VerificationResult {
    init(_ error: TokenError) {
        self =
            switch error.kind {
            case .invalid: .refused(error.reason)
            case .expired: .expired(error.reason)
            case .withoutRole: .withoutRole(error.reason)
            }
    }
}

/// Verifies tokens (RFC 7519).
///
/// A token's `iss` selects one of the configured issuers. Only this issuer determines the algorithm and the keys: a
/// token cannot supply a key or a key's URL, change the algorithm, or use another issuer's key. All claims but `iss`
/// are read only after the signature has been verified.
///
/// HMAC keys are not thread-safe, so a verifier belongs to one thread.
package final class TokenVerifier {
    private enum Key {
        case secret(HMACKey)
        /// A public key from the configuration.
        case fixed(PublicKey)
        /// One of the keys in ``keyCache``.
        case fetched
    }

    /// The tolerated difference between the clocks of an issuer and the gateway, in seconds.
    static let clockSkewSeconds: Double = 60

    private let issuers: [TokenIssuer]
    private let keys: [Key]
    private let keyCache: IssuerKeyCache
    private let isEnded: @Sendable (Identity) -> Bool
    private var verified = VerifiedTokens()

    /// - Parameters:
    ///   - keyCache: must have been created with the same issuers in the same order.
    ///   - isEnded: whether a customer's sign-in by code has ended. Asked each time that one of its tokens is verified.
    /// - Throws: ``TokenIssuerError`` if an issuer's key is invalid or does not fit its algorithm, or an issuer is
    ///   configured twice.
    package init(
        issuers: [TokenIssuer], keyCache: IssuerKeyCache, isEnded: @escaping @Sendable (Identity) -> Bool = { _ in false }
    ) throws(TokenIssuerError) {
        for (index, issuer) in issuers.enumerated()
        where issuers[..<index].contains(where: { Self.isSame($0.issuer, issuer.issuer) }) {
            throw Self.error(issuer, "configured twice. Remove one of its entries")
        }
        var keys: [Key] = []
        for issuer in issuers { keys.append(try Self.key(of: issuer)) }
        self.issuers = issuers
        self.keys = keys
        self.keyCache = keyCache
        self.isEnded = isEnded
    }

    /// Verifies a token's signature, times and audience, and maps its claims to an identity.
    /// - Parameters:
    ///   - token: in compact form, without `Bearer `.
    ///   - now: seconds since 1970.
    ///   - expiredSecondsMax: so long after its end a token of a sign-in by code is accepted, too.
    package func verify(_ token: String, now: Int64, expiredSecondsMax: Int64 = 0) -> VerificationResult {
        let result = verifyClaims(token, now: now, expiredSecondsMax)
        if case .identity(let identity) = result, identity.session != nil, isEnded(identity) {
            return .refused("The session has ended")
        }
        return result
    }

    private func verifyClaims(_ token: String, now: Int64, _ expiredSecondsMax: Int64) -> VerificationResult {
        // What is accepted although it has expired is not stored.
        let isStorable = token.utf8.count <= VerifiedTokens.tokenBytesMax && expiredSecondsMax == 0
        let digest = isStorable ? SHA256.digest(of: Array(token.utf8)) : nil
        if let digest, let entry = verified.entry(digest, now: now, generation: { keyCache.generation(issuer: $0) }) {
            return .identity(entry.identity)
        }
        do throws(TokenError) {
            let token = try JWT(token)
            let claims = try Claims(token.payload)
            let name = try claims.issuer()
            guard !needsFirebase(name, token.algorithm) else { return .needsSetting("auth.firebase.project_id") }
            let index = try issuer(named: name)
            let issuer = issuers[index]
            guard Self.isSame(token.algorithm, issuer.algorithm.rawValue) else {
                throw TokenError("The token's alg \(token.algorithm.clipped) is refused: expected \(issuer.algorithm.rawValue)")
            }
            let isGenuine: Bool
            var keyGeneration = 0
            switch keys[index] {
            case .secret(let key): isGenuine = key.verifies(digest: token.signature, of: token.signedBytes)
            case .fixed(let key): isGenuine = key.verifies(token.signature, of: token.signedBytes)
            case .fetched:
                switch keyCache.key(issuer: index, keyID: token.keyID) {
                case .key(let key, let generation):
                    isGenuine = key.verifies(token.signature, of: token.signedBytes)
                    keyGeneration = generation
                case .unknown: return .needsKey(MissingKey(issuer: index, keyID: token.keyID))
                case .ambiguous: throw TokenError("The token names no key (kid), and its issuer has several")
                }
            }
            guard isGenuine else { throw TokenError("The token's signature is wrong") }
            let (identity, validity) = try claims.identity(
                for: issuer, now: now, expiredSecondsMax: expiredSecondsMax)
            if let digest {
                let entry = VerifiedTokens.Entry(
                    identity: identity, issuer: index, keyGeneration: keyGeneration, validity: validity)
                verified.store(entry, digest)
            }
            return .identity(identity)
        } catch {
            return VerificationResult(error)
        }
    }

    /// The index of the issuer with this `iss` or, if there is none, of the issuer that accepts any `iss`.
    private func issuer(named name: String?) throws(TokenError) -> Int {
        if let name, let index = issuers.firstIndex(where: { Self.isSame($0.issuer, name) }) { return index }
        if let index = issuers.firstIndex(where: \.issuer.isEmpty) { return index }
        guard !issuers.isEmpty else {
            throw TokenError("No tokens are accepted: no issuer is configured (auth.jwt)")
        }
        guard let name else { throw TokenError("The token lacks iss") }
        throw TokenError("Unknown issuer \(name.clipped)")
    }

    /// Whether a token is Firebase's, and the operator may have forgotten to name a Firebase project: no issuer is one, or accepts
    /// the token. Apps take a 401 for a logout, so they must not get one for that.
    private func needsFirebase(_ name: String?, _ algorithm: String) -> Bool {
        guard let name, TokenIssuer.isFirebase(name) else { return false }
        return !issuers.contains {
            TokenIssuer.isFirebase($0.issuer) || $0.issuer.isEmpty && Self.isSame($0.algorithm.rawValue, algorithm)
        }
    }

    /// Compares the strings' bytes, because == on strings compares canonical equivalence.
    private static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    // MARK: Configured keys

    private static func key(of issuer: TokenIssuer) throws(TokenIssuerError) -> Key {
        switch (issuer.keys, issuer.algorithm) {
        case (.secret(let secret), .hs256):
            // If a public key were the HMAC secret, anyone could sign tokens. A short secret is accepted here; it only
            // causes a warning in the log.
            guard !secret.contains("-----BEGIN") else {
                throw error(issuer, "the HS256 secret is a PEM file. Set a random secret, or the algorithm RS256 or ES256")
            }
            guard !secret.isEmpty else { throw error(issuer, "the HS256 secret is empty. Set a secret of at least 32 bytes") }
            return .secret(HMACKey(secret: secret))
        case (.pem(let pem), .rs256), (.pem(let pem), .es256):
            let key: PublicKey
            do throws(KeyError) {
                key = try PublicKey(pem: pem)
            } catch {
                throw Self.error(issuer, "\(error)")
            }
            guard key.algorithm == issuer.algorithm else {
                throw error(
                    issuer,
                    "the public key is for \(key.algorithm.rawValue), but the algorithm is \(issuer.algorithm.rawValue). "
                        + "Change one of them")
            }
            return .fixed(key)
        case (.remote, .rs256), (.remote, .es256): return .fetched
        case (.secret, _): throw error(issuer, "\(issuer.algorithm.rawValue) needs a public key, not a secret")
        case (_, .hs256): throw error(issuer, "HS256 needs a secret, not a public key")
        }
    }

    private static func error(_ issuer: TokenIssuer, _ problem: String) -> TokenIssuerError {
        TokenIssuerError(description: "issuer \(issuer.issuer.isEmpty ? "(any)" : issuer.issuer): \(problem)")
    }
}
