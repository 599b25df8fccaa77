import Access

/// Somebody whose tokens are believed, and what has to be true of them.
package struct TokenIssuer: Equatable, Sendable {
    /// Where the keys are that verify the signatures.
    package enum Keys: Equatable, Sendable {
        /// Shared with the issuer; at least 32 bytes (RFC 7518 section 3.2).
        case secret(String)
        /// A public key or certificate.
        case pem(String)
        /// Fetched, and found by the token's `kid` among those of this issuer alone.
        case remote(url: String, RemoteKeys)
    }

    /// What is found at a URL.
    package enum RemoteKeys: Equatable, Sendable {
        /// A JWK set (RFC 7517 section 5).
        case jwks
        /// An object of PEM certificates by `kid`, as Google publishes Firebase's.
        case certificates
    }

    /// How claims become somebody.
    package enum Profile: Equatable, Sendable {
        /// `sub` and `role`.
        case standard
        /// Firebase ID tokens: `role` is what a token without one gives; a driver's id is `driver_id`, else `sub`.
        case firebase(role: Role)
    }

    /// The only one that a token of this issuer may use; what the token says decides nothing.
    package var algorithm: TokenAlgorithm
    package var keys: Keys
    /// What `iss` has to be, byte for byte; "": anything that no other issuer claims, or nothing.
    package var issuer: String
    /// What `aud` has to be or to contain; "": not asked.
    package var audience: String
    package var profile: Profile

    package init(
        algorithm: TokenAlgorithm, keys: Keys, issuer: String = "", audience: String = "", profile: Profile = .standard
    ) {
        self.algorithm = algorithm
        self.keys = keys
        self.issuer = issuer
        self.audience = audience
        self.profile = profile
    }

    /// Firebase Authentication's ID tokens of one project.
    package static func firebase(projectID: String, certificatesURL: String, role: Role) -> TokenIssuer {
        TokenIssuer(
            algorithm: .rs256, keys: .remote(url: certificatesURL, .certificates),
            issuer: "https://securetoken.google.com/" + projectID, audience: projectID, profile: .firebase(role: role))
    }
}

/// Why an issuer, or what was fetched for it, cannot be used.
package struct TokenIssuerError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
