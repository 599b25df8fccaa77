import Testing

@testable import Configuration

@Suite struct AdviceTests {
    /// A configuration without advice.
    private static let advised = [
        "apps": app("allowed_origins: ['https://a.example'], tls_only: true"),
        "auth": "{jwt: {secret: \(SafetyTests.secret(1)), issuer: i, audience: a}}",
        "channels": "[{pattern: 'driver-*', access: own-driver}, {pattern: '*', access: admin}]",
        "metrics": "{token: \(SafetyTests.secret(2))}",
    ]
    private static func app(_ more: String) -> String { "[{id: a, key: k, secret: \(SafetyTests.secret), \(more)}]" }

    private static func advice(_ changes: [String: String]) throws -> [ConfigurationError] {
        try SafetyTests.settings(advised.merging(changes) { $1 }).productionAdvice(file: "c.yaml")
    }

    @Test func aConfigurationThatFollowsTheChecklistHasNone() throws {
        #expect(try Self.advice([:]) == [])
        #expect(try Self.advice(["auth": "{}"]) == [], "an issuer without a key accepts no token")
        #expect(
            try Self.advice(["channels": "[]", "fleet": "{allow_open_channels: true}"]).map(\.key) == [
                "fleet.allow_open_channels"
            ])
    }

    /// The checklist's lines: a section, and the key that is advised on.
    static let cases: [(section: String, yaml: String, key: String)] = [
        ("auth", "{jwt: {secret: \(SafetyTests.secret(1)), audience: a}}", "auth.jwt.issuer"),
        ("auth", "{jwt: {secret: \(SafetyTests.secret(1)), issuer: i}}", "auth.jwt.audience"),
        ("apps", app("tls_only: true"), "apps[0].allowed_origins"),
        ("apps", app("allowed_origins: ['https://a.example']"), "apps[0].tls_only"),
        ("apps", app("client_events: true, tls_only: true"), "apps[0].client_events"),
        ("channels", "[{pattern: 'driver-*', access: own-driver}]", "channels"),
        ("fleet", "{allow_open_channels: true}", "fleet.allow_open_channels"),
        ("console", "{tile_url: 'http://t/{z}/{x}/{y}'}", "console.tile_url"),
        ("metrics", "{token: ''}", "metrics.token"), ("log", "{level: debug}", "log.level"),
        ("server", "{host: 127.0.0.1, core_dumps: true}", "server.core_dumps"),
        ("server", "{host: 127.0.0.1, watchdog_seconds: 0}", "server.watchdog_seconds"),
        ("cluster", "{nats: ['nats://10.0.0.1'], allow_plain: true}", "cluster.allow_plain"),
    ]

    @Test(arguments: cases) func names(section: String, yaml: String, key: String) throws {
        let database = ["store": "{url: 'postgresql:///f', encryption_keys: [{id: k, key: \(SafetyTests.key)}]}"]
        let advice = try Self.advice(database.merging([section: yaml]) { $1 })
        let others = key.hasSuffix("client_events") ? ["apps[0].allowed_origins"] : []
        #expect(advice.map(\.key) == [key] + others)
        #expect(advice.allSatisfy { !$0.problem.isEmpty && $0.file == "c.yaml" })
    }

    @Test func withoutTLSNothingIsSaidOfTLSOnly() throws {
        #expect(
            try Self.advice(["server": "{host: 127.0.0.1}", "apps": Self.app("allowed_origins: ['https://a.example']")]) == [])
    }
}
