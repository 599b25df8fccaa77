import Access
import Addresses
import Configuration
import FanOut
import Fleet
import JWT
import Observability
import Push
import PusherAPI
import Server
import Threads

// Maps the configuration's values to those of the modules: tokens and channels here, the rest in `+Realtime`,
// `+Store` and `Pushes/PushProviders`.

extension Settings {
    /// The trusted issuers that are configured, Firebase last.
    package var issuers: [TokenIssuer] {
        var issuers = auth.jwt.filter(\.isEnabled).map { jwt in
            var issuer = TokenIssuer(jwt)
            issuer.signsCustomersIn = jwt == codeIssuer
            return issuer
        }
        let firebase = auth.firebase
        if firebase.isEnabled {
            issuers.append(
                .firebase(
                    projectID: firebase.projectID, certificatesURL: firebase.certificatesURL, role: firebase.role,
                    requiredClaim: firebase.requireClaim, hasAccounts: accounts.isEnabled))
        }
        return issuers
    }
}

extension SessionCookies {
    init(_ session: Settings.SessionCookies) {
        self.init(
            names: session.cookies, secrets: session.secrets, scheme: session.scheme,
            roles: Roles(claim: session.roleClaim, admin: session.adminRoles, ops: session.opsRoles))
    }
}

extension TokenIssuer {
    fileprivate init(_ jwt: Settings.JWT) {
        let keys: Keys =
            if !jwt.secret.isEmpty {
                .secret(jwt.secret)
            } else if !jwt.publicKey.isEmpty {
                .pem(jwt.publicKey)
            } else {
                .remote(url: jwt.jwksURL, .jwks)
            }
        self.init(algorithm: jwt.algorithm, keys: keys, issuer: jwt.issuer, audience: jwt.audience)
    }
}

extension ChannelPolicy.Rule {
    init(_ rule: Settings.ChannelRule) {
        self.init(
            rule.pattern, rule.access, isDurable: rule.durable,
            legacy: rule.legacy.isEnabled ? Legacy(rule.legacy) : nil)
    }
}

extension Legacy {
    fileprivate init(_ legacy: Settings.ChannelRule.Legacy) {
        self.init(
            until: legacy.untilMilliseconds, keys: legacy.keys, networks: legacy.addresses.compactMap(IPNetwork.init),
            hiddenMembers: legacy.hide)
    }
}

extension Settings {
    /// The configuration keys whose values pass the configuration's checks but cannot be used, such as a broken PEM or a
    /// private key of the wrong curve.
    /// - Parameter file: the path that errors show as the file's name.
    package func unusableKeys(file: String) -> [ConfigurationError] {
        var errors: [ConfigurationError] = []
        func report(_ key: String, _ problem: String) {
            errors.append(ConfigurationError(file: file, key: key, problem: problem))
        }
        if server.proxyProtocol, !server.tls.isEmpty {
            report("server.proxy_protocol", "cannot be used with server.tls: let the load balancer terminate TLS")
        }
        if let problem = store.address.problem { report("store.url", problem) }
        if !LocalTime.isKnown(accounts.timeZone) {
            report("accounts.time_zone", "is no time zone: expected a name such as Europe/London, or an offset such as GMT+05:30")
        }
        do throws(StartError) {
            if !server.tls.isEmpty { _ = try TLSCertificates(server.tls) }
        } catch {
            report("server.tls", "cannot \(error)")
        }
        do throws(TokenIssuerError) {
            _ = try TokenVerifier(issuers: issuers, keyCache: IssuerKeyCache(issuers: issuers))
        } catch {
            report("auth.jwt", error.description)
        }
        do throws(CredentialError) {
            _ = try PushProviders(push)
        } catch {
            report(error.key, error.problem)
        }
        return errors
    }

    /// Logs warnings about insecure but valid settings.
    func logWarnings(to log: Observability.Log) {
        for rule in channels where rule.access == .open {
            log.warning(
                "open_fleet_channel",
                [
                    "pattern": .text(rule.pattern),
                    "hint": "any client may subscribe; choose another access once all apps sign subscriptions",
                ])
        }
        for (key, other) in equalSecrets {
            log.warning(
                "equal_secrets",
                ["key": .text(key), "other": .text(other), "hint": "who has the secret has the rights of both: make another one"])
        }
        for issuer in auth.jwt where issuer.isEnabled && !issuer.secret.isEmpty && issuer.secret.utf8.count < 32 {
            log.warning(
                "short_token_secret",
                ["issuer": .text(issuer.issuer), "hint": "use at least 32 bytes; a shorter secret can be guessed"])
        }
    }
}

extension SummarySettings {
    init(_ accounts: Settings.Accounts) {
        self.init(currency: accounts.currency, timeZone: accounts.timeZone) { range, zone in
            let unit: LocalTime.Unit? =
                switch range {
                case .today: .day
                case .week: .week
                case .month: .month
                case .all: nil
                }
            return unit.flatMap { LocalTime.start(of: $0, in: zone, at: Clock.unixMilliseconds()) }
        }
    }
}
