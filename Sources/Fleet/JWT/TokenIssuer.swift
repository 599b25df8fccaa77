import Access

/// A trusted issuer of tokens, and the conditions its tokens must meet.
package struct TokenIssuer: Equatable, Sendable {
    /// The source of the keys that verify signatures.
    package enum Keys: Equatable, Sendable {
        /// A secret shared with the issuer. It should have at least 32 bytes (RFC 7518 section 3.2).
        case secret(String)
        /// The PEM text of a public key or a certificate.
        case pem(String)
        /// Keys fetched from a URL. The token's `kid` selects one of this issuer's keys.
        case remote(url: String, RemoteKeys)
    }

    /// The format of a document that contains keys.
    package enum RemoteKeys: Equatable, Sendable {
        /// A JWK set (RFC 7517 section 5).
        case jwks
        /// Google's format for Firebase: a JSON object whose members are PEM certificates, by `kid`.
        case certificates
    }

    /// Which claims make up an identity.
    package enum Profile: Equatable, Sendable {
        /// `sub` and `role`.
        case standard
        /// Firebase ID tokens. `role` is the role of a token that has no `role` claim, provided that it has the claim
        /// `requiredClaim`, unless that is "". A driver's id is the claim `driver_id` or, if the token does not have it,
        /// `sub`. With accounts, a token without the claim is accepted too: the user's account decides.
        case firebase(role: Role, requiredClaim: String = "", hasAccounts: Bool = false)
    }

    /// The only algorithm that this issuer's tokens may use, whatever a token's header contains.
    package var algorithm: TokenAlgorithm
    /// The keys that verify signatures.
    package var keys: Keys
    /// The required `iss`, compared as bytes. "" accepts tokens without `iss`, and tokens whose `iss` is not that of
    /// another configured issuer.
    package var issuer: String
    /// The value that `aud` must be or contain. "" accepts any `aud`, and tokens without `aud`.
    package var audience: String
    /// How claims become an identity.
    package var profile: Profile
    /// Whether the gateway itself gives this issuer's tokens to customers who sign in by code.
    package var signsCustomersIn = false

    package init(
        algorithm: TokenAlgorithm, keys: Keys, issuer: String = "", audience: String = "", profile: Profile = .standard
    ) {
        self.algorithm = algorithm
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
        self.profile = profile
    }

    /// What the issuers of all Firebase projects begin with (Firebase, "Verify ID Tokens").
    private static let firebasePrefix = "https://securetoken.google.com/"

    /// Whether this is the `iss` of a Firebase project's tokens.
    static func isFirebase(_ issuer: String) -> Bool { issuer.utf8.starts(with: firebasePrefix.utf8) }

    /// The issuer of a Firebase project's ID tokens.
    package static func firebase(
        projectID: String, certificatesURL: String, role: Role, requiredClaim: String = "", hasAccounts: Bool = false
    ) -> TokenIssuer {
        TokenIssuer(
            algorithm: .rs256, keys: .remote(url: certificatesURL, .certificates),
            issuer: firebasePrefix + projectID, audience: projectID,
            profile: .firebase(role: role, requiredClaim: requiredClaim, hasAccounts: hasAccounts))
    }
}

/// Why an issuer, or a document fetched for it, is unusable.
package struct TokenIssuerError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
