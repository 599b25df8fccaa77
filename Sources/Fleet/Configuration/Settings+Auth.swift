import Access

extension Settings {
    /// The token issuers that the gateway trusts.
    package struct Auth: Equatable, Sendable {
        /// Issuers of JSON Web Tokens, at least one. If there are several, each must have an `issuer` of its own, which
        /// is not empty.
        package var jwt = [JWT()]
        /// Firebase Authentication.
        package var firebase = Firebase()
        /// The encrypted session cookie of a dashboard.
        package var session = SessionCookies()
        /// The backend that knows what opaque tokens are worth.
        package var introspection = Introspection()
        /// Whether a signed request to Pusher's HTTP API is accepted only once.
        package var replayProtection = false

        package init() {}
    }

    /// An issuer of JSON Web Tokens and its key: one of `secret`, `publicKey` and `jwksURL`. The default has no key, so
    /// no token is accepted.
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
        /// The name of the cookie that contains the token if a request has no `Authorization` header. Empty: cookies
        /// are not read.
        package var cookie = ""

        package init() {}

        /// Whether there is a key, so that tokens can be accepted.
        package var isEnabled: Bool { !(secret.isEmpty && publicKey.isEmpty && jwksURL.isEmpty) }
    }

    /// The session cookie of a dashboard that signs in with NextAuth.js or Auth.js.
    package struct SessionCookies: Equatable, Sendable {
        /// The cookies' names.
        package var cookies = ["next-auth.session-token", "__Secure-next-auth.session-token"]
        /// The dashboard's secrets: any of them may have encrypted a cookie. Empty: cookies are not read.
        package var secrets: [String] = []
        /// How the cookie is made.
        package var scheme = SessionScheme.v4
        /// The claim that names the user's role in the dashboard.
        package var roleClaim = "role"
        /// The values of the claim whose users are admins, in any case.
        package var adminRoles = ["ADMIN"]
        /// The values of the claim whose users have the role ops, in any case.
        package var opsRoles: [String] = []

        package init() {}
    }

    /// The backend that is asked about bearer tokens which are no JWTs (RFC 7662).
    package struct Introspection: Equatable, Sendable {
        /// Where it is asked: an https URL, or an http one on loopback. Empty: opaque tokens are refused.
        package var url = ""
        /// The gateway's name there. Empty: it sends no credentials.
        package var clientID = ""
        /// The gateway's password there.
        package var clientSecret = ""
        /// How long an answer counts before the backend is asked again (0–3,600).
        package var cacheSeconds = 60
        /// The time for an answer (100–10,000).
        package var timeoutMilliseconds = 1_000

        package init() {}

        /// Whether opaque tokens can be accepted.
        package var isEnabled: Bool { !url.isEmpty }
    }

    /// The Firebase project whose ID tokens are accepted.
    package struct Firebase: Equatable, Sendable {
        /// The project's id: up to 64 characters of a–z, 0–9 and `-`. Empty: no Firebase token is accepted.
        package var projectID = ""
        /// The URL of Google's certificates, whose keys verify the tokens (https, or http on loopback).
        package var certificatesURL =
            "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        /// The role of a user whose token has no `role` claim.
        package var role = Role.driver
        /// The claim without which a user does not get ``role``: anybody may be able to sign up to the project, but only
        /// its administrators set claims. Empty: every user gets the role.
        package var requireClaim = ""

        package init() {}

        /// Whether there is a project, so that tokens can be accepted.
        package var isEnabled: Bool { !projectID.isEmpty }
    }
}

extension Settings.Introspection {
    mutating func read(_ section: Section) {
        section.url("url", into: &url, .keysURLOrNone, isHidden: true)
        let name = section.text("client_id", into: &clientID, .any)
        let secret = section.secret("client_secret", into: &clientSecret, .any)
        section.integer("cache_seconds", into: &cacheSeconds, 0...3_600)
        section.integer("timeout_ms", into: &timeoutMilliseconds, 100...10_000)
        guard clientID.isEmpty != clientSecret.isEmpty else { return }
        let (missing, given) = clientID.isEmpty ? ("client_id", "client_secret") : ("client_secret", "client_id")
        section.reader.report(
            "expected a non-empty string, required with \(section.path(to: given)), found nothing",
            at: (clientID.isEmpty ? name : secret) ?? section.reader.location(section.path(to: missing), section.line))
    }
}
