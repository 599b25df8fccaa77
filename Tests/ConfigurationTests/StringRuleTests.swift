import Testing

@testable import Configuration

@Suite struct StringRuleTests {
    /// A rule, strings that it accepts (`good`), and strings that it rejects (`bad`).
    struct Case: Sendable {
        let name: String
        let rule: StringRule
        let good: [String]
        let bad: [String]
    }

    static let long = String(repeating: "x", count: 64)
    static let cases = [
        Case(
            name: "host", rule: .host, good: ["0.0.0.0", "::1", "fe80::1%eth0", "gate-1.example.com"],
            bad: ["", "a b", "http://a", "a\n", "é", String(repeating: "x", count: 254)]),
        Case(
            name: "identifier", rule: .identifier, good: ["1001", "a", "A_b-9", long],
            bad: ["", long + "x", "a b", "a.b", "a/b", "é"]),
        Case(
            name: "origin", rule: .origin,
            good: [
                "*", "https://example.com", "http://localhost:3000", "https://*.example.com:65535", "HTTPS://A.B",
                "http://[::1]:80", "http://127.0.0.1", "capacitor://localhost", "web+x://a_b-c", "https://a/", "https://*.a:443/",
                "file://",
            ],
            bad: [
                "", "null", "example.com", "*.example.com", "https://", "https://*", "https://*.", "https://a.*.b",
                "https://*a.b", "https://a..b", "https://.a", "https://a//", "https://a/b", "file:///", "file://a/b", "file:",
                "/", "https://a:", "https://a:0",
                "https://a:65536", "https://a:b", "https://a b", "https://a\n", "https://é", "https://a?b", "https://u@a",
                "1://a", "://a", "**", "https://[::1", "https://::1", "\u{17F}://a", "https://\u{212A}",
                "https://" + String(repeating: "x", count: 300),
            ]),
        Case(
            name: "metricsPrefix", rule: .metricsPrefix, good: ["fleetwire", "_", "a1_b"],
            bad: ["", "1a", "A", "a-b", "a:b"]),
        Case(name: "token", rule: .token, good: ["", "abc", "~!a-Z0=="], bad: ["a b", "a\n", "é", "\u{7F}"]),
        Case(
            name: "channelPattern", rule: .channelPattern,
            good: ["*", "a*", "driver-*", "admin-channel", "A_z-0=@,.;", "private", "cached-*", long + long + long + "12345678"],
            bad: [
                "", "**", "a*b", "*a", "a b", "a/b", "é", "#a", "private-a", "presence-*", "cache-a", "private-encrypted-*",
                long + long + long + "123456789", "a\n", "*\u{301}",
            ]),
        Case(
            name: "cookieName", rule: .cookieName, good: ["", "__Host-token", "a.b", "!#$%&'*+-.^_`|~"],
            bad: ["a b", "a=b", "a;b", "\"a\"", "a\n", "é", "a[0]", "{a}", "a/b", "a\u{7F}"]),
        Case(
            name: "projectID", rule: .projectID, good: ["", "fleet-1", long], bad: ["Fleet", "a_b", "a.b", long + "x", "é"]),
        Case(name: "app", rule: .app(among: ["a", "b"]), good: ["", "a", "b"], bad: ["c", "A", "a "]),
        Case(
            name: "keysURL", rule: .keysURL,
            good: [
                "https://a", "https://a.example:8443/keys?v=1&x=%20", "https://[::1]/k", "http://localhost:3000/k",
                "http://LOCALHOST", "http://127.0.0.1", "http://127.255.0.9:65535/", "http://[::1]:80/k",
            ],
            bad: [
                "", "a", "https://", "https:///k", "http://a", "http://127.0.0.1.example.com", "http://127.1",
                "http://127.0.0.256", "http://127.0.0.01", "http://128.0.0.1", "http://localhost.example.com",
                "http://[::2]", "http://localhost@a", "https://u:p@a/", "https://a:0", "https://a:65536", "https://a b",
                "https://a/\n", "https://a#b", "ftp://localhost", "file:///k", "HTTPS://a", "https://é",
                "https://a/" + String(repeating: "x", count: 2_000),
            ]),
        Case(name: "keysURLOrNone", rule: .keysURLOrNone, good: ["", "https://a"], bad: ["http://a"]),
        Case(
            name: "publicKey", rule: .publicKey,
            good: [
                "", pem("PUBLIC KEY"), pem("RSA PUBLIC KEY"), pem("CERTIFICATE").replacing("\n", with: "\r\n"),
                pem("EC PRIVATE KEY") + "\n" + pem("PUBLIC KEY"), "Some words\n" + pem("PUBLIC KEY"),
            ],
            bad: [
                "hunter2", "key.pem", pem("PRIVATE KEY"), "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END CERTIFICATE-----",
                "-----BEGIN PUBLIC KEY-----\nAAAA", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
            ]),
        Case(
            name: "appleIdentifier", rule: .appleIdentifier, good: ["ABCDE12345", "0000000000"],
            bad: ["", "ABCDE1234", "ABCDE123456", "abcde12345", "ABCDE-2345", "ABCDE1234É", "ABCDE1234\n"]),
        Case(name: "appleIdentifierOrNone", rule: .appleIdentifierOrNone, good: ["", "ABCDE12345"], bad: ["A"]),
        Case(
            name: "bundleID", rule: .bundleID, good: ["com.example.fleet", "a", "A-1.b_c", long + long + long],
            bad: ["", "com example", "a/b", "é", "a\n", long + long + long + long]),
        Case(name: "bundleIDOrNone", rule: .bundleIDOrNone, good: ["", "a.b"], bad: ["a b"]),
        Case(
            name: "baseURL", rule: .baseURL,
            good: ["https://fcm.googleapis.com", "https://127.0.0.1:9443", "https://[::1]:1", "https://a"],
            bad: [
                "", "http://localhost", "https://a/", "https://a?b", "https://a:0", "https://u@a", "https://a#b", "a",
                "https://a/v1",
            ]),
        Case(
            name: "webhookURL", rule: .webhookURL,
            good: ["http://a", "https://a.example:8443/w?x=%20&y=@", "http://10.0.0.1/", "https://[fd00::1]/w"],
            bad: ["", "a", "https://", "https:///w", "https://u@a", "https://u:p@a/", "https://a#b", "ftp://a", "https://a b"]),
        Case(
            name: "webhookEvent", rule: .webhookEvent, good: ["channel_occupied", "device_removed"],
            bad: ["", "channel-occupied", "all", "Channel_occupied"]),
        Case(
            name: "privateKey", rule: .privateKey,
            good: [
                pem("PRIVATE KEY"), pem("EC PRIVATE KEY").replacing("\n", with: "\r\n"),
                "-----BEGIN EC PARAMETERS-----\nAAAA\n-----END EC PARAMETERS-----\n" + pem("EC PRIVATE KEY"),
            ],
            bad: ["", "hunter2", pem("PUBLIC KEY"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----"]),
        Case(
            name: "serviceAccount", rule: .serviceAccount, good: ["{}", " {\"a\": 1}\n"],
            bad: ["", "[]", "\"a\"", "{", "{} {}", "<plist/>"]),
        Case(name: "nonEmpty", rule: .nonEmpty, good: ["a", " ", "é\n"], bad: [""]),
    ]

    private static func pem(_ label: String) -> String {
        "-----BEGIN \(label)-----\nQUJD+/0=\nAAAA\n-----END \(label)-----\n"
    }

    @Test("A rule accepts its good strings and rejects its bad ones", arguments: cases)
    func rule(_ example: Case) {
        for text in example.good { #expect(example.rule.accepts(text), "\(example.name) \(text)") }
        for text in example.bad { #expect(!example.rule.accepts(text), "\(example.name) \(text)") }
    }
}
