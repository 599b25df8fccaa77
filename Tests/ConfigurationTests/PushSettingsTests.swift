import Fleet
import Testing

@testable import Configuration

@Suite struct PushSettingsTests {
    static let key = "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n"
    static let account = "{\"private_key\":\"hunter2\"}\n"
    static let files = ["k.p8": key, "certs/k.p8": key, "s.json": account, "ca.pem": "authorities", "text": "hunter2"]

    /// The push settings of a file that sets `push` to this map.
    private func push(_ map: String, _ environment: [String: String] = [:]) throws -> Settings.Push {
        try read("push: \(map)", environment, files: Self.files).get().push
    }

    /// The lines of the error that this value of `push` causes.
    private func lines(_ map: String) -> [String] {
        problems("push: \(map)", ["PASSWORD": "text"], files: Self.files)
    }

    @Test("By default no provider is enabled")
    func defaults() throws {
        let push = Settings().push
        #expect(push.mode == .mirror)
        #expect(push.staleDays == 270)
        #expect(!push.apns.enabled && !push.fcm.enabled)
        #expect(push.apns.host == "api.push.apple.com")
        #expect(push.apns.sandboxHost == "api.sandbox.push.apple.com")
        #expect(push.apns.port == 443 && push.apns.sandboxPort == 443)
        #expect(push.fcm.baseURL == "https://fcm.googleapis.com")
        for map in ["", "{}", "{apns: {}, fcm: ~}", "{apns: {enabled: false}, fcm: {enabled: false}}"] {
            #expect(try self.push(map) == push)
        }
    }

    @Test("Every key sets its field; a key that names a file also sets the field with the file's content")
    func everyKey() throws {
        let map = """
            {mode: fallback, stale_days: 30,
              apns: {enabled: true, host: a.example, sandbox_host: b.example, port: 2197, sandbox_port: 8443,
                team_id: ABCDE12345, key_id: 0123456789, key_file: certs/k.p8, topic: com.example.fleet-Driver, ca_file: ca.pem},
              fcm: {enabled: true, service_account_file: s.json, base_url: "https://localhost:9443", ca_file: ca.pem}}
            """
        var expected = Settings.Push()
        expected.mode = .fallback
        expected.staleDays = 30
        expected.apns.enabled = true
        expected.apns.host = "a.example"
        expected.apns.sandboxHost = "b.example"
        expected.apns.port = 2197
        expected.apns.sandboxPort = 8443
        expected.apns.teamID = "ABCDE12345"
        expected.apns.keyID = "0123456789"
        expected.apns.keyFile = "certs/k.p8"
        expected.apns.key = Self.key
        expected.apns.topic = "com.example.fleet-Driver"
        expected.apns.caFile = "ca.pem"
        expected.apns.authorities = "authorities"
        expected.fcm.enabled = true
        expected.fcm.serviceAccountFile = "s.json"
        expected.fcm.serviceAccount = Self.account
        expected.fcm.baseURL = "https://localhost:9443"
        expected.fcm.caFile = "ca.pem"
        expected.fcm.authorities = "authorities"
        #expect(try push(map) == expected)
    }

    @Test("File paths are absolute or relative to the configuration file")
    func relative() throws {
        let yaml = """
            push:
              apns: {enabled: true, team_id: ABCDE12345, key_id: ABCDE12345, key_file: k.p8, topic: t, ca_file: /ca.pem}
              fcm: {service_account_file: s.json, ca_file: ../ca.pem}
            """
        let settings = try Settings.parse(yaml, file: "/etc/fleet/c.yaml") { path throws(UnreadableFile) in
            guard ["/etc/fleet/k.p8", "/ca.pem"].contains(path) else { throw UnreadableFile(reason: "no \(path)") }
            return Self.key
        }
        #expect(settings.push.apns.keyFile == "/etc/fleet/k.p8")
        #expect(settings.push.apns.caFile == "/ca.pem")
        #expect(settings.push.fcm.serviceAccountFile == "/etc/fleet/s.json")
        #expect(settings.push.fcm.caFile == "/etc/fleet/../ca.pem")
    }

    @Test("sandbox_port defaults to port")
    func sandboxPort() throws {
        #expect(try push("{apns: {port: 2197}}").apns.sandboxPort == 2197)
        #expect(try push("{apns: {port: 2197, sandbox_port: 0}}").apns.sandboxPort == 2197)
        #expect(try push("{apns: {port: 2197, sandbox_port: 443}}").apns.sandboxPort == 443)
        #expect(try push("{apns: {sandbox_port: 65535}}").apns.sandboxPort == 65_535)
        #expect(try push("{}", ["FLEETWIRE_PUSH_APNS_PORT": "2197"]).apns.sandboxPort == 2197)
        #expect(
            lines("{apns: {sandbox_port: 65536}}")
                == ["c.yaml:1: push.apns.sandbox_port: expected an integer from 0 to 65535, found \"65536\""])
    }

    @Test("Files of a disabled provider are not read")
    func disabled() throws {
        let push = try push("{apns: {key_file: gone.p8, ca_file: gone.pem}, fcm: {service_account_file: gone.json}}")
        #expect(push.apns.keyFile == "gone.p8")
        #expect(push.apns.caFile == "gone.pem")
        #expect(push.fcm.serviceAccountFile == "gone.json")
        #expect(push.apns.key == "" && push.fcm.serviceAccount == "")
    }

    @Test("Every mode is accepted", arguments: NotificationCatalogue.PushMode.allCases)
    func mode(mode: NotificationCatalogue.PushMode) throws {
        #expect(try push("{mode: \(mode.rawValue)}").mode == mode)
    }

    // MARK: Errors

    typealias Case = ConfigurationErrorTests.Case

    static let missing = [
        Case(
            "\n  fcm: {}\n  apns:\n    enabled: true",
            "c.yaml:3: push.apns.team_id: expected 10 upper-case letters or digits, found nothing",
            "c.yaml:3: push.apns.key_id: expected 10 upper-case letters or digits, found nothing",
            "c.yaml:3: push.apns.key_file: expected a file's path, found nothing",
            "c.yaml:3: push.apns.topic: expected an app's bundle id: 1 to 255 letters, digits, . - or _, found nothing"),
        Case(
            "\n  apns:\n    enabled: true\n    team_id: ''\n    key_id: ~\n    key_file: ''\n    topic: ''",
            "c.yaml:4: push.apns.team_id: expected 10 upper-case letters or digits, found \"\"",
            "c.yaml:5: push.apns.key_id: expected 10 upper-case letters or digits, found nothing",
            "c.yaml:6: push.apns.key_file: expected a file's path, found \"\"",
            "c.yaml:7: push.apns.topic: expected an app's bundle id: 1 to 255 letters, digits, . - or _, found \"\""),
        Case(
            "{fcm: {enabled: true}}", "c.yaml:1: push.fcm.service_account_file: expected a file's path, found nothing"),
        Case(
            "{fcm: {enabled: true, service_account_file: ''}}",
            "c.yaml:1: push.fcm.service_account_file: expected a file's path, found \"\""),
        Case(
            "{apns: {enabled: true, team_id: TEAM12345, key_id: '', key_file: k.p8, topic: t}}",
            "c.yaml:1: push.apns.team_id: expected 10 upper-case letters or digits, found \"TEAM12345\"",
            "c.yaml:1: push.apns.key_id: expected 10 upper-case letters or digits, found \"\""),
    ]

    static let unfit = [
        Case(
            apns("key_file: none.p8"), "c.yaml:1: push.apns.key_file: cannot read \"none.p8\": No such file or directory"),
        Case(
            apns("key_file: text"),
            "c.yaml:1: push.apns.key_file: expected a file with a private key in PEM, found \"text\", which has none"),
        Case(
            apns("key_file: '${PASSWORD}'"),
            "c.yaml:1: push.apns.key_file: expected a file with a private key in PEM, "
                + "found \"${PASSWORD}\", a value of 4 characters, which has none"),
        Case(
            apns("key_file: k.p8, ca_file: none.pem"),
            "c.yaml:1: push.apns.ca_file: cannot read \"none.pem\": No such file or directory"),
        Case(
            "{fcm: {enabled: true, service_account_file: none.json}}",
            "c.yaml:1: push.fcm.service_account_file: cannot read \"none.json\": No such file or directory"),
        Case(
            "{fcm: {enabled: true, service_account_file: k.p8}}",
            "c.yaml:1: push.fcm.service_account_file: "
                + "expected a file with a service account's JSON, found \"k.p8\", which has none"),
        Case(
            "{fcm: {enabled: true, service_account_file: s.json, ca_file: none.pem}}",
            "c.yaml:1: push.fcm.ca_file: cannot read \"none.pem\": No such file or directory"),
        Case("{mode: always}", "c.yaml:1: push.mode: expected mirror, fallback or off, found \"always\""),
        Case("{apns: {hots: x}}", "c.yaml:1: push.apns.hots: unknown key; did you mean push.apns.host?"),
        Case(
            "{apns: {team_id: abcde12345}}",
            "c.yaml:1: push.apns.team_id: expected 10 upper-case letters or digits, or \"\", found \"abcde12345\""),
        Case("{apns: {enabled: yes}}", "c.yaml:1: push.apns.enabled: expected true or false, found \"yes\""),
        Case(
            "{fcm: {base_url: 'http://localhost'}}",
            "c.yaml:1: push.fcm.base_url: expected an https URL with only a host and an optional port, "
                + "found \"http://localhost\""),
        Case("{apns: {sandbox: a}}", "c.yaml:1: push.apns.sandbox: unknown key; did you mean push.apns.sandbox_host?"),
        Case("{stale_day: 1}", "c.yaml:1: push.stale_day: unknown key; did you mean push.stale_days?"),
        Case("[]", "c.yaml:1: push: expected a map, found an empty list"),
    ]

    /// An enabled APNs section without `key_file`.
    private static func apns(_ rest: String) -> String {
        "{apns: {enabled: true, team_id: ABCDE12345, key_id: ABCDE12345, topic: t, \(rest)}}"
    }

    @Test("An error names its location and does not show file contents", arguments: missing + unfit)
    func error(_ example: Case) {
        #expect(lines(example.yaml) == example.lines)
    }

    @Test("If a variable enables a provider, keys that are missing in the file are reported")
    func enabledByVariable() {
        #expect(
            problems("log: {}", ["FLEETWIRE_PUSH_FCM_ENABLED": "true"])
                == ["c.yaml:1: push.fcm.service_account_file: expected a file's path, found nothing"])
        #expect(
            problems(
                "log: {}",
                ["FLEETWIRE_PUSH_FCM_ENABLED": "true", "FLEETWIRE_PUSH_FCM_SERVICE_ACCOUNT_FILE": "none.json"])
                == ["FLEETWIRE_PUSH_FCM_SERVICE_ACCOUNT_FILE: cannot read \"none.json\": No such file or directory"])
    }
}
