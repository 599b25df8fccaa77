import Threads

/// How long one kind of work may take in a turn, such as closing connections. When the time is over, the rest waits for
/// the next turn, so that thousands of connections that end together do not delay the others.
///
/// Do some work before asking whether the time is over, so that each turn makes progress.
struct TimeSlice {
    private static let nanoseconds: UInt64 = 2_000_000

    private let end = Clock.monotonicNanoseconds() + nanoseconds

    var isOver: Bool { Clock.monotonicNanoseconds() >= end }
}
