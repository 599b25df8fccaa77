import Testing

@testable import Configuration

@Suite struct LegacySettingsTests {
    private let now: Int64 = 1_793_491_200_000  // 2026-11-01
    private let apps = "apps: [{id: \"1001\", key: key1, secret: secret1}]\n"

    private func errors(_ legacy: String, inProduction: Bool = true) throws -> [String] {
        let text = apps + "channels: [{pattern: \"driver-*\", access: own-driver, legacy: \(legacy)}]"
        return try read(text).get().legacyErrors(inProduction: inProduction, at: now, file: "c.yaml").map(\.description)
    }

    @Test("all keys are read")
    func reads() throws {
        let text = """
            channels:
            - pattern: "driver-*"
              access: own-driver
              legacy: {until: 2027-03-31, keys: [key1], addresses: [10.0.0.0/8], hide: [customerName]}
            - {pattern: "tracking-*", access: booking}
            """
        let rules = try read(apps + text).get().channels
        #expect(rules[0].legacy.isEnabled && rules[0].legacy.untilMilliseconds == 1_806_451_200_000)
        #expect(rules[0].legacy.addresses == ["10.0.0.0/8"] && rules[0].legacy.hide == ["customerName"])
        #expect(!rules[1].legacy.isEnabled && rules[1].legacy.untilMilliseconds == nil)
    }

    @Test(
        "what is wrong is refused with what is expected",
        arguments: [
            ("{until: 2027-02-30, keys: [key1]}", "expected a day such as 2027-03-31"),
            ("{until: tomorrow, keys: [key1]}", "expected a day such as 2027-03-31"),
            ("{until: 2027-03-31}", "expected keys"), ("{keys: [key1], addresses: [here]}", "expected an IP address"),
            ("{keys: [key1], hide: [\"a b\"]}", "expected the name of a member"), ("{key: [key1]}", "unknown key"),
            ("{keys: [], hide: [a]}", "expected keys"),
        ])
    func refuses(legacy: String, problem: String) {
        let lines = problems("channels: [{pattern: \"driver-*\", access: own-driver, legacy: \(legacy)}]")
        #expect(lines.contains { $0.contains(problem) }, "\(lines)")
    }

    @Test("production demands an end within 180 days")
    func production() throws {
        #expect(try errors("{keys: [key1], until: 2027-04-30}") == [])
        #expect(try errors("{keys: [key1], until: 2026-01-01}") == [], "it is over")
        for until in ["", "until: 2027-05-01"] {
            let lines = try errors("{keys: [key1], \(until)}")
            #expect(lines.count == 1 && lines[0].contains("channels[0].legacy.until: expected a day within 180 days"))
        }
        #expect(try errors("{keys: [key1]}", inProduction: false) == [])
    }

    @Test("a key that the fleet's app does not have would never match")
    func unknownKey() throws {
        for inProduction in [false, true] {
            let lines = try errors("{keys: [key1, key2], until: 2027-03-31}", inProduction: inProduction)
            #expect(lines.count == 1 && lines[0].contains("legacy.keys: expected the key of app 1001"), "\(lines)")
        }
    }
}
