/// A configuration of Soketi 1: JSON whose members are options, either nested or with dots in their names, as
/// `overwriteOptionsFromConfig` in src/cli/cli.ts and `setOptions` in src/server.ts of github.com/soketi/soketi read them.
struct SoketiFile {
    /// By option, such as `appManager.array.apps.0.key`.
    private let values: [String: String]
    private let names: [String]
    private let apps: SoketiApps

    /// The most apps and origins that become part of the configuration.
    private static let (appsMax, originsMax) = (100, 100)

    /// The first parts of Soketi's options (src/options.ts).
    private static let sections: Set = [
        "adapter", "appManager", "cache", "channelLimits", "cluster", "cors", "database", "databasePooling", "debug",
        "eventLimits", "host", "httpApi", "instance", "metrics", "mode", "pathPrefix", "port", "presence", "queue",
        "rateLimiter", "shutdownGracePeriod", "ssl", "userAuthenticationTimeout", "webhooks",
    ]

    static func isOption(_ name: String) -> Bool {
        sections.contains(String(Substring(name.utf8.prefix { $0 != UInt8(ascii: ".") })))
    }

    init(_ content: [UInt8]) throws(MigrationError) {
        let scalars = try JSONDocument.scalars(of: content)
        // The last one counts, as in JavaScript.
        values = Dictionary(scalars.map { ($0.path, $0.value) }, uniquingKeysWith: { $1 })
        names = scalars.map(\.path)
        apps = SoketiApps(names)
    }

    var report: MigrationReport {
        var report = MigrationReport("a configuration of Soketi", page: "docs/migration/soketi.md")
        readServer(&report)
        if apps.indices.isEmpty {
            report.differences.append("no app is listed: Soketi uses app-id, app-key and app-secret then; choose others")
        }
        for index in apps.indices.isEmpty ? [0] : apps.indices.prefix(Self.appsMax) { readApp(index, &report) }
        let omitted = apps.indices.count - Self.appsMax
        if omitted > 0 { report.differences.append("\(omitted) further apps are left out: add them by hand") }
        if apps.hasOthers {
            report.differences.append(
                "an entry of appManager.array.apps whose index is no number up to \(SoketiApps.indexMax) is left out")
        }
        readRest(&report)
        report.differences += KnownDifferences.soketi
        return report
    }

    private func number(_ name: String) -> Int? {
        values[name].flatMap { text in Double(text).flatMap { $0.magnitude < 1e12 ? Int($0) : nil } }
    }

    // MARK: The server

    private func readServer(_ report: inout MigrationReport) {
        let port = number("port") ?? 6_001
        report.used.append("port \(port)")
        report.configuration.port = report.configuration.clamped(port, 1...65_535, "server.port")
        let chain = values["ssl.certPath"] ?? ""
        let key = values["ssl.keyPath"] ?? ""
        if !chain.isEmpty || !key.isEmpty {
            report.used.append("TLS with a certificate and a key")
            report.configuration.certificate = (chain, key)
        }
        if let prefix = values["pathPrefix"], !prefix.isEmpty {
            report.used.append("pathPrefix \"\(Excerpt(prefix).text)\"")
            report.configuration.setPathPrefix(prefix)
        }
        if let milliseconds = number("shutdownGracePeriod") {
            report.configuration.drainSeconds = report.configuration.clamped(
                (milliseconds + 999) / 1_000, 0...300, "server.drain_seconds")
        }
        if let prefix = values["metrics.prometheus.prefix"] {
            report.differences.append(
                "metrics have other names here, with the prefix metrics.prefix; theirs: \(Excerpt(prefix).text)")
        }
    }

    /// Options that have no counterpart, if they are set.
    private func readRest(_ report: inout MigrationReport) {
        let drivers = [
            ("adapter.driver", "local", "several nodes need a PostgreSQL database and a NATS server: see docs/cluster.md"),
            ("appManager.driver", "array", "the gateway has no database of apps: list them in apps"),
            ("queue.driver", "sync", "webhooks wait in memory"), ("cache.driver", "memory", "cached events are in memory"),
            ("rateLimiter.driver", "local", "limits count for a connection or a node"),
        ]
        for (option, normal, text) in drivers {
            if let value = values[option], value != normal {
                report.differences.append("\(option) \"\(Excerpt(value).text)\": \(text)")
            }
        }
        if values["mode"].map({ $0 != "full" }) ?? false { report.differences.append("mode: there is one kind of process") }
        let known = Set(["database", "databasePooling", "debug", "instance", "cluster"])
        var ignored = Distinct(countMax: 10)
        for name in names where !Self.isOption(name) || known.contains(String(Substring(name.utf8.prefix { $0 != 0x2E }))) {
            ignored.add(String(Substring(name.utf8.prefix { $0 != 0x2E })))
        }
        if !ignored.isEmpty { report.differences.append("not needed here: \(ignored.list)") }
    }

    // MARK: Apps

    /// A value of an app, which Soketi reads by three names (`extractFromPassedKeys` in src/app.ts); the last one counts.
    private func value(_ index: Int, _ camel: String, _ snake: String = "") -> String? {
        let pascal = String(decoding: camel.utf8.prefix(1).map { $0 & 0xDF } + camel.utf8.dropFirst(), as: UTF8.self)
        let base = "appManager.array.apps.\(index)."
        return [snake, pascal, camel].lazy.compactMap { values[base + $0] }.first
    }

    private func number(_ index: Int, _ camel: String, _ snake: String) -> Double? {
        value(index, camel, snake).flatMap(Double.init).flatMap { $0.magnitude < 1e12 ? $0 : nil }
    }

    private func readApp(_ index: Int, _ report: inout MigrationReport) {
        let (id, key) = (value(index, "id", "AppId") ?? "app-id", value(index, "key", "AppKey") ?? "app-key")
        let variable = index == 0 ? "SOKETI_DEFAULT_APP_SECRET" : "SOKETI_APP_\(index)_SECRET"
        report.secrets.append((variable, "the secret of appManager.array.apps[\(index)]"))
        var app = StarterConfiguration.App(
            id: report.configuration.identifier(id, "the app's id"), key: report.configuration.identifier(key, "the app's key"),
            secretVariable: variable)
        app.isEnabled = value(index, "enabled").map { $0 != "false" } ?? true
        app.hasClientEvents = value(index, "enableClientMessages", "enable_client_messages") == "true"
        readLimits(index, &app, &report)
        readWebhooks(index, &app, &report)
        readOrigins(&app, &report)
        var text = "app \"\(Excerpt(id).text)\" with key \"\(Excerpt(key).text)\""
        if app.hasClientEvents { text += ", client events" }
        if !app.webhooks.isEmpty { text += ", \(app.webhooks.count) webhooks" }
        if !app.isEnabled { text += ", disabled" }
        report.used.append(text)
        report.configuration.add(app)
    }

    /// What Soketi allows by default differs in two limits from what the gateway allows: 100 KB of an event's data instead of
    /// 10, and 2 KB of a member's data instead of 1. So both are always written.
    private func readLimits(_ index: Int, _ app: inout StarterConfiguration.App, _ report: inout MigrationReport) {
        func add(_ key: String, _ value: Double, _ range: ClosedRange<Int>) {
            app.limits.append((key, report.configuration.clamped(Int(value.rounded(.up)), range, "limits.\(key)")))
        }
        if let connections = number(index, "maxConnections", "max_connections"), connections >= 0 {
            add("connections", connections, 0...1_000_000)
        }
        let kilobytes =
            number(index, "maxEventPayloadInKb", "max_event_payload_in_kb")
            ?? number("eventLimits.maxPayloadInKb").map(Double.init) ?? 100
        add("event_bytes", kilobytes * 1_024, 1...1_048_576)
        // A message from a client contains the data of an event, as JSON in JSON.
        add("message_bytes", max(65_536, kilobytes * 1_024 * 2), 1_024...16_777_216)
        let memberKilobytes =
            number(index, "maxPresenceMemberSizeInKb", "max_presence_member_size_in_kb")
            ?? number("presence.maxMemberSizeInKb").map(Double.init) ?? 2
        add("presence_info_bytes", memberKilobytes * 1_024, 0...65_536)
        let options: [(String, String, String, String, ClosedRange<Int>)] = [
            (
                "maxEventChannelsAtOnce", "max_event_channels_at_once", "eventLimits.maxChannelsAtOnce", "channels_per_event",
                1...1_000
            ),
            ("maxEventBatchSize", "max_event_batch_size", "eventLimits.maxBatchSize", "batch_events", 1...1_000),
            (
                "maxPresenceMembersPerChannel", "max_presence_members_per_channel", "presence.maxMembersPerChannel",
                "presence_members",
                1...100_000
            ),
            ("maxChannelNameLength", "max_channel_name_length", "channelLimits.maxNameLength", "name_length", 1...200),
        ]
        for (camel, snake, option, key, range) in options {
            if let value = number(index, camel, snake) ?? number(option).map(Double.init) { add(key, value, range) }
        }
        if let rate = number(index, "maxClientEventsPerSecond", "max_client_events_per_sec"), rate >= 0 {
            add("client_events_per_second", rate, 1...1_000)
        } else if app.hasClientEvents {
            report.configuration.note(
                "Soketi limits client events of an app only if it is told to; here a connection may send 10 a second")
        }
        for (camel, snake) in [
            ("maxBackendEventsPerSecond", "max_backend_events_per_sec"), ("maxReadRequestsPerSecond", "max_read_req_per_sec"),
        ] {
            if let rate = number(index, camel, snake), rate >= 0 {
                report.differences.append("\(camel): backends are not limited by a rate")
            }
        }
    }

    private func readOrigins(_ app: inout StarterConfiguration.App, _ report: inout MigrationReport) {
        let origins = (0..<Self.originsMax).compactMap { values["cors.origin.\($0)"] }
        guard !origins.isEmpty, origins != ["*"] else { return }
        app.origins = origins.filter(RecordedURL.isOrigin)
        guard !app.origins.isEmpty else {
            report.configuration.note(
                "no entry of cors.origin is an origin: allowed_origins is left out, so pages of all origins may connect")
            return
        }
        report.configuration.note("allowed_origins counts for WebSockets, too; Soketi's cors.origin for its HTTP API only")
        if app.origins.count < origins.count {
            report.configuration.note("an entry of cors.origin is no origin, and is left out")
        }
        if values["cors.origin.\(Self.originsMax)"] != nil {
            report.configuration.note("cors.origin has more than \(Self.originsMax) entries: add the others by hand")
        }
    }

    private func readWebhooks(_ index: Int, _ app: inout StarterConfiguration.App, _ report: inout MigrationReport) {
        let known = ["channel_occupied", "channel_vacated", "member_added", "member_removed", "client_event", "cache_miss"]
        app.batchesWebhooks = values["webhooks.batching.enabled"] == "true"
        for number in 0..<50 {
            let base = "appManager.array.apps.\(index).webhooks.\(number)."
            guard let members = apps.webhooks[.init(app: index, number: number)] else { break }
            if members.contains(where: { $0.utf8.starts(with: "lambda".utf8) }) {
                report.differences.append("a webhook that calls a Lambda function is left out")
                continue
            }
            if members.contains(where: { $0.utf8.starts(with: "headers".utf8) }) {
                report.differences.append("headers of a webhook are not sent: check X-Pusher-Signature instead")
            }
            if members.contains(where: { $0.utf8.starts(with: "filter".utf8) }) {
                report.differences.append("a webhook's filter of channel names is left out: filter where it is received")
            }
            guard values[base + "url"] != nil, app.webhooks.count < 10 else { continue }
            // The gateway treats the URL as a secret, because its path or query may contain a password; so does this.
            let variable = index == 0 ? "WEBHOOK_\(number)_URL" : "APP_\(index)_WEBHOOK_\(number)_URL"
            report.secrets.append((variable, "the url of appManager.array.apps[\(index)].webhooks[\(number)]"))
            let events = (0..<20).compactMap { values["\(base)event_types.\($0)"] }
            app.webhooks.append(("${\(variable)}", events.filter(known.contains)))
        }
    }
}
