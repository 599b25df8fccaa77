/// The variables of a Laravel application that broadcasts by Pusher, Reverb, Laravel WebSockets or Ably: config/broadcasting.php
/// of github.com/laravel/framework, config/reverb.php of github.com/laravel/reverb, config/websockets.php of
/// github.com/beyondcode/laravel-websockets.
struct LaravelVariables {
    private let file: EnvironmentFile

    init(_ file: EnvironmentFile) { self.file = file }

    private enum System {
        case pusher, reverb, laravelWebSockets, soketi, ably
    }

    /// - Throws: ``MigrationError`` if the file names none of these servers.
    func report() throws(MigrationError) -> MigrationReport {
        guard let system else {
            throw MigrationError(
                "no variable of Pusher, Reverb, Laravel WebSockets, Soketi or Ably: expected PUSHER_APP_KEY, REVERB_APP_KEY or another"
            )
        }
        switch system {
        case .pusher: return pusher
        case .reverb: return reverb
        case .laravelWebSockets: return laravelWebSockets
        case .soketi: return soketi
        case .ably: return ably
        }
    }

    /// The connection that the application uses: `BROADCAST_CONNECTION` since Laravel 11, `BROADCAST_DRIVER` before.
    private var system: System? {
        switch file["BROADCAST_CONNECTION"] ?? file["BROADCAST_DRIVER"] {
        case "reverb": return .reverb
        case "ably" where file["ABLY_KEY"] != nil: return .ably
        default: break
        }
        if file.has(prefix: "LARAVEL_WEBSOCKETS_") || file.has(prefix: "WEBSOCKETS_REPLICATION") { return .laravelWebSockets }
        if file.has(prefix: "SOKETI_") { return .soketi }
        if file["PUSHER_APP_KEY"] != nil { return .pusher }
        if file.has(prefix: "REVERB_APP_") { return .reverb }
        return file["ABLY_KEY"] != nil ? .ably : nil
    }

    // MARK: Each server

    private var pusher: MigrationReport {
        var report = MigrationReport("a Laravel .env for Pusher Channels", page: "docs/migration/pusher.md")
        if let host = file["PUSHER_HOST"] {
            report.used.append("a server with Pusher's protocol at \(Excerpt(RecordedURL.host(host)).text)")
        } else {
            report.used.append("the hosted service, cluster \(Excerpt(file["PUSHER_APP_CLUSTER"] ?? "mt1").text)")
        }
        addApp(&report, id: "PUSHER_APP_ID", key: "PUSHER_APP_KEY", secret: "PUSHER_APP_SECRET")
        addFrontend(&report)
        report.differences += KnownDifferences.pusher
        return report
    }

    private var laravelWebSockets: MigrationReport {
        var report = MigrationReport("a Laravel .env for Laravel WebSockets", page: "docs/migration/laravel-websockets.md")
        setPort(&report, "LARAVEL_WEBSOCKETS_PORT", 6_001)
        setPathPrefix(&report, "PUSHER_APP_PATH")
        setCertificate(&report, "LARAVEL_WEBSOCKETS_SSL_LOCAL_CERT", "LARAVEL_WEBSOCKETS_SSL_LOCAL_PK")
        addApp(&report, id: "PUSHER_APP_ID", key: "PUSHER_APP_KEY", secret: "PUSHER_APP_SECRET")
        addFrontend(&report)
        if file["WEBSOCKETS_REPLICATION_MODE"].map({ $0 != "local" }) ?? false {
            report.differences.append("WEBSOCKETS_REPLICATION_MODE: several nodes need PostgreSQL and NATS: see docs/cluster.md")
        }
        noteTableInPHP(&report, "config/websockets.php", "capacity, enable_client_messages and allowed_origins")
        report.differences += KnownDifferences.laravelWebSockets
        return report
    }

    private var reverb: MigrationReport {
        var report = MigrationReport("a Laravel .env for Reverb", page: "docs/migration/reverb.md")
        setPort(&report, "REVERB_SERVER_PORT", 8_080)
        let origin =
            "\(file["REVERB_SCHEME"] ?? "https")://\(RecordedURL.host(file["REVERB_HOST"] ?? "…")):\(file["REVERB_PORT"] ?? "443")"
        report.used.append("clients and the backend come to \(Excerpt(origin).text)")
        addApp(&report, id: "REVERB_APP_ID", key: "REVERB_APP_KEY", secret: "REVERB_APP_SECRET") { app, report in
            if let most = number("REVERB_APP_MAX_CONNECTIONS") {
                app.limits.append(("connections", report.configuration.clamped(most, 0...1_000_000, "limits.connections")))
            }
            if let bytes = number("REVERB_APP_MAX_MESSAGE_SIZE") {
                app.limits.append(
                    ("message_bytes", report.configuration.clamped(bytes, 1_024...16_777_216, "limits.message_bytes")))
            }
            // Reverb accepts client events unless it is told not to (`accept_client_events_from`).
            switch file["REVERB_APP_ACCEPT_CLIENT_EVENTS_FROM"] ?? "members" {
            case "members": app.hasClientEvents = true
            case "all":
                app.hasClientEvents = true
                report.differences.append("client events of connections that have not joined the channel are refused")
            default: app.hasClientEvents = false
            }
        }
        setPathPrefix(&report, "REVERB_SERVER_PATH")
        if isOn("REVERB_SCALING_ENABLED") {
            report.differences.append("REVERB_SCALING_ENABLED: several nodes need PostgreSQL and NATS: see docs/cluster.md")
        }
        addFrontend(&report)
        noteTableInPHP(&report, "config/reverb.php", "allowed_origins")
        report.differences += KnownDifferences.reverb
        return report
    }

    /// src/cli/cli.ts of github.com/soketi/soketi: `SOKETI_…` variables.
    private var soketi: MigrationReport {
        var report = MigrationReport("a .env for Soketi", page: "docs/migration/soketi.md")
        setPort(&report, "SOKETI_PORT", 6_001)
        setPathPrefix(&report, "SOKETI_PATH_PREFIX")
        setCertificate(&report, "SOKETI_SSL_CERT", "SOKETI_SSL_KEY")
        addApp(&report, id: "SOKETI_DEFAULT_APP_ID", key: "SOKETI_DEFAULT_APP_KEY", secret: "SOKETI_DEFAULT_APP_SECRET") {
            app, report in
            app.hasClientEvents = isOn("SOKETI_DEFAULT_APP_ENABLE_CLIENT_MESSAGES")
            let kilobytes = number("SOKETI_EVENT_MAX_SIZE_IN_KB") ?? 100
            let bytes = report.configuration.clamped(
                kilobytes.multipliedReportingOverflow(by: 1_024).partialValue, 1...1_048_576, "limits.event_bytes")
            app.limits = [("event_bytes", bytes), ("message_bytes", max(65_536, bytes * 2)), ("presence_info_bytes", 2_048)]
            if let most = number("SOKETI_DEFAULT_APP_MAX_CONNS"), most >= 0 {
                app.limits.append(("connections", report.configuration.clamped(most, 0...1_000_000, "limits.connections")))
            }
        }
        if let driver = file["SOKETI_ADAPTER_DRIVER"], driver != "local" {
            report.differences.append("SOKETI_ADAPTER_DRIVER: several nodes need PostgreSQL and NATS: see docs/cluster.md")
        }
        report.differences += KnownDifferences.soketi
        return report
    }

    /// `ABLY_KEY` is `appid.keyid:secret`. Pusher's libraries get `appid.keyid` as the key.
    private var ably: MigrationReport {
        var report = MigrationReport("a Laravel .env for Ably", page: "docs/migration/ably.md")
        let name = (file["ABLY_KEY"] ?? "").utf8.prefix { $0 != UInt8(ascii: ":") }
        let id = String(Substring(name.prefix { $0 != UInt8(ascii: ".") }))
        report.secrets.append(("ABLY_APP_SECRET", "the part of ABLY_KEY behind the colon, or a new one"))
        let app = StarterConfiguration.App(
            id: report.configuration.identifier(id, "the app's id"),
            key: report.configuration.identifier(String(Substring(name)), "the key"), secretVariable: "ABLY_APP_SECRET")
        report.configuration.add(app)
        report.used.append("app \"\(Excerpt(id).text)\" by Ably's own broadcaster or its Pusher adapter")
        report.differences.append(
            "Laravel's ably broadcaster speaks Ably's own API: set BROADCAST_CONNECTION=pusher, and PUSHER_… as below")
        report.differences += KnownDifferences.ably
        return report
    }

    // MARK: What they share

    private func number(_ name: String) -> Int? { file[name].flatMap { Int($0) } }

    private func isOn(_ name: String) -> Bool { ["true", "1", "(true)"].contains(file[name] ?? "") }

    private func setPort(_ report: inout MigrationReport, _ name: String, _ normal: Int) {
        let port = number(name) ?? normal
        report.used.append("port \(port)\(file[name] == nil ? " (the default)" : "")")
        report.configuration.port = report.configuration.clamped(port, 1...65_535, "server.port")
    }

    private func setPathPrefix(_ report: inout MigrationReport, _ name: String) {
        guard let prefix = file[name] else { return }
        report.used.append("\(name) \"\(Excerpt(prefix).text)\"")
        report.configuration.setPathPrefix(prefix)
    }

    private func setCertificate(_ report: inout MigrationReport, _ chain: String, _ key: String) {
        guard file[chain] != nil || file[key] != nil else { return }
        report.used.append("TLS with a certificate and a key")
        report.configuration.certificate = (file[chain] ?? "", file[key] ?? "")
    }

    private func addApp(
        _ report: inout MigrationReport, id: String, key: String, secret: String,
        _ change: (inout StarterConfiguration.App, inout MigrationReport) -> Void = { _, _ in }
    ) {
        let (idText, keyText) = (file[id] ?? "app-id", file[key] ?? "app-key")
        for name in [id, key, secret] where file[name] == nil { report.differences.append("\(name) is not set: choose a value") }
        report.used.append("app \"\(Excerpt(idText).text)\" with key \"\(Excerpt(keyText).text)\"")
        report.secrets.append((secret, "\(secret) of this file"))
        var app = StarterConfiguration.App(
            id: report.configuration.identifier(idText, id), key: report.configuration.identifier(keyText, key),
            secretVariable: secret)
        change(&app, &report)
        report.configuration.add(app)
    }

    /// The variables that a build puts into the page (Vite; before, Laravel Mix).
    private func addFrontend(_ report: inout MigrationReport) {
        var found = Distinct()
        for name in file.names
        where ["VITE_PUSHER_", "VITE_REVERB_", "MIX_PUSHER_"].contains(where: { name.utf8.starts(with: $0.utf8) }) {
            found.add(name)
        }
        guard !found.isEmpty else { return }
        report.used.append("in the page: \(found.list)")
        report.differences.append("build the page again after a change of these variables: they are part of its scripts")
    }

    private func noteTableInPHP(_ report: inout MigrationReport, _ file: String, _ keys: String) {
        report.differences.append("\(file) may set more than its variables show: compare \(keys)")
    }
}
