/// What a page in a browser uses of a Pusher server.
struct RecordedUse {
    private var entries = 0
    private var sockets = Distinct()
    private var keys = Distinct(countMax: 20)
    private var ports: [Int] = []
    private var prefixes = Distinct(countMax: 10)
    private var protocols = Distinct(countMax: 10)
    private var authorizations = Distinct(lengthMax: 400)
    /// They become values of the configuration, so they are kept whole.
    private var origins = Distinct(lengthMax: RecordedURL.originBytesMax)
    private var channels: [ChannelKind: Distinct] = [:]
    private var clientEvents = Distinct()
    private var publicWhispers = Distinct()
    /// Names of a fleet that apps of the first key subscribe to without signature or sign-in.
    private var unsignedNames = Distinct(countMax: 20)
    /// Whether a rule of ``FleetRule/all`` is about any of them.
    private var unsignedRules = FleetRule.all.map { _ in false }
    private var hasMessages = false
    private var signsIn = false
    private var fallbacks = Distinct(countMax: 10)
    private var sendsStatistics = false

    /// The kinds of channels, by their names' prefixes.
    private enum ChannelKind: String, CaseIterable {
        case encrypted = "private-encrypted-"
        case privateName = "private-"
        case presence = "presence-"
        case cache = "cache-"
        case plain = ""

        init(_ name: String) { self = Self.allCases.first { name.utf8.starts(with: $0.rawValue.utf8) } ?? .plain }

        var name: String { self == .plain ? "public channels" : "\(rawValue) channels" }
    }

    mutating func add(_ entry: RecordedEntry) {
        entries += 1
        guard let url = entry.url else { return }
        if url.scheme == "ws" || url.scheme == "wss" { addSocket(url, entry) }
        if let asks = entry.asks { addAuthorization(url, entry, asks) }
        if url.authority.utf8.starts(with: "sockjs".utf8) { fallbacks.add(url.authority) }
        if url.authority.utf8.starts(with: "stats".utf8), url.segments.first == "timeline" { sendsStatistics = true }
    }

    /// A connection to `…/app/{key}`.
    private mutating func addSocket(_ url: RecordedURL, _ entry: RecordedEntry) {
        let segments = url.segments
        guard let app = segments.lastIndex(where: { $0 == "app" }), app + 1 < segments.count else { return }
        let key = segments[app + 1]
        sockets.add("\(url.scheme)://\(RecordedURL.host(url.authority)) with the key \(key)")
        keys.add(key)
        if let port = url.port, !ports.contains(port), ports.count < 10 { ports.append(port) }
        if app > 0 { prefixes.add("/" + segments[..<app].joined(separator: "/")) }
        protocols.add(url.parameter("protocol").map { "protocol \($0)" } ?? "no protocol")
        if let client = url.parameter("client") { protocols.add("client \(client) \(url.parameter("version") ?? "")") }
        if let origin = entry.origin, RecordedURL.isOrigin(origin) { origins.add(origin) }
        guard let messages = entry.messages else { return }
        hasMessages = true
        for message in messages where message.isSent { add(message) }
        guard keys.texts.first.map({ $0.utf8.elementsEqual(key.utf8) }) == true,
            !messages.contains(where: { $0.isSent && $0.event == "pusher:signin" })
        else { return }
        for message in messages where message.isSent && message.event == "pusher:subscribe" && !message.isSigned {
            if let channel = message.channel { addUnsigned(channel) }
        }
    }

    private mutating func addUnsigned(_ channel: String) {
        guard let index = FleetRule.all.firstIndex(where: { $0.matches(channel) }) else { return }
        unsignedNames.add(channel)
        unsignedRules[index] = true
    }

    private mutating func add(_ message: RecordedMessage) {
        switch message.event {
        case "pusher:subscribe":
            guard let name = message.channel else { return }
            channels[ChannelKind(name), default: Distinct(countMax: 20)].add(name)
        case "pusher:signin": signsIn = true
        case let event where event.utf8.starts(with: "client-".utf8):
            let channel = message.channel ?? ""
            clientEvents.add("\(event) on \(channel)")
            let kind = ChannelKind(channel)
            if kind == .plain || kind == .cache { publicWhispers.add(channel) }
        default: break
        }
    }

    private mutating func addAuthorization(_ url: RecordedURL, _ entry: RecordedEntry, _ asks: RecordedEntry.Asks) {
        let what = asks == .channel ? "channels" : "users"
        let form = entry.isForm == true ? "a form" : "JSON"
        let credentials = entry.credentials.isEmpty ? "no credentials" : entry.credentials.joined(separator: ", ")
        let place = "\(url.scheme)://\(RecordedURL.host(url.authority))\(url.path)"
        authorizations.add(
            "\(what) are authorized by \(entry.method) \(place) with \(form) and \(credentials), answered \(entry.status)")
        if let origin = entry.origin, RecordedURL.isOrigin(origin) { origins.add(origin) }
    }

    // MARK: The report

    var report: MigrationReport {
        var report = MigrationReport("a browser's recording of \(entries) requests", page: "docs/migration/pusher.md")
        report.used = used
        report.differences = differences
        addApps(&report)
        return report
    }

    private var used: [String] {
        var used: [String] = []
        if sockets.isEmpty {
            used.append("no WebSocket to …/app/{key}: record from before the page is loaded, and save with its content")
        } else {
            used.append("WebSockets: \(sockets.list); \(protocols.list)")
        }
        for kind in ChannelKind.allCases {
            if let names = channels[kind] { used.append("\(kind.name): \(names.list)") }
        }
        if !sockets.isEmpty, !hasMessages {
            used.append("the recording has no messages: only Chromium's have; channels are not known")
        }
        if signsIn { used.append("pusher:signin") }
        if !clientEvents.isEmpty { used.append("client events: \(clientEvents.list)") }
        used += authorizations.texts
        if authorizations.omitted > 0 { used.append("\(authorizations.omitted) further requests for authorization") }
        if !origins.isEmpty { used.append("origins: \(origins.list)") }
        if !fallbacks.isEmpty { used.append("fallbacks over HTTP: \(fallbacks.list)") }
        return used
    }

    private var differences: [String] {
        var differences: [String] = []
        if !publicWhispers.isEmpty {
            differences.append("client events on \(publicWhispers.list) get pusher:error: rename to private-… and authorize")
        }
        if protocols.texts.contains(where: { $0 == "no protocol" }) {
            differences.append("?protocol= is missing: the connection is closed with 4008")
        }
        for text in protocols.texts
        where text.utf8.starts(with: "protocol ".utf8) && !["protocol 5", "protocol 6", "protocol 7"].contains(text) {
            differences.append("\(text) is not supported: 5, 6 or 7")
        }
        if !prefixes.isEmpty {
            differences.append(
                prefixes.count == 1
                    ? "the path begins with \(prefixes.list): server.path_prefix"
                    : "the path begins with \(prefixes.list): server.path_prefix takes one; let the proxy in front remove the others"
            )
        }
        if channels[.encrypted] != nil {
            differences.append("private-encrypted- channels: set apps[].encryption_master_key if /pusher/auth signs them")
        }
        if !authorizations.isEmpty {
            differences.append(
                "authorization stays where it is if the backend has the app's key and secret; /pusher/auth here needs a user's token"
            )
        }
        if !unsignedNames.isEmpty {
            differences.append(
                "\(unsignedNames.list): subscribed without signature or sign-in; rules for a fleet's names refuse that, unless they "
                    + "have legacy: see the end")
        }
        if !fallbacks.isEmpty { differences.append("fallbacks over HTTP do not exist: enabledTransports: [\"ws\", \"wss\"]") }
        if sendsStatistics { differences.append("statistics are not collected: disableStats: true, or no enableStats") }
        return differences + KnownDifferences.pusher
    }

    private func addApps(_ report: inout MigrationReport) {
        if let port = ports.first, ports.count == 1 {
            // 80 and 443 are a proxy's, or need the right to bind them.
            report.configuration.port = port == 443 || port == 80 ? 6_001 : port
        }
        if prefixes.count == 1, let prefix = prefixes.texts.first { report.configuration.setPathPrefix(prefix) }
        for (index, key) in (keys.isEmpty ? ["app-key"] : keys.texts).enumerated() {
            let suffix = index == 0 ? "" : "_\(index)"
            report.secrets.append(
                ("PUSHER_APP_SECRET\(suffix)", "the app's secret, which no recording has: your backend knows it"))
            var app = StarterConfiguration.App(
                id: index == 0 ? "app-id" : "app-id-\(index)", key: report.configuration.identifier(key, "the key"),
                secretVariable: "PUSHER_APP_SECRET\(suffix)")
            app.hasClientEvents = !clientEvents.isEmpty
            app.origins = origins.omitted == 0 ? origins.texts : []
            report.configuration.add(app)
        }
        report.configuration.unsignedRules = zip(FleetRule.all, unsignedRules).filter(\.1).map(\.0)
        report.configuration.note("the app's id is not in a recording: use your backend's app_id")
        if origins.omitted > 0 {
            report.configuration.note(
                "more than \(origins.texts.count) origins: allowed_origins is left out, so pages of all origins may connect")
        }
    }
}
