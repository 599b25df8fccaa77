import Testing

@testable import Configuration

/// The table "What --production refuses" of docs/operations.md, line by line.
@Suite struct ProductionTests {
    /// A change of the safe configuration, the key that production then refuses, and what the error must say.
    struct Case: Sendable, CustomTestStringConvertible {
        let section: String
        let yaml: String
        let key: String
        let words: [String]

        init(_ section: String, _ yaml: String, _ key: String, _ words: String...) {
            (self.section, self.yaml, self.key, self.words) = (section, yaml, key, words)
        }

        var testDescription: String { "\(section): \(yaml)" }
    }

    private static let (secret, key) = (SafetyTests.secret, SafetyTests.key)
    private static func app(_ more: String) -> String { "[{id: a, key: k, secret: \(secret), \(more)}]" }
    private static func store(_ url: String) -> String { "{url: '\(url)', encryption_keys: [{id: k, key: \(key)}]}" }
    private static let database = store("postgresql:///f")
    private static let zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    /// 32 bytes, of which 15 are different ones.
    private static let fewBytes = "AQIDBAUGBwgJCgsMDQ4PAQECAwQFBgcICQoLDA0ODwE="

    static let transports = [
        Case("server", "{host: 0.0.0.0}", "server.tls", "expected a certificate"),
        Case("server", "{host: 0.0.0.0, behind_proxy: true}", "server.trusted_proxies", "found none", "private network"),
        Case("metrics", "{token: 0123456789abcde}", "metrics.token", "at least 16 bytes, found 15"),
        Case("metrics", "{token: 0123456012345601}", "metrics.token", "at least 8 different bytes, found 7"),
        Case("apps", app("webhooks: [{url: 'http://10.0.0.1/x'}]"), "apps[0].webhooks[0].url", "expected https", "allow_private"),
        Case(
            "apps", app("webhooks: [{url: 'https://e/'}, {url: 'http://localhost.example/'}]"), "apps[0].webhooks[1].url", "https"
        ),
    ]
    static let secrets = [
        Case("apps", "[{id: a, key: k, secret: secret1}]", "apps[0].secret", "public in the shipped"),
        Case(
            "apps", "[{id: a, key: k, secret: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]", "apps[0].secret", "8 different bytes, found 1"),
        Case("apps", "[{id: a, key: k, secret: 01234560123456012345601234560123}]", "apps[0].secret", "found 7"),
        Case("apps", "[{id: a, key: k, secret: change-me-change-me-change-me-change-me}]", "apps[0].secret", "change-me"),
        Case("apps", "[{id: a, key: k, secret: 'My_Secret_0123456789-0123456789!'}]", "apps[0].secret", "the word secret"),
        Case("apps", "[{id: a, key: k, secret: example9example9abcdefgh01234567}]", "apps[0].secret", "the word example"),
        Case("apps", "[{id: a, key: k, secret: PASSWORD-0123456789abcdefghijklm}]", "apps[0].secret", "the word password"),
        Case("apps", "[{id: a, key: k, secrets: [\(secret), \(secret)]}]", "apps[0].secrets[1]", "that of apps[0].secrets[0]"),
        Case("auth", "{jwt: {secret: \(secret)}}", "auth.jwt.secret", "that of apps[0].secret", "rights of both"),
        Case("auth", "{session: {secret: \(secret)}}", "auth.session.secret", "that of apps[0].secret"),
        Case("metrics", "{token: \(secret)}", "metrics.token", "that of apps[0].secret"),
        Case(
            "apps", "[{id: a, key: k, secret: \(secret)}, {id: b, key: l, secret: \(secret)}]", "apps[1].secret",
            "that of apps[0].secret"),
        Case("apps", app("encryption_master_key: \(zeros)"), "apps[0].encryption_master_key", "16 different bytes, found 1"),
        Case("store", "{encryption_keys: [{id: k, key: \(zeros)}]}", "store.encryption_keys[0].key", "found 1"),
        Case("store", "{encryption_keys: [{id: k, key: \(fewBytes)}]}", "store.encryption_keys[0].key", "found 15"),
        Case(
            "apps", app("encryption_master_key: \(key)"), "store.encryption_keys[0].key", "that of apps[0].encryption_master_key"),
        Case("store", "{}", "store.encryption_keys", "development key"),
        Case(
            "auth", "{introspection: {url: 'https://i', client_id: c, client_secret: aaaabbbb}}",
            "auth.introspection.client_secret", "8 different bytes, found 2"),
    ]
    static let databases = [
        "postgresql://u:p@db.example.com/f", "postgresql://db.example.com/f?sslmode=require",
        "postgresql://10.0.0.1/f?sslmode=prefer", "postgres://127.0.0.1,db/f", "postgresql:///f?host=db.example",
        "postgresql://localhost/f?hostaddr=10.0.0.1", "postgresql://u@[2001:db8::1]:5432/f",
        "postgresql://db/f?sslmode=verify-full&sslmode=disable", "postgresql://u:x?sslmode=verify-full@db/f",
        "postgresql://u:p@db?application_name=localhost",
    ].map { Case("store", store($0), "store.url", "sslmode=verify-full", "found ") }
    static let origins = [
        "https://*.com", "https://*.co.uk:8443", "http://*.localhost", "https://*.VERCEL.app", "https://*.com.au",
        "https://*.github.io/", "https://*.co.uk:8443/",
    ]
    .map { Case("apps", app("allowed_origins: ['https://a.example', '\($0)']"), "apps[0].allowed_origins[1]", "found \"\($0)\"") }
    static let signIns = [
        Case("channels", "[]", "channels", "expected a rule"),
        Case("channels", "[{pattern: '*', access: open}]", "channels[0].access", "found open"),
        Case("auth", "{firebase: {project_id: p}}", "auth.firebase.require_claim", "expected a claim"),
    ]

    @Test(arguments: transports + secrets + databases + origins + signIns)
    func isRefused(_ refused: Case) throws {
        let errors = try SafetyTests.settings(base(refused)).safetyErrors(inProduction: true, file: "c.yaml")
        #expect(errors.map(\.key) == [refused.key])
        for word in refused.words { #expect(errors.first?.problem.contains(word) == true, "\(errors)") }
        #expect(!errors.map(\.description).joined().contains(Self.secret), "an error shows a secret")
    }

    /// One app, and no other section with a secret, so that each case has one error.
    private func base(_ changed: Case) -> [String: String] {
        ["apps": "[{id: a, key: k, secret: \(Self.secret)}]", "auth": "{}"].merging([changed.section: changed.yaml]) { $1 }
    }

    @Test(arguments: [
        ("nats://10.0.0.1:4222", "user: u", ["cluster.nats"]), ("nats://10.0.0.1:4222", "", ["cluster.nats", "cluster.user"]),
        ("tls://10.0.0.1:4222", "", ["cluster.user"]), ("tls://nats.example", "token: 9rP2vX7qLm4s", []),
        ("nats://127.0.0.1.example:1", "user: u", ["cluster.nats"]), ("nats://[2001:db8::1]:1", "user: u", ["cluster.nats"]),
        ("nats://127.0.0.1:4222", "", []), ("nats://[::1]:4222", "", []), ("nats://localhost", "", []),
        ("nats://10.0.0.1:4222", "allow_plain: true", []),
        ("nats://10.0.0.1", "user: u, password: aaaa, allow_plain: true", ["cluster.password"]),
    ])
    func busIsEncryptedAndSignedInTo(url: String, more: String, keys: [String]) throws {
        let cluster = "{nats: ['\(url)'], \(more)}"
        let settings = try SafetyTests.settings(["store": Self.database, "cluster": cluster])
        #expect(settings.safetyErrors(inProduction: true, file: "").map(\.key) == keys)
    }

    @Test(
        "What is almost refused is accepted",
        arguments: [
            ("server", "{host: 127.0.0.1, behind_proxy: true}"), ("server", "{host: 127.0.0.1}"),
            ("metrics", "{token: 0123456701234567}"), ("apps", app("webhooks: [{url: 'http://10.0.0.1/', allow_private: true}]")),
            ("apps", app("webhooks: [{url: 'http://127.0.0.1:9/x'}]")),
            ("apps", "[{id: a, key: k, secret: supersecretive-0123456789abcdefgh}]"),
            ("apps", app("allowed_origins: ['https://*.example.com', 'https://*.example.co.uk', 'https://com', '*']")),
            ("store", store("postgresql:///f")), ("store", store("postgresql://u:p@127.0.0.1:5432/f")),
            ("store", store("postgresql://%2Frun%2Fpostgresql/f")), ("store", store("postgresql://localhost/f?host=/run")),
            ("store", store("postgresql://db/f?sslmode=verify-ca")),
            ("store", store("postgresql://a:b%40c@db/f?sslmode=verify-full&x=1")),
            ("store", store("postgresql://[::1]/f")), ("store", store("postgresql://u:p?x@localhost/f")),
        ])
    func isAccepted(section: String, yaml: String) throws {
        let errors = try SafetyTests.settings(base(Case(section, yaml, ""))).safetyErrors(inProduction: true, file: "")
        #expect(errors == [])
    }

    // MARK: Equal secrets

    /// Every two of all secrets.
    @Test func anyTwoEqualSecretsAreNamed() throws {
        let places = [
            "apps[0].secrets[0]", "apps[0].secrets[1]", "apps[1].secret", "auth.jwt[0].secret", "auth.jwt[1].secret",
            "auth.session.secrets[0]", "auth.session.secrets[1]", "otp.sms.secret", "cluster.password", "cluster.token",
            "metrics.token",
        ]
        for (first, other) in places.enumerated() {
            for (second, place) in places.enumerated().dropFirst(first + 1) {
                var values = places.indices.map { "\($0)-\(SafetyTests.secret)" }
                values[second] = values[first]
                let settings = try Self.settings(values)
                let found = settings.equalSecrets
                #expect(found.map(\.key) == [place] && found.map(\.other) == [other])
                let errors = settings.safetyErrors(inProduction: true, file: "").filter { $0.key == place }
                #expect(errors.count == 1, "\(place) and \(other)")
                #expect(settings.safetyErrors(inProduction: false, file: "") == [], "development only warns")
            }
        }
        #expect(try Self.settings(places.indices.map { "\($0)-\(SafetyTests.secret)" }).equalSecrets.isEmpty)
    }

    private static func settings(_ values: [String]) throws -> Settings {
        try read(
            """
            apps: [{id: a, key: k, secrets: [\(values[0]), \(values[1])]}, {id: b, key: l, secret: \(values[2])}]
            auth:
              jwt: [{secret: \(values[3]), issuer: i}, {secret: \(values[4]), issuer: j}]
              session: {secrets: [\(values[5]), \(values[6])]}
            otp: {enabled: true, issuer: i, countries: ["+44"], sms: {url: 'https://s', secret: \(values[7])}}
            store: \(database)
            cluster: {nats: ['nats://127.0.0.1'], password: \(values[8]), token: \(values[9])}
            metrics: {token: \(values[10])}
            """
        ).get()
    }

    @Test func secretsOfWhatIsOffDoNotCount() throws {
        let settings = try SafetyTests.settings([
            "otp": "{enabled: false, sms: {secret: \(Self.secret)}}", "cluster": "{password: \(Self.secret)}",
        ])
        #expect(settings.equalSecrets.isEmpty && settings.safetyErrors(inProduction: true, file: "") == [])
    }

    // MARK: The document

    @Test("docs/operations.md lists the keys that production refuses, and no others")
    func document() throws {
        let cases = Self.transports + Self.secrets + Self.databases + Self.origins + Self.signIns
        let others = [
            "cluster.nats", "cluster.user", "cluster.password", "cluster.token", "otp.countries", "otp.sms.url", "otp.sms.secret",
            "file:",
        ]
        let refused = Set(cases.map { Self.withoutIndex($0.key) } + others)
        let section = try #require(try Self.section("### What --production refuses"))
        #expect(Self.keys(inTable: section) == refused.filter { !$0.hasSuffix("secrets[]") })
        // An empty line would end the table: what follows would be shown as text.
        #expect(section.matches(of: /\n\n\|/).count == 1, "the section has one table")
    }

    @Test("docs/operations.md lists the keys that production advises on, and no others")
    func adviceInTheDocument() throws {
        let section = try #require(try Self.section("### What --production advises"))
        #expect(Self.keys(inTable: section) == Set(AdviceTests.cases.map { Self.withoutIndex($0.key) } + ["file:"]))
    }

    private static func withoutIndex(_ key: String) -> String { key.replacing(/\[[0-9]+\]/, with: "[]") }

    private static func section(_ heading: String) throws -> Substring? {
        let path = CommittedFileTests.path.replacing("config/fleetwire.yaml", with: "docs/operations.md")
        let text = try TextFile.content(of: path)
        guard let start = text.firstRange(of: heading + "\n") else { return nil }
        let rest = text[start.upperBound...]
        return rest[..<(rest.firstRange(of: "\n#")?.lowerBound ?? rest.endIndex)]
    }

    /// The words in backticks of the first column.
    private static func keys(inTable section: Substring) -> Set<String> {
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let cells = rows.compactMap { $0.split(separator: "|").first }
        return Set(cells.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } })
    }
}
