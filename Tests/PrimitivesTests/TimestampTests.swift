import Foundation
import Testing

@testable import Primitives

@Suite struct TimestampTests {
    static let moments: [(milliseconds: Int64, text: String)] = [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (10, "1970-01-01T00:00:00.010Z"),
        (999, "1970-01-01T00:00:00.999Z"), (1000, "1970-01-01T00:00:01.000Z"), (86_399_999, "1970-01-01T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"), (1_709_164_800_123, "2024-02-29T00:00:00.123Z"),
        (1_740_787_200_000, "2025-03-01T00:00:00.000Z"), (1_353_088_179_000, "2012-11-16T17:49:39.000Z"),
        (1_795_253_400_123, "2026-11-21T09:30:00.123Z"), (2_147_483_648_000, "2038-01-19T03:14:08.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        // Before 1970, too, the fraction counts forwards: -1 millisecond is .999 of the second before.
        (-1, "1969-12-31T23:59:59.999Z"), (-999, "1969-12-31T23:59:59.001Z"), (-1000, "1969-12-31T23:59:59.000Z"),
        (-1001, "1969-12-31T23:59:58.999Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ]

    @Test(arguments: moments) func writesUTCWithMilliseconds(milliseconds: Int64, text: String) {
        #expect(Timestamp.iso8601(milliseconds: milliseconds) == text)
    }

    /// Timestamps can come from clients: no value may trap.
    @Test(arguments: [Int64.max, Int64.min, 1 << 50, -1 << 50]) func extremeValuesDoNotTrap(milliseconds: Int64) {
        #expect(Timestamp.iso8601(milliseconds: milliseconds).hasSuffix("Z"))
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (1_795_253_400_123, "2026-11-21T09:30:00.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_735_689_599_005, "2024-12-31T23:59:59.005Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func writesMillisecondsOrWholeSecondsAndAcceptsBoth(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp.iso8601(milliseconds: milliseconds) == text)
        #expect(Timestamp.wholeSeconds(milliseconds: milliseconds) == text.dropLast(5) + "Z")
        #expect(Timestamp.isISO8601(text))
        #expect(Timestamp.isISO8601(Timestamp.wholeSeconds(milliseconds: milliseconds)))
    }

    /// Compares each day from 1778 to 2189, at varying times of day, with Foundation's calendar.
    @Test func agreesWithFoundationsCalendar() {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for day in stride(from: -70_000, through: 80_000, by: 1) as StrideThrough<Int64> {
            let milliseconds = day * 86_400_000 + (day &* 7919) % 86_400_000
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let expected = date.formatted(style).prefix(19)
            if Timestamp.iso8601(milliseconds: milliseconds).prefix(19) != expected {
                Issue.record("\(milliseconds): \(Timestamp.iso8601(milliseconds: milliseconds)) for \(expected)")
                return
            }
        }
    }

    @Test(arguments: [
        "2026-11-21", "2024-02-29", "2000-02-29", "0000-02-29", "2026-12-31", "2026-11-21T09:30:00Z",
        "2026-11-21T09:30:00.1Z", "2026-11-21T09:30:00.123456789Z", "2026-11-21T00:00:00+00:00", "2026-11-21T23:59:59-23:59",
        "2026-11-21T09:30:00", "2026-11-21T09:30", "2026-11-21T09:30Z", "2026-11-21T09:30:00z", "2026-11-21T09:30:00,5Z",
        "2026-11-21T09:30:00.1234567890Z", "2026-11-21T09:30:00+0100", "2026-11-21T09:30:00+01", "2026-11-21T09:30+01:00",
        "2026-11-21T09:30:00.5+05:30",
    ])
    func acceptsISO8601(_ text: String) { #expect(Timestamp.isISO8601(text)) }

    @Test(arguments: [
        "", "2026", "2026-11", "2026-11-2", "26-11-21", "2026-13-01", "2026-00-01", "2026-01-00", "2026-01-32", "2026-04-31",
        "2026-02-29", "1900-02-29", "2100-02-29", "2024-02-30", "2026/11/21", "20261121", "2026-11-21T", "2026-11-21T09",
        "2026-11-21T9:30", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:30:60Z", "2026-11-21T09:30:00.Z",
        "2026-11-21t09:30:00Z",
        "2026-11-21 09:30:00Z", "2026-11-21T09:30:00+1:00", "2026-11-21T09:30:00+0", "2026-11-21T09:30:00+000",
        "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00+01:60", "2026-11-21T09:30:00ZZ", "2026-11-21T09:30:00Z ",
        " 2026-11-21", "2026-11-21Z", "+2026-11-21", "-026-11-21", "2026-11-21T09:30:", "2026-11-21T09:30:00+", "tomorrow",
        "２０２６-11-21", "2026-11-21T09:30:00.１Z", "2026-11-21T09:30.5Z",
    ])
    func rejectsOtherTexts(_ text: String) { #expect(!Timestamp.isISO8601(text)) }
}
