import Glibc

/// CPU time, for tests that compare the cost of the same work in a small and a large state.
package enum ThreadTime {
    /// The CPU time that this thread spends on `work`, so that other processes do not count.
    package static func of(_ work: () -> Void) -> Duration {
        let start = now()
        work()
        return now() - start
    }

    /// The shortest of five measurements.
    package static func fastest(_ measure: () -> Duration) -> Duration {
        (0..<5).map { _ in measure() }.min() ?? .zero
    }

    /// Whether one of five measurements is below a bound. Measures no more often than it takes to find out.
    package static func isEver(below bound: Duration, _ measure: () -> Duration) -> Bool {
        (0..<5).contains { _ in measure() < bound }
    }

    private static func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
