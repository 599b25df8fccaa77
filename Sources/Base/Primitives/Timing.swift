#if TIMING_DIVISOR
    import Glibc
#endif

/// How long the gateway waits for others, and how often it looks: the constants of time that a test may have to wait for,
/// in milliseconds. Each module adds its own in an extension.
///
/// What an operator may change is a key of the configuration. Lifetimes and windows that a client or an operator counts
/// on, such as those of codes, tokens and retention, are with their rules.
///
/// Debug builds (`-D TIMING_DIVISOR`) divide all of them by the environment's `TIMING_DIVISOR`, so that a test of a
/// deadline need not wait for it. The released program does not know that variable. What a loop counts in its ticks,
/// such as `server.activity_seconds`, is divided with them.
package enum Timing {
    #if TIMING_DIVISOR
        /// At least 1; 1 if the environment does not say.
        package static let divisor = max(1, getenv("TIMING_DIVISOR").flatMap { Int64(String(cString: $0)) } ?? 1)
    #else
        package static var divisor: Int64 { 1 }
    #endif

    /// The time that one of these constants has in this process.
    package static func milliseconds(_ time: Int64) -> Int64 { max(1, time / divisor) }

    /// One of these times for those who count in whole seconds, at least 1.
    package static func wholeSeconds(_ milliseconds: Int64) -> Int { max(1, Int(milliseconds / 1_000)) }

    /// How often the watchdog looks at the threads.
    package static let watchdogTick = milliseconds(1_000)
    /// An episode of a condition, which is logged once, ends when the condition has not been seen for so long.
    package static let episodeQuiet = milliseconds(10_000)
    /// The shortest time between two lines about rejections by the same limit.
    package static let limitLogInterval = milliseconds(10_000)
}
