import Glibc

/// The two clocks: one to measure with, one to tell the time by.
package enum Clock {
    /// Nanoseconds since some fixed moment; never goes back.
    package static func monotonicNanoseconds() -> UInt64 { read(CLOCK_MONOTONIC) }

    /// The same in milliseconds.
    package static func monotonicMilliseconds() -> Int64 { Int64(monotonicNanoseconds() / 1_000_000) }

    /// Milliseconds since 1970, UTC; may be set back by an operator.
    package static func unixMilliseconds() -> Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
