import Testing

@testable import Configuration

@Suite struct SafetyTests {
    /// A configuration that production accepts, in YAML.
    static let safe = [
        "server": "{host: 0.0.0.0, behind_proxy: true, trusted_proxies: [10.0.0.1]}",
        "apps": "[{id: a, key: key1, secret: \(secret)}, {id: b, key: k, secrets: [\(secret(1)), \(secret(2))]}]",
        "auth": "{jwt: {secret: \(secret(3))}, firebase: {project_id: p, require_claim: driver_id}}",
        "store": "{encryption_keys: [{id: k, key: \(key)}]}",
    ]
    static let secret = "0123456789abcdef0123456789abcdef"
    static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Others than ``secret``, as good.
    static func secret(_ number: Int) -> String { "\(number)" + secret.dropFirst() }

    /// What is refused if one section of the safe configuration, or several, is replaced.
    private func refusals(_ changes: [String: String], inProduction: Bool = true) throws -> [String] {
        try Self.settings(changes).safetyErrors(inProduction: inProduction, file: "c.yaml").map(\.description)
    }

    /// The safe configuration with other sections.
    static func settings(_ changes: [String: String]) throws -> Settings {
        let sections = Self.safe.merging(changes) { $1 }.map { "\($0): \($1)\n" }.sorted()
        return try read(sections.joined()).get()
    }

    @Test func acceptsASafeConfiguration() throws {
        #expect(try refusals([:]) == [])
        #expect(try refusals([:], inProduction: false) == [])
    }

    @Test(
        "Production names each unsafe key",
        arguments: [
            ("server", "{host: 0.0.0.0}", "server.tls"), ("server", "{host: '::'}", "server.tls"),
            ("server", "{host: gateway.example}", "server.tls"), ("server", "{host: 127.0.0.1.example}", "server.tls"),
            ("server", "{host: 0.0.0.0, proxy_protocol: true, trusted_proxies: [10.0.0.1]}", "server.tls"),
            ("apps", "[{id: a, key: k, secret: secret1}]", "apps[0].secret"),
            ("apps", "[{id: a, key: k, secret: 0123456789abcdef0123456789abcde}]", "apps[0].secret"),
            ("apps", "[{id: a, key: k, secrets: [\(secret(1)), old]}]", "apps[0].secrets[1]"),
            ("auth", "{jwt: {secret: development-secret-change-me-0123456789}}", "auth.jwt.secret"),
            ("auth", "{jwt: [{secret: \(secret(3)), issuer: i}, {secret: short, issuer: j}]}", "auth.jwt[1].secret"),
            ("auth", "{firebase: {project_id: p}}", "auth.firebase.require_claim"),
            ("channels", "[{pattern: a, access: admin}, {pattern: '*', access: open}]", "channels[1].access"),
            ("channels", "[]", "channels"), ("store", "{}", "store.encryption_keys"),
        ])
    func unsafeKey(section: String, yaml: String, key: String) throws {
        let refusals = try refusals([section: yaml])
        #expect(refusals.count == 1)
        #expect(refusals.first?.hasPrefix("c.yaml: \(key): expected ") == true, "\(refusals)")
        #expect(!refusals.joined().contains(Self.secret), "an error shows a secret")
    }

    @Test("Production names all unsafe keys of the shipped configuration at once")
    func shippedFile() throws {
        var settings = try Settings.load(file: CommittedFileTests.path, environment: [:])
        settings.server.host = "0.0.0.0"
        let keys = settings.safetyErrors(inProduction: true, file: "").map(\.key)
        #expect(keys == ["server.tls", "apps[0].secret", "auth.jwt.secret", "store.encryption_keys"])
        let secrets = settings.safetyErrors(inProduction: false, file: "").map(\.key)
        #expect(secrets == ["apps[0].secret", "auth.jwt.secret"], "development refuses the public secrets, and nothing else")
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.9.8.7", true), ("::1", true), ("localhost", true), ("LocalHost", true),
        ("::ffff:127.0.0.1", true), ("0.0.0.0", false), ("::", false), ("10.0.0.1", false), ("localhost.example", false),
    ])
    func onlyLoopbackIsSafeForDemoSecrets(host: String, isSafe: Bool) throws {
        let demo = "[{id: a, key: k, secret: secret1}]"
        #expect(try refusals(["server": "{host: '\(host)'}", "apps": demo], inProduction: false).isEmpty == isSafe)
        let production = try refusals(["server": "{host: '\(host)'}"])
        #expect(production.isEmpty == isSafe, "production permits plain connections on loopback only")
    }

    @Test func aPlainServerNeedsNothingOfTheFleet() throws {
        let server = [
            "server": "{host: 0.0.0.0, behind_proxy: true, trusted_proxies: [10.0.0.1]}",
            "auth": "{jwt: {secret: secret1}}", "store": "{}", "channels": "[]",
        ]
        #expect(try refusals(server.merging(["fleet": "{enabled: false}"]) { $1 }) == [])
        #expect(try !refusals(server).isEmpty)
    }

    @Test func openChannelsCanBeAllowed() throws {
        #expect(try refusals(["channels": "[{pattern: '*', access: open}]", "fleet": "{allow_open_channels: true}"]) == [])
        #expect(try refusals(["channels": "[]", "fleet": "{allow_open_channels: true}"]) == [])
    }

    @Test(
        "Production limits each address, unless the proxies are unknown",
        arguments: [
            ("{}", 1_000, 100), ("{connections_per_ip: 7}", 7, 100), ("{handshakes_per_ip_per_second: 7}", 1_000, 7),
            ("{behind_proxy: true}", 0, 0), ("{proxy_protocol: true}", 0, 0),
            ("{behind_proxy: true, connections_per_ip: 7}", 7, 0),
            ("{behind_proxy: true, trusted_proxies: [10.0.0.1]}", 1_000, 100),
        ])
    func limits(yaml: String, connections: Int, handshakes: Int) throws {
        var server = try read("server: \(yaml)").get().server
        server.limitAddresses()
        #expect(server.connectionsPerIP == connections && server.handshakesPerIPPerSecond == handshakes)
    }

    /// With accounts, drivers need an approval instead of a claim; the other roles need no account.
    @Test(arguments: [("driver", 0), ("customer", 1), ("admin", 1)])
    func accountsReplaceTheClaimOfDriversOnly(role: String, count: Int) throws {
        let auth = "{jwt: {secret: \(Self.secret(3))}, firebase: {project_id: p, role: \(role)}}"
        let found = try refusals(["auth": auth, "accounts": "{enabled: true}"])
        #expect(found.filter { $0.hasPrefix("c.yaml: auth.firebase.require_claim: ") }.count == count && found.count == count)
    }

    @Test func accountsAreConfigured() throws {
        #expect(try !read("").get().accounts.isEnabled)
        let settings = try read("accounts: {enabled: true, country_code: '', vehicle_number_pattern: '^[0-9]+$'}").get()
        #expect(settings.accounts.isEnabled && settings.accounts.countryCode.isEmpty)
        #expect(
            problems("accounts: {country_code: 91, vehicle_number_pattern: '['}") == [
                "c.yaml:1: accounts.country_code: expected + and 1 to 3 digits, or \"\", found \"91\"",
                "c.yaml:1: accounts.vehicle_number_pattern: expected a regular expression, found \"[\"",
            ])
    }

    @Test func requiredClaimIsAName() throws {
        #expect(try read("auth: {firebase: {require_claim: driver_id}}").get().auth.firebase.requireClaim == "driver_id")
        #expect(
            problems("auth: {firebase: {require_claim: 'a b'}}") == [
                "c.yaml:1: auth.firebase.require_claim: expected a claim's name of up to 200 printable ASCII "
                    + "characters, or \"\", found \"a b\""
            ])
    }
}
