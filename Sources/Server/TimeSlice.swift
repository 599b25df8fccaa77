import Threads

/// How long one kind of work may take in a turn, such as closing connections or writing events. When the time is over, the
/// rest waits for the next turn, so that what happens to thousands of connections together does not delay the others.
///
/// Do some work before asking whether the time is over, so that each turn makes progress.
package struct TimeSlice {
    private static let nanoseconds: UInt64 = 1_000_000

    private let end = Clock.monotonicNanoseconds() + nanoseconds

    /// Begins a slice of 1 ms.
    package init() {}

    /// Whether the time is over. Reads the clock.
    package var isOver: Bool { Clock.monotonicNanoseconds() >= end }
}
