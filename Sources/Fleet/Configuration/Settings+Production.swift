// What `--production` refuses. docs/operations.md lists it: "What --production refuses".

extension Settings {
    /// A key, and why production refuses its value: what was expected and found, and what to do.
    typealias Refusal = (key: String, problem: String)

    /// All keys that production refuses.
    func productionErrors(file: String) -> [ConfigurationError] {
        let refusals =
            openTransports + weakSecrets + (fleet.enabled ? openChannels + openSignIns + unsafeStore : []) + unsafeCluster
            + openWebhooks + wideOrigins
        return refusals.map { ConfigurationError(file: file, key: $0.key, problem: $0.problem) }
    }

    /// What listens to others without TLS, or believes what others say about clients.
    private var openTransports: [Refusal] {
        guard !server.isLoopback else { return [] }
        var refusals: [Refusal] = []
        if server.tls.isEmpty, !server.behindProxy {
            refusals.append(
                (
                    "server.tls",
                    "expected a certificate and a key, or server.behind_proxy: true, because \(server.host) is not loopback"
                ))
        }
        if server.behindProxy || server.proxyProtocol, server.trustedProxies.isEmpty {
            refusals.append(
                (
                    "server.trusted_proxies",
                    "expected the proxy's addresses, found none: without them every machine of a private network is believed what "
                        + "it says about clients' addresses and TLS"
                ))
        }
        return refusals
    }

    /// Secrets that can be guessed, that everybody knows, or that are used twice.
    private var weakSecrets: [Refusal] {
        let weak = secrets.compactMap { secret in secret.problem.map { (key: secret.key, problem: $0) } }
        let known = Set(weak.map(\.key))
        let equal = equalSecrets.filter { !known.contains($0.key) }.map {
            (
                key: $0.key,
                problem: "expected a secret of its own, found that of \($0.other): who has it would have the rights of both"
            )
        }
        return weak + equal
    }

    /// The rules that let anybody subscribe, unless that is allowed. Without any rule, every channel is open.
    private var openChannels: [Refusal] {
        guard !fleet.allowOpenChannels else { return [] }
        let alternative = "or fleet.allow_open_channels: true"
        guard !channels.isEmpty else {
            return [("channels", "expected a rule, \(alternative), because without rules all channels are open")]
        }
        return channels.enumerated().filter { $1.access == .open }.map { index, rule in
            ("channels[\(index)].access", "expected another access than open, \(alternative), found open for \(rule.pattern)")
        }
    }

    /// What would let everybody sign in, at the operator's expense, or everybody read codes.
    private var openSignIns: [Refusal] {
        var refusals: [Refusal] = []
        if auth.firebase.isEnabled, auth.firebase.requireClaim.isEmpty, !isGatedByAccounts {
            let role = auth.firebase.role.rawValue
            refusals.append(
                ("auth.firebase.require_claim", "expected a claim, because otherwise every user of the project is a \(role)"))
        }
        guard otp.isEnabled else { return refusals }
        if otp.countries.isEmpty {
            refusals.append(
                (
                    "otp.countries",
                    "expected the calling codes of your customers, such as \"+44\", because SMS to all others cost you money, too"
                ))
        }
        if otp.sms.url.isEmpty {
            refusals.append(("otp.sms.url", "expected the URL of an SMS adapter, because without it the log gets the codes"))
        }
        return refusals
    }

    /// Whether a dispatcher must approve each user of the Firebase project. Accounts gate drivers only.
    private var isGatedByAccounts: Bool { accounts.isEnabled && auth.firebase.role == .driver }

    /// A database whose connection others can read or take over, and tokens that are encrypted with a key beside them.
    private var unsafeStore: [Refusal] {
        var refusals: [Refusal] = []
        if store.encryptionKeys.isEmpty {
            refusals.append(("store.encryption_keys", "expected a key, because the development key lies beside the database"))
        }
        guard !store.url.isEmpty else { return refusals }
        let url = DatabaseURL(store.url)
        if !url.isLocal, !url.isVerified {
            let mode = url.value("sslmode")
            let found = mode.isEmpty ? "no sslmode, for which libpq does not check the server" : "sslmode=\(QuotedValue.of(mode))"
            refusals.append(
                (
                    "store.url",
                    "expected sslmode=verify-full (with sslrootcert=FILE) or verify-ca, because the server is not this machine, "
                        + "found \(found)"
                ))
        }
        return refusals
    }

    /// A bus on which others can read events, or publish as a node.
    private var unsafeCluster: [Refusal] {
        let remote = cluster.nats.filter { !Self.isLoopbackBus($0) }
        guard !remote.isEmpty, !cluster.allowPlain else { return [] }
        let alternative = "or cluster.allow_plain: true"
        var refusals: [Refusal] = []
        if let plain = remote.first(where: { !$0.hasPrefix("tls://") }) {
            refusals.append(
                ("cluster.nats", "expected tls://, \(alternative), because nodes believe all that arrives, found \(plain)"))
        }
        if cluster.user.isEmpty, cluster.token.isEmpty, cluster.credentialsFile.isEmpty {
            refusals.append(
                (
                    "cluster.user",
                    "expected a user, a token or a credentials_file, \(alternative), because whoever may publish at NATS is every "
                        + "user of the fleet, found none"
                ))
        }
        return refusals
    }

    private static func isLoopbackBus(_ url: String) -> Bool {
        let server = url.drop { $0 != ":" }.dropFirst("://".count)
        if server.hasPrefix("[") { return String(server.dropFirst().prefix { $0 != "]" }).isLoopbackHost }
        return String(server.prefix { $0 != ":" }).isLoopbackHost
    }

    /// Webhooks that others can read on their way.
    private var openWebhooks: [Refusal] {
        apps.enumerated().flatMap { index, app in
            app.webhooks.enumerated().compactMap { number, webhook in
                guard let url = URLParts(webhook.url), url.scheme == "http", !url.isLoopback, !webhook.allowPrivate else {
                    return nil
                }
                return (
                    "apps[\(index)].webhooks[\(number)].url",
                    "expected https, or allow_private: true for a host of your own network, because events contain ids of people, "
                        + "found http"
                )
            }
        }
    }

    /// Wildcards that admit pages of strangers.
    private var wideOrigins: [Refusal] {
        apps.enumerated().flatMap { index, app in
            app.allowedOrigins.enumerated().compactMap { number, origin in
                guard let domain = origin.split(separator: "://*.", maxSplits: 1).dropFirst().first,
                    PublicSuffix.contains(String(domain.prefix { $0 != ":" && $0 != "/" }))
                else { return nil }
                return (
                    "apps[\(index)].allowed_origins[\(number)]",
                    "expected a domain of your own behind *., because anybody can have a host below this one, found "
                        + QuotedValue.of(origin)
                )
            }
        }
    }

    /// The files that others may change, who could set their content.
    static func writableFiles(
        _ files: [SettingsFile], file: String, ownGroups: Set<UInt32> = FilePermissions.ownGroups,
        permissions: (String) -> FilePermissions? = FilePermissions.init(path:)
    ) -> [ConfigurationError] {
        files.compactMap { source in
            guard let found = permissions(source.path), let remedy = found.writersRemedy(ownGroups) else { return nil }
            let path = QuotedValue.whole(source.path)
            let problem = "expected a file that no other user may change, found mode \(found.octal) of \(path): \(remedy)"
            return ConfigurationError(file: file, key: source.key, problem: problem)
        }
    }
}
