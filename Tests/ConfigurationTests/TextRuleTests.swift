import Testing

@testable import Configuration

@Suite struct TextRuleTests {
    struct Case: Sendable {
        let name: String
        let rule: TextRule
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
                "http://[::1]:80", "http://127.0.0.1", "capacitor://localhost", "web+x://a_b-c",
            ],
            bad: [
                "", "null", "example.com", "*.example.com", "https://", "https://*", "https://*.", "https://a.*.b",
                "https://*a.b", "https://a..b", "https://.a", "https://a/", "https://a/b", "https://a:", "https://a:0",
                "https://a:65536", "https://a:b", "https://a b", "https://a\n", "https://é", "https://a?b", "https://u@a",
                "1://a", "://a", "**", "https://[::1", "https://::1", "\u{17F}://a", "https://\u{212A}",
                "https://" + String(repeating: "x", count: 300),
            ]),
        Case(
            name: "metricsPrefix", rule: .metricsPrefix, good: ["fleetwire", "_", "a1_b"],
            bad: ["", "1a", "A", "a-b", "a:b"]),
        Case(name: "token", rule: .token, good: ["", "abc", "~!a-Z0=="], bad: ["a b", "a\n", "é", "\u{7F}"]),
        Case(name: "nonEmpty", rule: .nonEmpty, good: ["a", " ", "é\n"], bad: [""]),
    ]

    @Test("A rule accepts what it says and nothing else", arguments: cases)
    func rule(_ example: Case) {
        for text in example.good { #expect(example.rule.accepts(text), "\(example.name) \(text)") }
        for text in example.bad { #expect(!example.rule.accepts(text), "\(example.name) \(text)") }
    }
}
