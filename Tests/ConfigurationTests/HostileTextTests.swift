import TestSupport
import Testing

@testable import Configuration

@Suite struct HostileTextTests {
    /// Reads YAML that may or may not be valid. Each line of an error must begin with the file's name.
    private func check(_ yaml: String, _ seed: UInt64) {
        for line in problems(yaml, ["A": "${A}"], files: ["a": "b", "notifications.yaml": ""]) {
            #expect(line.hasPrefix("c.yaml"), "seed \(seed): \(line)")
        }
    }

    @Test("Random text causes no crash", arguments: 0..<8 as Range<UInt64>)
    func garbage(seed: UInt64) {
        let pieces = [
            " ", "  ", "\n", "\n  ", ":", ": ", "- ", "{", "}", "[", "]", ",", "\"", "'", "#", "&a ", "*a", "!", "!!int ",
            "|", ">", "?", "%", "@", "`", "\t", "\0", "\r\n", "~", "${A}", "${", "$${", "file:a", "\u{FEFF}", "é", "\u{301}",
            "\u{1F69A}", "---", "...", "<<", "server", "port", "apps", "id", "secret", "limits", "log", "1", "0x1", "true",
            "secrets", "allowed_origins", "tls", "key", "fleet", "channels", "pattern", "access", "auth", "jwt", "issuer",
            "store", "path", "notifications", "file", "encryption_keys", "push", "apns", "enabled", "key_file", "webhooks", "url",
        ]
        var dice = SplitMix(seed: seed)
        for _ in 0..<400 {
            let count = Int.random(in: 0..<60, using: &dice)
            check((0..<count).map { _ in pieces.randomElement(using: &dice) ?? "" }.joined(), seed)
        }
    }

    @Test("The committed file with random damage causes no crash", arguments: 0..<8 as Range<UInt64>)
    func damage(seed: UInt64) throws {
        let file = Array(try TextFile.content(of: CommittedFileTests.path).utf8)
        var dice = SplitMix(seed: seed)
        for _ in 0..<100 {
            var bytes = file
            for _ in 0..<Int.random(in: 1...8, using: &dice) {
                let start = Int.random(in: 0..<bytes.count, using: &dice)
                let end = min(bytes.count, start + Int.random(in: 0...4, using: &dice))
                bytes.replaceSubrange(start..<end, with: [UInt8.random(in: 0...255, using: &dice)])
            }
            check(String(decoding: bytes, as: UTF8.self), seed)
        }
    }

    @Test("The committed catalogue with random damage causes no crash", arguments: 0..<8 as Range<UInt64>)
    func damagedCatalogue(seed: UInt64) throws {
        let file = Array(try TextFile.content(of: CommittedFileTests.cataloguePath).utf8)
        var dice = SplitMix(seed: seed)
        for _ in 0..<50 {
            var bytes = file
            for _ in 0..<Int.random(in: 1...8, using: &dice) {
                let start = Int.random(in: 0..<bytes.count, using: &dice)
                bytes[start] = (Array("{}|:\n\"$".utf8) + [0, 0x80]).randomElement(using: &dice) ?? 0
            }
            let content = String(decoding: bytes, as: UTF8.self)
            for line in problems("notifications: {file: n.yaml}", files: ["n.yaml": content]) {
                #expect(line.hasPrefix("n.yaml"), "seed \(seed): \(line)")
            }
        }
    }

    @Test("A file may have up to 20 aliases; a * in a string does not count")
    func aliases() throws {
        func yaml(_ aliases: Int) -> String {
            "apps:\n- {id: 0, key: k0, secret: '*', limits: &l {event_bytes: 7}}\n"
                + (1...aliases).map { "- {id: \($0), key: k\($0), secret: s*t, limits: *l}\n" }.joined()
        }
        let settings = try read(yaml(YAMLText.aliasesMax)).get()
        #expect(settings.apps.allSatisfy { $0.limits.eventBytes == 7 })
        #expect(
            problems(yaml(YAMLText.aliasesMax + 1)) == ["c.yaml: expected at most 20 aliases such as *name, found 21"])
    }

    @Test("Nested aliases are rejected before they are expanded", arguments: ["b: *a39", "server: {? *a39 : x}"])
    func bomb(use: String) {
        // Expanded, `*a39` would be a list of 9^39 elements.
        let levels = (1..<40).map { "a\($0): &a\($0) [\(String(repeating: "*a\($0 - 1), ", count: 9))]" }
        #expect(problems("a0: &a0 [x]\n" + levels.joined(separator: "\n") + "\n" + use).count == 1)
        let chain = (1..<40_000).map { "- &a\($0) [*a\($0 - 1)]\n" }.joined()
        #expect(problems("- &a0 x\n" + chain).count == 1)
        // Seven levels need fewer aliases than the limit. The file is rejected for another reason.
        let few = (1...7).map { "a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.joined()
        #expect(!problems("a0: &a0 [x]\n" + few + use.replacing("39", with: "7")).isEmpty)
    }

    @Test("Deeply nested lists cause an error but no crash, with or without aliases")
    func nesting() {
        #expect(problems(String(repeating: "[", count: 100_000)).count == 1)
        #expect(problems(String(repeating: "- ", count: 100_000)).count == 1)
        let (open, close) = (String(repeating: "[", count: 900), String(repeating: "]", count: 900))
        // Expanded, the aliases nest the lists 18,000 deep.
        let tall = (1...YAMLText.aliasesMax).map { "- &a\($0) \(open)*a\($0 - 1)\(close)\n" }.joined()
        #expect(problems("- &a0 x\n" + tall) == ["c.yaml:1: expected a map, found a list"])
    }

    @Test("A file may have a thousand apps")
    func many() throws {
        let apps = (0..<1_000).map { "- {id: \($0), key: k\($0), secret: s, limits: {event_bytes: 7}}\n" }
        #expect(try read("apps:\n" + apps.joined()).get().apps.count == 1_000)
    }
}
