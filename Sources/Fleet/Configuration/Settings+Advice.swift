// What production permits and SECURITY.md's checklist advises against: a line of the log for each.

extension Settings {
    /// The keys whose values a checklist for production would change, with the reason.
    package func productionAdvice(file: String, files: [SettingsFile] = []) -> [ConfigurationError] {
        let advice = (fleet.enabled ? tokenAdvice : []) + appAdvice + (fleet.enabled ? fleetAdvice : []) + operationAdvice
        return advice.map { ConfigurationError(file: file, key: $0.key, problem: $0.problem) }
            + Self.readableFiles(files, file: file)
    }

    private var tokenAdvice: [Refusal] {
        auth.jwt.enumerated().filter(\.element.isEnabled).flatMap { index, issuer in
            let path = auth.jwt.count == 1 ? "auth.jwt" : "auth.jwt[\(index)]"
            return [
                issuer.issuer.isEmpty
                    ? ("\(path).issuer", "set it, so that tokens of other issuers with this key are refused") : nil,
                issuer.audience.isEmpty ? ("\(path).audience", "set it, so that tokens for other services are refused") : nil,
            ].compactMap { $0 }
        }
    }

    private var appAdvice: [Refusal] {
        apps.enumerated().filter(\.element.enabled).flatMap { index, app in
            let path = "apps[\(index)]"
            let isOpen = app.allowedOrigins.contains("*")
            let hasTLS = !server.tls.isEmpty || server.behindProxy
            return [
                isOpen && app.clientEvents
                    ? (
                        "\(path).client_events",
                        "any page can send client events: list your pages in allowed_origins instead of *"
                    )
                    : nil,
                isOpen ? ("\(path).allowed_origins", "list your pages instead of *") : nil,
                hasTLS && !app.tlsOnly ? ("\(path).tls_only", "set it, so that no WebSocket comes without TLS") : nil,
            ].compactMap { $0 }
        }
    }

    private var fleetAdvice: [Refusal] {
        var advice: [Refusal] = []
        if !channels.isEmpty, !channels.contains(where: { $0.pattern == "*" }) {
            advice.append(("channels", "end with a rule for * and access: admin, because other names are open to everybody"))
        }
        if fleet.allowOpenChannels {
            advice.append(("fleet.allow_open_channels", "unset it once all apps sign their subscriptions: anybody may subscribe"))
        }
        if console.isEnabled, console.tileURL.hasPrefix("http://") {
            advice.append(("console.tile_url", "use https: others can see which places operators look at"))
        }
        return advice
    }

    private var operationAdvice: [Refusal] {
        var advice: [Refusal] = []
        if metrics.token.isEmpty {
            advice.append(("metrics.token", "set it: without it, every program of this machine reads the metrics"))
        }
        if server.coreDumps {
            advice.append(("server.core_dumps", "unset it: a core file has every secret of the process"))
        }
        if log.level == .debug { advice.append(("log.level", "use info: debug lines contain request paths with people's ids")) }
        if server.watchdogSeconds == 0 {
            advice.append(("server.watchdog_seconds", "set it, so that a gateway that is stuck is restarted"))
        }
        if cluster.isEnabled, cluster.allowPlain {
            advice.append(("cluster.allow_plain", "use tls:// and a user: nodes believe all that arrives from NATS"))
        }
        return advice
    }

    /// The files with secrets that every user of this machine may read.
    static func readableFiles(
        _ files: [SettingsFile], file: String,
        permissions: (String) -> FilePermissions? = FilePermissions.init(path:)
    ) -> [ConfigurationError] {
        files.compactMap { source in
            guard source.isSecret, let found = permissions(source.path), found.isReadableByAll else { return nil }
            let problem = "every user of this machine may read \(QuotedValue.whole(source.path)) (mode \(found.octal)): chmod o-r"
            return ConfigurationError(file: file, key: source.key, problem: problem)
        }
    }
}
