import Testing

@testable import Configuration

@Suite struct ConfigurationErrorTests {
    /// A configuration file's text, and the lines of the error that it causes.
    struct Case: Sendable, CustomTestStringConvertible {
        let yaml: String
        let lines: [String]

        init(_ yaml: String, _ lines: String...) {
            self.yaml = yaml
            self.lines = lines
        }

        var testDescription: String { yaml.debugDescription }
    }

    static let wrongValues = [
        Case("server:\n  port: abc", "c.yaml:2: server.port: expected an integer from 0 to 65535, found \"abc\""),
        Case("server:\n  port:", "c.yaml:2: server.port: expected an integer from 0 to 65535, found nothing"),
        Case("server:\n  port: [1]", "c.yaml:2: server.port: expected an integer from 0 to 65535, found a list"),
        Case("server: {host: \"a\\nb\"}", "c.yaml:1: server.host: expected an IP address or a host name, found \"a\\nb\""),
        Case(
            "server: {path_prefix: ws}",
            "c.yaml:1: server.path_prefix: expected a path such as /ws or /realtime/v1, without a slash at the end, not below the "
                + "gateway's own such as /app, or \"\", "
                + "found \"ws\""),
        Case("server: {host: {}}", "c.yaml:1: server.host: expected an IP address or a host name, found a map"),
        Case(
            "metrics: {prefix: 9}",
            "c.yaml:1: metrics.prefix: expected lower-case letters, digits and _, not beginning with a digit, found \"9\""),
        Case("log: {level: INFO}", "c.yaml:1: log.level: expected debug, info, warning or error, found \"INFO\""),
        Case("log: {format: xml}", "c.yaml:1: log.format: expected json or text, found \"xml\""),
        Case(
            "apps: [{id: a, key: b, secret: c, limits: {over_quota_close: 04100}}]",
            "c.yaml:1: apps[0].limits.over_quota_close: expected 4100 or 4004, found \"04100\""),
        Case(
            "apps: [{id: a, key: b, secret: c, limits: {over_quota_close: 4001}}]",
            "c.yaml:1: apps[0].limits.over_quota_close: expected 4100 or 4004, found \"4001\""),
        Case("server: {behind_proxy: perhaps}", "c.yaml:1: server.behind_proxy: expected true or false, found \"perhaps\""),
        Case(
            app("secret: c, client_events: perhaps"),
            "c.yaml:1: apps[0].client_events: expected true or false, found \"perhaps\""),
        Case(
            app("secret: c, subscription_counts: 7"),
            "c.yaml:1: apps[0].subscription_counts: expected true or false, found \"7\""),
        Case(app("secret: c, tls_only: []"), "c.yaml:1: apps[0].tls_only: expected true or false, found an empty list"),
        Case("log: {format: !yes json}", "c.yaml:1: log.format: expected json or text, found a value tagged \"!yes\""),
        Case(
            "apps: [{id: a, key: b, secret: c, enabled: yes}]",
            "c.yaml:1: apps[0].enabled: expected true or false, found \"yes\""),
        Case(
            "server: {host: \(String(repeating: "-", count: 300))}",
            "c.yaml:1: server.host: expected an IP address or a host name, "
                + "found \"\(String(repeating: "-", count: 60))\"…"),
    ]

    static let wrongShapes = [
        Case("- a", "c.yaml:1: expected a map, found a list"),
        Case("hunter2", "c.yaml:1: expected a map, found a string"),
        Case("\nserver: hunter2", "c.yaml:2: server: expected a map, found a string"),
        Case("log: []", "c.yaml:1: log: expected a map, found an empty list"),
        Case("server: []", "c.yaml:1: server: expected a map, found an empty list"),
        Case("apps: {}", "c.yaml:1: apps: expected a list of at least one map, found a map"),
        Case("apps: []", "c.yaml:1: apps: expected a list of at least one map, found an empty list"),
        Case("apps:", "c.yaml:1: apps: expected a list of at least one map, found nothing"),
        Case(
            "apps:\n- a\n-", "c.yaml:2: apps[0]: expected a map, found a string",
            "c.yaml:3: apps[1]: expected a map, found nothing"),
        Case("server: {[port]: 1}", "c.yaml:1: server: expected a string as a key, found a list"),
    ]

    static let unknownKeys = [
        Case("server:\n  prot: 1", "c.yaml:2: server.prot: unknown key; did you mean server.port?"),
        Case("server:\n  prot:\n    - 1", "c.yaml:2: server.prot: unknown key; did you mean server.port?"),
        Case("sever: {port: 1}", "c.yaml:1: sever: unknown key; did you mean server?"),
        Case("port: 1", "c.yaml:1: port: unknown key; did you mean server.port?"),
        Case("Log: {}", "c.yaml:1: Log: unknown key; did you mean log?"),
        Case("log: {<<: {level: info}}", "c.yaml:1: log.\"<<\": unknown key; did you mean log?"),
        Case(
            "apps: [{id: a, key: b, secret: c, event_bytes: 5}]",
            "c.yaml:1: apps[0].event_bytes: unknown key; did you mean apps[0].limits.event_bytes?"),
        Case(app("secret: c, secrt: x"), "c.yaml:1: apps[0].secrt: unknown key; did you mean apps[0].secret?"),
        Case(
            app("secret: c, client_event: true"),
            "c.yaml:1: apps[0].client_event: unknown key; did you mean apps[0].client_events?"),
        Case(
            app("secret: c, limits: {event_byte: 1, presence_member: 1}"),
            "c.yaml:1: apps[0].limits.event_byte: unknown key; did you mean apps[0].limits.event_bytes?",
            "c.yaml:1: apps[0].limits.presence_member: unknown key; did you mean apps[0].limits.presence_members?"),
        Case(
            "log: {\"a\\nb\": 1, levle: info}", "c.yaml:1: log.\"a\\nb\": unknown key; did you mean push.apns?",
            "c.yaml:1: log.levle: unknown key; did you mean log.level?"),
    ]

    static let apps = [
        Case(
            "apps:\n- {id: a, key: b, secret: c, limits: {event_bytes: 131074, outbox_bytes: 65536}}",
            "c.yaml:2: apps[0].limits.outbox_bytes: expected at least half of event_bytes (131074), found 65536"),
        Case(
            "apps:\n- {enabled: true}", "c.yaml:2: apps[0].id: expected 1 to 64 letters, digits, _ or -, found nothing",
            "c.yaml:2: apps[0].key: expected 1 to 64 letters, digits, _ or -, found nothing",
            "c.yaml:2: apps[0]: expected either secret or secrets, found neither"),
        Case(
            "apps: [{id: a b, key: \"\", secret: \"\"}]",
            "c.yaml:1: apps[0].id: expected 1 to 64 letters, digits, _ or -, found \"a b\"",
            "c.yaml:1: apps[0].key: expected 1 to 64 letters, digits, _ or -, found \"\"",
            "c.yaml:1: apps[0].secret: expected a non-empty string, found \"\""),
        Case(
            "apps:\n- {id: 1, key: a, secret: x}\n- {id: b, key: a, secret: x}\n- {id: \"1\", key: 1, secret: x}",
            "c.yaml:3: apps[1].key: expected a unique key, found \"a\", the same as apps[0].key",
            "c.yaml:4: apps[2].id: expected a unique id, found \"1\", the same as apps[0].id"),
    ]

    static let eitherSecret = [
        Case(app("secret: x, secrets: [y]"), "c.yaml:1: apps[0]: expected either secret or secrets, found both"),
        Case(app("enabled: true"), "c.yaml:1: apps[0]: expected either secret or secrets, found neither"),
        Case(app("secret: ~"), "c.yaml:1: apps[0].secret: expected a non-empty string, found nothing"),
        Case(app("secret: [x]"), "c.yaml:1: apps[0].secret: expected a non-empty string, found a list"),
        Case(app("secrets: x"), "c.yaml:1: apps[0].secrets: expected a list of 1 to 10 strings, found a string"),
        Case(app("secrets: []"), "c.yaml:1: apps[0].secrets: expected a list of 1 to 10 strings, found an empty list"),
        Case(
            app("secrets: [\(Array(repeating: "x", count: 11).joined(separator: ", "))]"),
            "c.yaml:1: apps[0].secrets: expected a list of 1 to 10 strings, found a list of 11"),
        Case(
            "apps:\n- id: a\n  key: b\n  secrets:\n  - x\n  - \"\"\n  - {y: z}",
            "c.yaml:6: apps[0].secrets[1]: expected a non-empty string, found \"\"",
            "c.yaml:7: apps[0].secrets[2]: expected a non-empty string, found a map"),
    ]

    static let origin =
        "expected \"*\", \"file://\" or an origin such as https://example.com:8443 or https://*.example.com; not \"null\", "
        + "because every sandboxed page and local file has that origin"
    static let origins = [
        Case(
            app("secret: x, allowed_origins: []"),
            "c.yaml:1: apps[0].allowed_origins: expected a list of at least one string, found an empty list"),
        Case(
            app("secret: x, allowed_origins: '*'"),
            "c.yaml:1: apps[0].allowed_origins: expected a list of at least one string, found a string"),
        Case(
            app("secret: x, allowed_origins: ['*', example.com, https://a/b, ~, 'null', 'https://a//', 'file://x']"),
            "c.yaml:1: apps[0].allowed_origins[1]: \(origin), found \"example.com\"",
            "c.yaml:1: apps[0].allowed_origins[2]: \(origin), found \"https://a/b\"",
            "c.yaml:1: apps[0].allowed_origins[3]: \(origin), found nothing",
            "c.yaml:1: apps[0].allowed_origins[4]: \(origin), found \"null\"",
            "c.yaml:1: apps[0].allowed_origins[5]: \(origin), found \"https://a//\"",
            "c.yaml:1: apps[0].allowed_origins[6]: cannot read \"//x\": No such file or directory"),
        Case(app("secret: x, allowed_origins: [{}]"), "c.yaml:1: apps[0].allowed_origins[0]: \(origin), found a map"),
    ]

    static let tlsFiles = [
        Case(
            "server:\n  tls:\n    certificate: c.pem",
            "c.yaml:2: server.tls.key: expected a file's path, required with server.tls.certificate, found nothing"),
        Case(
            "server:\n  tls:\n    certificate: ''\n    key: c.pem",
            "c.yaml:3: server.tls.certificate: expected a file's path, required with server.tls.key, found nothing"),
        Case(
            "server: {tls: {certificate: c.pem, key: tls/k.pem}}",
            "c.yaml:1: server.tls.key: cannot read \"tls/k.pem\": No such file or directory"),
        Case(
            "server: {tls: {certificate: c.pem, key: [k.pem]}}",
            "c.yaml:1: server.tls.key: expected a file's path, found a list"),
        Case(
            "server: {tls: {certificate: none.pem}}",
            "c.yaml:1: server.tls.certificate: cannot read \"none.pem\": No such file or directory"),
        Case(
            "server: {tls: [{certificate: c.pem, key: c.pem}, {certificate: c.pem}]}",
            "c.yaml:1: server.tls[1].key: expected a file's path, found nothing"),
        Case(
            "server: {tls: [{certificate: c.pem, key: c.pem}, {certificate: '', key: ''}]}",
            "c.yaml:1: server.tls[1].certificate: expected a file's path, found \"\"",
            "c.yaml:1: server.tls[1].key: expected a file's path, found \"\""),
    ]

    /// An app with all required keys except its secret.
    private static func app(_ rest: String) -> String {
        "apps: [{id: a, key: b, \(rest)}]"
    }

    static let invalidYAML = [
        Case(
            "log: {}\nserver: {port: 1\n",
            "c.yaml:3: not valid YAML: while parsing a flow mapping (line 2), did not find expected ',' or '}'"),
        Case(
            "log: {}\n\tport: 1",
            "c.yaml:2: not valid YAML: while scanning for the next token (line 2), "
                + "found character that cannot start any token"),
        Case("log: {}\n\u{1}", "c.yaml:2: not valid YAML: control characters are not allowed"),
        Case(
            "log: {}\n---\nlog: {}",
            "c.yaml:2: not valid YAML: expected a single document in the stream (line 1), but found another document"),
        Case("log: *missing", "c.yaml:1: not valid YAML: found undefined alias"),
        Case(
            "log: {}\nserver:\n  port: 1\n  port: 2",
            "c.yaml:3: expected each key of a map once, found \"port\" more than once"),
    ]

    @Test(
        "An error names its location, what was expected and what was found",
        arguments: wrongValues + wrongShapes + unknownKeys + apps + eitherSecret + origins + tlsFiles + invalidYAML)
    func error(_ example: Case) {
        #expect(problems(example.yaml, files: ["c.pem": ""]) == example.lines)
    }

    @Test("All problems are reported at once, in the order of the file, then of the environment")
    func all() {
        let yaml = """
            log: {level: loud}
            apps:
              - {id: a, key: a, secret: a, limits: {event_bytes: 0}}
            server:
              prot: 1
              loops: 65
            """
        #expect(
            problems(yaml, ["FLEETWIRE_SERVER_PORT": "x", "FLEETWIRE_NOTHING": ""]) == [
                "c.yaml:1: log.level: expected debug, info, warning or error, found \"loud\"",
                "c.yaml:3: apps[0].limits.event_bytes: expected an integer from 1 to 1048576, found \"0\"",
                "c.yaml:5: server.prot: unknown key; did you mean server.port?",
                "c.yaml:6: server.loops: expected an integer from 0 to 64, found \"65\"",
                "FLEETWIRE_SERVER_PORT: expected an integer from 0 to 65535, found \"x\"",
                "FLEETWIRE_NOTHING: unknown variable; did you mean FLEETWIRE_FLEET_APP?",
            ])
    }

    @Test("An unreadable TLS file is reported at its variable; a missing TLS path is reported in the configuration file")
    func tlsVariables() {
        #expect(
            problems("server: {}", ["FLEETWIRE_SERVER_TLS_KEY": "none"])
                == ["FLEETWIRE_SERVER_TLS_KEY: cannot read \"none\": No such file or directory"])
        #expect(
            problems("log: {}", ["FLEETWIRE_SERVER_TLS_KEY": "k.pem"], files: ["k.pem": ""])
                == ["c.yaml:1: server.tls.certificate: expected a file's path, required with server.tls.key, found nothing"])
    }

    @Test("The environment is checked even if the file is not YAML")
    func invalidYAMLAndVariable() {
        #expect(problems("{", ["FLEETWIRE_LOG_LEVEL": "x"]).count == 2)
    }

    @Test("At most 100 problems are reported")
    func many() {
        #expect(problems((0..<1_000).map { "k\($0): 1" }.joined(separator: "\n")).count == SettingsReader.problemsMax)
        let apps = String(repeating: "- {}\n", count: 1_000)
        #expect(problems("apps:\n" + apps).count == SettingsReader.problemsMax)
    }

    /// Each case contains a part of the only line of its error. Nothing of the secret `hunter2` may be in that line.
    @Test(
        "No error shows a secret",
        arguments: [
            Case("metrics: {token: hunter2 hunter2}", "found a value of 15 characters"),
            Case("metrics: {token: é}", "found a value of 1 character"),
            Case("metrics: {token: \"file:key\"}", "found a value of 7 characters"),
            Case("metrics: {token: \"hunter2${\"}", "expected a variable's name and } after ${"),
            Case("metrics: {token: \"${hunter2 }\"}", "write $${ for a literal ${"),
            Case("server: {port: \"${PASSWORD}\"}", "found \"${PASSWORD}\", a value of 7 characters"),
            Case("log: {level: \"file:password\"}", "found \"file:password\", a value of 7 characters"),
            Case("apps: [{id: a, key: a, secret: {hunter2: 1}}]", "found a map"),
            Case("apps: [{id: a, key: a, secrets: [{hunter2: 1}]}]", "found a map"),
            Case("apps: [{id: a, key: a, secrets: hunter2}]", "found a string"),
            Case("apps: [{id: a, key: a, secret: hunter2, secrets: [hunter2]}]", "found both"),
            Case("apps: [{id: a, key: a, secret: a, allowed_origins: [\"${PASSWORD}\"]}]", "a value of 7 characters"),
            Case("server: {tls: {key: \"file:password\"}}", "cannot read \"file:password\", a value of 7 characters"),
            Case("apps: [{id: a, key: a, secret: 'hunter2\n", "not valid YAML"),
        ])
    func secrets(_ example: Case) {
        let lines = problems(
            example.yaml, ["PASSWORD": "hunter2"], files: ["key": "hunt\ter", "password": "hunter2\n"])
        #expect(lines.count == 1)
        #expect(lines.contains { $0.contains(example.lines[0]) }, "\(lines)")
        #expect(!lines.contains { $0.contains("hunt") }, "\(lines)")
    }

    @Test("An error does not show an invalid secret from the environment")
    func secretVariable() {
        #expect(
            problems("", ["FLEETWIRE_METRICS_TOKEN": "hunter 2"])
                == ["FLEETWIRE_METRICS_TOKEN: expected printable ASCII without spaces, or \"\", found a value of 8 characters"])
    }
}
