import Threads

/// How long writing may take in a turn. When the time is over, the rest waits for the next turn, so that events for
/// thousands of connections do not delay what others send.
///
/// Do some work before asking whether the time is over, so that each turn makes progress.
package struct TimeSlice {
    private static let nanosecondsMin: UInt64 = 1_000_000

    let end: UInt64

    /// Begins a slice that is as long as the time since the turn began, and at least 1 ms: otherwise a turn that has read
    /// much would write little of what that caused, and responses would wait for many turns.
    /// - Parameters:
    ///   - begunAt: when the turn began, in nanoseconds of the monotonic clock.
    ///   - now: of the same clock.
    package init(turnBegunAt begunAt: UInt64, now: UInt64 = Clock.monotonicNanoseconds()) {
        end = now + max(Self.nanosecondsMin, now - min(now, begunAt))
    }

    /// Whether the time is over. Reads the clock.
    package var isOver: Bool { Clock.monotonicNanoseconds() >= end }
}
