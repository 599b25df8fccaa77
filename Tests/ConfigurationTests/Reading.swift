import Testing

@testable import Configuration

/// Reads YAML as the file `c.yaml`. Returns the settings or the error. `files` are the contents of the files that the
/// YAML may name, by path.
func read(
    _ yaml: String, _ environment: [String: String] = [:], files: [String: String] = [:]
) -> Result<Settings, ConfigurationErrors> {
    Result { () throws(ConfigurationErrors) in
        try Settings.parse(yaml, file: "c.yaml", environment: environment) { path throws(UnreadableFile) in
            guard let content = files[path] else { throw UnreadableFile(reason: "No such file or directory") }
            return content
        }
    }
}

/// The lines of the error that the YAML causes; empty if it is valid.
func problems(
    _ yaml: String, _ environment: [String: String] = [:], files: [String: String] = [:]
) -> [String] {
    switch read(yaml, environment, files: files) {
    case .success: []
    case .failure(let error): error.description.split(separator: "\n").map(String.init)
    }
}

/// A configuration key whose value is an integer: its path, its value in the settings, and its range.
struct IntegerKey: Sendable, CustomTestStringConvertible {
    let path: String
    let value: @Sendable (Settings) -> Int
    let range: ClosedRange<Int>

    var testDescription: String { path }

    /// A file that sets this key to `number`, and nothing else except the required keys of an app.
    func yaml(_ number: String) -> String {
        let parts = path.split(separator: ".")
        let inner = parts.dropFirst().reversed().reduce(number) { "{\($1): \($0)}" }
        guard parts[0] == "apps[0]" else { return "\(parts[0]): \(inner)" }
        return "apps: [{id: a, key: a, secret: a, \(inner.dropFirst().dropLast())}]"
    }

    static let outsideLists = [
        IntegerKey(path: "server.port", value: { $0.server.port }, range: 0...65_535),
        IntegerKey(path: "server.loops", value: { $0.server.loops }, range: 0...64),
        IntegerKey(path: "server.drain_seconds", value: { $0.server.drainSeconds }, range: 0...300),
        IntegerKey(path: "server.activity_seconds", value: { $0.server.activitySeconds }, range: 1...3_600),
        IntegerKey(path: "server.connections", value: { $0.server.connections }, range: 1...1_000_000),
        IntegerKey(path: "server.head_bytes", value: { $0.server.headBytes }, range: 4_096...65_536),
        IntegerKey(path: "store.pool", value: { $0.store.pool }, range: 1...64),
        IntegerKey(path: "fleet.open_days", value: { $0.fleet.openDays }, range: 0...3_650),
        IntegerKey(path: "store.retention_days", value: { $0.store.retentionDays }, range: 1...3_650),
        IntegerKey(path: "push.apns.port", value: { $0.push.apns.port }, range: 1...65_535),
        IntegerKey(
            path: "auth.introspection.cache_seconds", value: { $0.auth.introspection.cacheSeconds }, range: 0...3_600),
        IntegerKey(
            path: "auth.introspection.timeout_ms", value: { $0.auth.introspection.timeoutMilliseconds }, range: 100...10_000),
        IntegerKey(path: "push.stale_days", value: { $0.push.staleDays }, range: 1...3_650),
    ]
    static let limits = [
        limit("event_bytes", 1...1_048_576) { $0.limits.eventBytes },
        limit("channels_per_event", 1...1_000) { $0.limits.channelsPerEvent },
        limit("name_length", 1...200) { $0.limits.nameLength },
        limit("message_bytes", 1_024...16_777_216) { $0.limits.messageBytes },
        limit("outbox_bytes", 65_536...1_073_741_824) { $0.limits.outboxBytes },
        limit("connections", 0...1_000_000) { $0.limits.connections },
        limit("subscriptions", 1...100_000) { $0.limits.subscriptions },
        limit("channels", 0...10_000_000) { $0.limits.channels },
        limit("app_subscriptions", 0...100_000_000) { $0.limits.appSubscriptions },
        limit("batch_events", 1...1_000) { $0.limits.batchEvents },
        limit("presence_members", 1...100_000) { $0.limits.presenceMembers },
        limit("presence_info_bytes", 0...65_536) { $0.limits.presenceInfoBytes },
        limit("client_events_per_second", 1...1_000) { $0.limits.clientEventsPerSecond },
        limit("commands_per_second", 0...100_000) { $0.limits.commandsPerSecond },
        limit("messages_per_second", 0...100_000) { $0.limits.messagesPerSecond },
        limit("auth_requests_per_second", 0...100_000) { $0.fleetLimits.authRequestsPerSecond },
        limit("fleet_commands_per_second", 0...100_000) { $0.fleetLimits.commandsPerSecond },
        limit("fleet_commands_waiting", 1...4_096) { $0.fleetLimits.commandsWaiting },
        limit("fleet_queries_per_second", 0...100_000) { $0.fleetLimits.queriesPerSecond },
        limit("fleet_queries_waiting", 1...4_096) { $0.fleetLimits.queriesWaiting },
        limit("cache_bytes", 0...1_073_741_824) { $0.limits.cacheBytes },
    ]

    private static func limit(
        _ key: String, _ range: ClosedRange<Int>, _ value: @escaping @Sendable (Settings.App) -> Int
    ) -> IntegerKey {
        IntegerKey(path: "apps[0].limits.\(key)", value: { value($0.apps[0]) }, range: range)
    }
}
