import Configuration

/// The configuration to start with, as YAML that `check-config` accepts. It has what the file says, and otherwise relies on
/// the defaults.
struct StarterConfiguration {
    /// An application.
    struct App {
        var id: String
        var key: String
        /// The environment variable that has the secret.
        var secretVariable: String
        var isEnabled = true
        var hasClientEvents = false
        var origins: [String] = []
        /// The keys of `limits`.
        var limits: [(key: String, value: Int)] = []
        var webhooks: [(url: String, events: [String])] = []
        /// Whether webhooks are sent together.
        var batchesWebhooks = false
    }

    var port: Int?
    /// The path below which the other server is reached, such as `/ws`.
    private(set) var pathPrefix: String?
    private(set) var apps: [App] = []
    /// The seconds of a shutdown.
    var drainSeconds: Int?
    /// Paths of a certificate and its key. They are written as a comment: on this machine they may not exist.
    var certificate: (chain: String, key: String)?
    /// Rules for names of a fleet that apps subscribe to without a signature.
    var unsignedRules: [FleetRule] = []
    /// What had to be changed to be accepted here.
    private(set) var notes: [String] = []

    /// An app's id or key, which here has 1 to 64 letters, digits, `_` or `-`. Others are replaced, which is noted.
    mutating func identifier(_ text: String, _ what: String) -> String {
        let bytes = text.utf8.prefix(64).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                byte
            default: UInt8(ascii: "-")
            }
        }
        let identifier = bytes.isEmpty ? "app" : String(decoding: bytes, as: UTF8.self)
        if !identifier.utf8.elementsEqual(text.utf8) {
            notes.append(
                "\(what) \"\(Excerpt(text).text)\" becomes \"\(identifier)\": 1 to 64 letters, digits, _ or - are accepted; "
                    + "change it in the apps and backends, too")
        }
        return identifier
    }

    /// Adds an app. An id or key that another app has gets a number, which is noted.
    mutating func add(_ app: App) {
        var app = app
        app.id = unique(app.id, "id", among: apps.map(\.id))
        app.key = unique(app.key, "key", among: apps.map(\.key))
        apps.append(app)
    }

    private mutating func unique(_ text: String, _ what: String, among others: [String]) -> String {
        let taken = Set(others)
        guard taken.contains(text) else { return text }
        let prefix = String(decoding: text.utf8.prefix(58), as: UTF8.self)
        let unique = (2...(others.count + 2)).lazy.map { "\(prefix)-\($0)" }.first { !taken.contains($0) } ?? text
        notes.append("two apps have the \(what) \"\(text)\": the second is \"\(unique)\" here")
        return unique
    }

    /// A number within the range of a key. One outside becomes the nearest, which is noted.
    mutating func clamped(_ value: Int, _ range: ClosedRange<Int>, _ key: String) -> Int {
        let clamped = min(max(value, range.lowerBound), range.upperBound)
        if clamped != value {
            notes.append("\(key) is \(clamped) instead of \(value): \(range.lowerBound) to \(range.upperBound)")
        }
        return clamped
    }

    /// Sets the path below which the other server is reached. Slashes at its ends are of no meaning there. One that
    /// `server.path_prefix` does not accept is left out, which is noted.
    mutating func setPathPrefix(_ text: String) {
        let slash = UInt8(ascii: "/")
        let path = Array(text.utf8.drop { $0 == slash }.reversed().drop { $0 == slash }.reversed())
        guard !path.isEmpty else { return }
        let prefix = "/" + String(decoding: path, as: UTF8.self)
        if Settings.Server.acceptsPathPrefix(prefix) {
            pathPrefix = prefix
        } else {
            notes.append(
                "server.path_prefix cannot be \"\(Excerpt(text).text)\": it has letters, digits, _, -, . and ~, and does not begin "
                    + "with a path of the gateway; let the proxy in front remove it")
        }
    }

    mutating func note(_ text: String) { notes.append(text) }

    var yaml: String {
        var lines = ["server:", "  host: 0.0.0.0"]
        if let port { lines.append("  port: \(port)") }
        if let pathPrefix { lines.append("  path_prefix: \(Self.quoted(pathPrefix))") }
        if let drainSeconds { lines.append("  drain_seconds: \(drainSeconds)") }
        if let certificate {
            lines.append("  # tls:  # of the other server; both files must be readable here, the key without a passphrase")
            lines.append("  #   certificate: \(Self.quoted(Self.path(certificate.chain)))")
            lines.append("  #   key: \(Self.quoted(Self.path(certificate.key)))")
        }
        lines.append("apps:")
        for app in apps { lines += Self.lines(app) }
        lines.append("channels: []  # no rules: everybody may subscribe to public channels, as on the other server")
        return (lines + legacyLines).joined(separator: "\n") + "\n"
    }

    /// Rules to take instead of none, as a comment: they decide who sees the fleet's jobs, so that somebody has to want them.
    private var legacyLines: [String] {
        guard !unsignedRules.isEmpty, let app = apps.first else { return [] }
        let comments = [
            "For the fleet's own events, take these rules instead of channels: []. legacy lets the apps in that never sign, until a",
            "day such as 2027-03-31: with --production within 180 days. docs/unchanged-apps.md says what that opens.",
        ]
        let rules = unsignedRules.flatMap { $0.lines(legacyKey: Self.quoted(app.key)) }
        return (comments + ["channels:"] + rules).map { "# \($0)" }
    }

    /// A path on one line, and whole: values of a file are not longer.
    private static func path(_ text: String) -> String { Excerpt(text, lengthMax: 4_096).text }

    private static func lines(_ app: App) -> [String] {
        var lines = [
            "  - id: \(quoted(app.id))", "    key: \(quoted(app.key))", "    secret: \(quoted("${\(app.secretVariable)}"))",
        ]
        if !app.isEnabled { lines.append("    enabled: false") }
        if app.hasClientEvents { lines.append("    client_events: true") }
        if !app.origins.isEmpty { lines.append("    allowed_origins: [\(app.origins.map(quoted).joined(separator: ", "))]") }
        if !app.limits.isEmpty { lines.append("    limits:") }
        lines += app.limits.map { "      \($0.key): \($0.value)" }
        if !app.webhooks.isEmpty { lines.append("    webhooks:") }
        for webhook in app.webhooks {
            lines.append("      - url: \(quoted(webhook.url))")
            if !webhook.events.isEmpty { lines.append("        events: [\(webhook.events.joined(separator: ", "))]") }
            if app.batchesWebhooks { lines.append("        batch: true") }
        }
        return lines
    }

    /// A YAML string in double quotes (YAML 1.2 section 7.3.1). Control characters do not get here.
    private static func quoted(_ text: String) -> String {
        "\"" + text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
}
