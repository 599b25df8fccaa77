import Access

extension Settings {
    /// Trusted token issuers.
    package struct Auth: Equatable, Sendable {
        /// Issuers of JSON Web Tokens, at least one. If there are several, each has an `issuer`, and no two the same.
        package var jwt = [JWT()]
        /// Firebase Authentication.
        package var firebase = Firebase()

        package init() {}
    }

    /// An issuer of JSON Web Tokens and its key: one of `secret`, `publicKey` and `jwksURL`. Without a key, as by
    /// default, no token is accepted.
    package struct JWT: Equatable, Sendable {
        /// The only algorithm accepted, whatever a token's header contains.
        package var algorithm = TokenAlgorithm.hs256
        /// The shared secret of HS256, or empty.
        package var secret = ""
        /// The PEM text of the public key of RS256 or ES256, or empty.
        package var publicKey = ""
        /// The URL of the JWKS with the public keys of RS256 or ES256 (https, or http on loopback), or empty.
        package var jwksURL = ""
        /// The required `iss` of a token; empty: not checked.
        package var issuer = ""
        /// The audience that a token's `aud` must contain; empty: not checked.
        package var audience = ""
        /// The cookie to take the token from if a request has no `Authorization` header; empty: none.
        package var cookie = ""

        package init() {}

        /// Whether there is a key, so that tokens can be accepted.
        package var isEnabled: Bool { !(secret.isEmpty && publicKey.isEmpty && jwksURL.isEmpty) }
    }

    /// The Firebase project whose ID tokens are accepted.
    package struct Firebase: Equatable, Sendable {
        /// The project's id: up to 64 of a–z, 0–9 and `-`. Empty: no Firebase token is accepted.
        package var projectID = ""
        /// The URL of Google's certificates (https, or http on loopback).
        package var certificatesURL =
            "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        /// The role of users whose token has none.
        package var role = Role.driver

        package init() {}

        /// Whether there is a project, so that tokens can be accepted.
        package var isEnabled: Bool { !projectID.isEmpty }
    }
}
