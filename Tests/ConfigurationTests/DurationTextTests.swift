import Testing

@testable import Configuration

@Suite struct DurationTextTests {
    @Test(
        "A number with a unit is read as seconds",
        arguments: [("0s", 0), ("1s", 1), ("90s", 90), ("10m", 600), ("1h", 3_600), ("28d", 2_419_200)])
    func good(text: String, seconds: Int) {
        #expect(DurationText(text)?.seconds == seconds)
    }

    @Test(
        "Any other text is rejected",
        arguments: ["", "s", "1", "01s", "+1s", "-1s", "1.5h", "1 h", "1w", "1H", "1hs", "1h ", "9223372036854775807d", "é"])
    func bad(text: String) {
        #expect(DurationText(text) == nil)
    }

    @Test(
        "A duration is written in the largest unit that divides it, except one day: it is written as 24h, not as 1d",
        arguments: [
            (0, "0s"), (1, "1s"), (59, "59s"), (60, "1m"), (90, "90s"), (600, "10m"), (3_600, "1h"), (5_400, "90m"),
            (86_400, "24h"), (90_000, "25h"), (172_800, "2d"), (2_419_200, "28d"),
        ])
    func text(seconds: Int, text: String) {
        #expect(DurationText(seconds: seconds).text == text)
        #expect(DurationText(text)?.seconds == seconds)
    }

    @Test("A catalogue entry's lifetime is from 1 second to 28 days, both included")
    func range() throws {
        func lifetime(_ text: String) -> Result<Settings, ConfigurationErrors> {
            read("notifications: {file: n}", files: ["n": "a: {lifetime: \(text)}"])
        }
        for (text, seconds) in [("1s", 1), ("28d", 2_419_200), ("2419200s", 2_419_200)] {
            #expect(try lifetime(text).get().notifications.entry(for: "a")?.lifetimeSeconds == seconds)
        }
        for text in ["0s", "2419201s", "29d", "3600"] {
            #expect(
                problems("notifications: {file: n}", files: ["n": "a: {lifetime: \(text)}"])
                    == ["n:1: a.lifetime: expected a time from 1s to 28d, such as 30s, 10m, 1h or 7d, found \"\(text)\""])
        }
    }
}
