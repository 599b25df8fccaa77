import Glibc

/// The two clocks: one to measure with, one to tell the time by.
package enum Clock {
    /// Nanoseconds since some fixed moment; never goes back.
    package static func monotonicNanoseconds() -> UInt64 { read(CLOCK_MONOTONIC) }

    /// Milliseconds since 1970, UTC; may be set back by an operator.
    package static func unixMilliseconds() -> Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }

    /// `2026-11-21T09:30:00.123Z` for milliseconds since 1970.
    package static func iso8601(milliseconds: Int64) -> String {
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        var seconds = time_t(rest < 0 ? whole - 1 : whole)
        let fraction = rest < 0 ? rest + 1000 : rest
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let date = "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
        let time = "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
        return "\(date)T\(time).\(padded(Int(fraction), 3))Z"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
