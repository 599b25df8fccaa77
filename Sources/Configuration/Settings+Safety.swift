import Addresses

// Which valid settings must not serve strangers: `serve` and `check-config` refuse them, all at once.

extension Settings {
    /// The keys whose values would let strangers in. Empty if the gateway may serve.
    ///
    /// In development only the secrets that everybody knows are refused, and only where others than this machine can
    /// connect: with them anybody could become an admin. Production has stricter rules (``productionErrors(file:)``).
    /// - Parameter file: the path that errors show as the file's name.
    package func safetyErrors(inProduction: Bool, file: String) -> [ConfigurationError] {
        if inProduction { return productionErrors(file: file) }
        guard !server.isLoopback else { return [] }
        return signingSecrets.filter { Self.demoSecrets.contains($0.value) }.map {
            let problem = Self.demoSecretProblem + ", and \(server.host) is not loopback"
            return ConfigurationError(file: file, key: $0.key, problem: problem)
        }
    }

    /// Secrets that the shipped configuration makes public.
    static let demoSecrets: Set = ["secret1", "development-secret-change-me-0123456789"]

    private static let demoSecretProblem = "expected a secret of your own, found one that is public in the shipped configuration"

    /// The least bytes of a secret: as many as the digests have that it signs (RFC 7518 section 3.2).
    static let secretBytesMin = 32

    private func productionErrors(file: String) -> [ConfigurationError] {
        var errors: [ConfigurationError] = []
        func refuse(_ key: String, _ problem: String) {
            errors.append(ConfigurationError(file: file, key: key, problem: problem))
        }
        if !server.isLoopback, server.tls.isEmpty, !server.behindProxy {
            refuse(
                "server.tls",
                "expected a certificate and a key, or server.behind_proxy: true, because \(server.host) is not loopback")
        }
        for (key, secret) in signingSecrets {
            let count = secret.utf8.count
            if Self.demoSecrets.contains(secret) {
                refuse(key, Self.demoSecretProblem)
            } else if count < Self.secretBytesMin {
                refuse(key, "expected at least \(Self.secretBytesMin) bytes, found \(count)")
            }
        }
        for (key, problem) in openChannels { refuse(key, problem) }
        if auth.firebase.isEnabled, auth.firebase.requireClaim.isEmpty, !isGatedByAccounts {
            let role = auth.firebase.role.rawValue
            refuse(
                "auth.firebase.require_claim",
                "expected a claim, because otherwise every user of the project is a \(role)")
        }
        if otp.isEnabled, otp.countries.isEmpty {
            refuse(
                "otp.countries",
                "expected the calling codes of your customers, such as \"+44\", because SMS to all others cost you money, too")
        }
        if otp.isEnabled, otp.sms.url.isEmpty {
            refuse("otp.sms.url", "expected the URL of an SMS adapter, because without it the log gets the codes")
        }
        if store.encryptionKeys.isEmpty {
            refuse("store.encryption_keys", "expected a key, because the development key lies beside the database")
        }
        return errors
    }

    /// Whether a dispatcher must approve each user of the Firebase project. Accounts gate drivers only.
    private var isGatedByAccounts: Bool { accounts.isEnabled && auth.firebase.role == .driver }

    /// The secrets of apps, token issuers, session cookies and the SMS adapter, with their keys.
    private var signingSecrets: [(key: String, value: String)] {
        let ofApps = apps.enumerated().flatMap { index, app in
            app.secrets.enumerated().map { number, secret in
                (key: "apps[\(index)]." + (app.secrets.count == 1 ? "secret" : "secrets[\(number)]"), value: secret)
            }
        }
        let ofIssuers = auth.jwt.enumerated().map { index, issuer in
            (key: auth.jwt.count == 1 ? "auth.jwt.secret" : "auth.jwt[\(index)].secret", value: issuer.secret)
        }
        let ofSessions = auth.session.secrets.enumerated().map { number, secret in
            (key: "auth.session." + (auth.session.secrets.count == 1 ? "secret" : "secrets[\(number)]"), value: secret)
        }
        let ofSMS = otp.isEnabled ? [(key: "otp.sms.secret", value: otp.sms.secret)] : []
        return ofApps + ofIssuers.filter { !$0.value.isEmpty } + ofSessions + ofSMS
    }

    /// The rules that let anybody subscribe, unless that is allowed. Without any rule, every channel is open.
    private var openChannels: [(key: String, problem: String)] {
        guard !fleet.allowOpenChannels else { return [] }
        let alternative = "or fleet.allow_open_channels: true"
        guard !channels.isEmpty else {
            return [("channels", "expected a rule, \(alternative), because without rules all channels are open")]
        }
        return channels.enumerated().filter { $1.access == .open }.map { index, rule in
            ("channels[\(index)].access", "expected another access than open, \(alternative), found open for \(rule.pattern)")
        }
    }
}

extension Settings.Server {
    /// Whether only this machine can connect. A host name other than localhost may resolve to any address.
    var isLoopback: Bool { IPAddress(host)?.isLoopback ?? (host.lowercased() == "localhost") }

    /// The limit that production sets where ``connectionsPerIP`` is 0. It is far above what one person needs, because
    /// mobile carriers put hundreds of phones behind one address.
    package static let productionConnectionsPerIP = 1_000
    /// The limit that production sets where ``handshakesPerIPPerSecond`` is 0.
    package static let productionHandshakesPerIPPerSecond = 100

    /// Limits each address, as production does, where the configuration sets no limit.
    ///
    /// Behind a proxy that `trusted_proxies` does not name, all clients may seem to have the proxy's address, so nothing is
    /// limited there.
    package mutating func limitAddresses() {
        guard !(behindProxy || proxyProtocol) || !trustedProxies.isEmpty else { return }
        if connectionsPerIP == 0 { connectionsPerIP = Self.productionConnectionsPerIP }
        if handshakesPerIPPerSecond == 0 { handshakesPerIPPerSecond = Self.productionHandshakesPerIPPerSecond }
    }
}
