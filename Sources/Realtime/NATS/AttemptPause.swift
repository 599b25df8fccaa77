import Primitives

/// How long to wait before the next attempt to connect: 50 to 100 ms first, twice as long each time, 10 s at most.
///
/// Only a session that has lived for ``Timing/busSettled`` begins it anew: a server may admit a user to whom it then refuses a
/// subject, and would be asked 13 times a second.
struct AttemptPause {
    private static let (first, last): (Int64, Int64) = (100, 10_000)
    private var failures = 0

    /// Records the end of an attempt.
    /// - Parameter milliseconds: how long the session has lived; nil: there was none.
    mutating func ended(after milliseconds: Int64?) {
        failures = (milliseconds ?? 0) >= Timing.busSettled ? 1 : failures + 1
    }

    /// The milliseconds to wait. A random part keeps many nodes from coming back at the same moment.
    func length(random: (ClosedRange<Int64>) -> Int64 = { .random(in: $0) }) -> Int64 {
        let longest = min(Self.last, Self.first << min(Int64(max(failures, 1)) - 1, 10))
        return random(longest / 2...longest)
    }
}
