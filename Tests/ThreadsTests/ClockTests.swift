import Glibc
import Testing
import Threads

@Suite struct ClockTests {
    static let moments: [(milliseconds: Int64, text: String)] = [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (10, "1970-01-01T00:00:00.010Z"),
        (999, "1970-01-01T00:00:00.999Z"), (1000, "1970-01-01T00:00:01.000Z"), (86_399_999, "1970-01-01T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"), (951_868_799_999, "2000-02-29T23:59:59.999Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"), (1_709_164_800_123, "2024-02-29T00:00:00.123Z"),
        (1_740_787_200_000, "2025-03-01T00:00:00.000Z"), (1_353_088_179_000, "2012-11-16T17:49:39.000Z"),
        (1_795_253_400_123, "2026-11-21T09:30:00.123Z"), (2_147_483_648_000, "2038-01-19T03:14:08.000Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        // Before 1970 milliseconds still count upwards.
        (-1, "1969-12-31T23:59:59.999Z"), (-999, "1969-12-31T23:59:59.001Z"), (-1000, "1969-12-31T23:59:59.000Z"),
        (-1001, "1969-12-31T23:59:58.999Z"), (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    ]

    @Test(arguments: moments) func writesAMomentInUTCWithMilliseconds(milliseconds: Int64, text: String) {
        #expect(Clock.iso8601(milliseconds: milliseconds) == text)
    }

    /// A stranger's timestamp is written, too: whatever it is must not bring the process down.
    @Test(arguments: [Int64.max, Int64.min, 1 << 50, -1 << 50]) func writesAnyNumber(milliseconds: Int64) {
        #expect(Clock.iso8601(milliseconds: milliseconds).hasSuffix("Z"))
    }

    @Test func neverGoesBackWhenItMeasures() {
        var last = Clock.monotonicNanoseconds()
        for _ in 0..<10_000 {
            let now = Clock.monotonicNanoseconds()
            #expect(now >= last)
            last = now
        }
    }

    @Test func tellsTheSystemsTime() {
        let before = time(nil)
        let milliseconds = Clock.unixMilliseconds()
        // `time` may read a coarser clock, some milliseconds behind.
        #expect((Int64(before) * 1000...Int64(time(nil) + 2) * 1000).contains(milliseconds))
    }
}
