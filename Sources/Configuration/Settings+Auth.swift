import Access

extension Settings {
    /// Whose tokens say who somebody is.
    package struct Auth: Equatable, Sendable {
        /// Issuers of JSON Web Tokens: at least one entry, told apart by `issuer` when there are several.
        package var jwt = [JWT()]
        /// Tokens of Firebase Authentication.
        package var firebase = Firebase()

        package init() {}
    }

    /// An issuer of JSON Web Tokens, and how its signatures are verified. As it is made, it accepts no token.
    package struct JWT: Equatable, Sendable {
        /// The only algorithm accepted, whatever a token's header says.
        package var algorithm = Algorithm.hs256
        /// The shared secret of HS256, or empty.
        package var secret = ""
        /// The PEM text of the public key of RS256 or ES256, or empty.
        package var publicKey = ""
        /// Where the public keys of RS256 or ES256 are fetched from, by https, or by http on loopback; or empty.
        package var jwksURL = ""
        /// What a token's `iss` must be; empty: anything.
        package var issuer = ""
        /// What a token's `aud` must name; empty: anything.
        package var audience = ""
        /// The cookie that holds the token of who sends no `Authorization` header; empty: none.
        package var cookie = ""

        package init() {}

        /// Whether there is a key, so that a token can be accepted at all.
        package var isEnabled: Bool { !(secret.isEmpty && publicKey.isEmpty && jwksURL.isEmpty) }

        /// How tokens are signed.
        package enum Algorithm: String, CaseIterable, Sendable {
            case hs256 = "HS256"
            case rs256 = "RS256"
            case es256 = "ES256"
        }
    }

    /// The Firebase project whose tokens are accepted, if any.
    package struct Firebase: Equatable, Sendable {
        /// The project's id: up to 64 of a–z, 0–9 and `-`. Empty: no token of Firebase is accepted.
        package var projectID = ""
        /// Where the certificates are fetched from, by https, or by http on loopback.
        package var certificatesURL =
            "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        /// Who its users are, unless a token says otherwise.
        package var role = Role.driver

        package init() {}

        /// Whether there is a project, so that a token can be accepted at all.
        package var isEnabled: Bool { !projectID.isEmpty }
    }

    /// What somebody is to the fleet.
    package enum Role: String, CaseIterable, Sendable {
        case driver, admin, customer, ops
    }
}
