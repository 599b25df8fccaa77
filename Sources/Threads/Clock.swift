import Glibc

/// The kernel's clocks: the monotonic one measures intervals, the wall clock gives dates.
package enum Clock {
    /// Nanoseconds since an arbitrary moment. Never decreases.
    package static func monotonicNanoseconds() -> UInt64 { read(CLOCK_MONOTONIC) }

    /// Milliseconds since an arbitrary moment. Never decreases.
    package static func monotonicMilliseconds() -> Int64 { Int64(monotonicNanoseconds() / 1_000_000) }

    /// Wall-clock milliseconds since 1970, UTC. May decrease: an operator or NTP can set the clock back.
    package static func unixMilliseconds() -> Int64 { Int64(read(CLOCK_REALTIME) / 1_000_000) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
