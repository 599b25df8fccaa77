/// The wrong codes for one order. Five in 15 minutes lock the codes until those minutes are over; other proofs and
/// reports stay possible.
package struct OTPAttempts: Equatable, Sendable {
    /// Wrong codes until the order is locked.
    package static let wrongMax = 5
    /// In milliseconds.
    package static let window: Int64 = 900_000
    private static let setBackMax: Int64 = 60_000

    /// The times of the newest wrong codes, oldest first, at most ``wrongMax``. Milliseconds since 1970.
    package private(set) var wrongAt: [Int64] = []

    /// - Parameter wrongAt: the times of wrong codes, in any order.
    package init(wrongAt: [Int64] = []) { self.wrongAt = Array(wrongAt.sorted().suffix(Self.wrongMax)) }

    /// Records a wrong code: one that was refused with ``RuleError/Code/wrongOTP``. A code that came during a lock was not
    /// compared, so it does not prolong the lock.
    package mutating func recordWrong(at now: Int64) { self = OTPAttempts(wrongAt: wrongAt + [now]) }

    /// The seconds until the next code is looked at, rounded up, at most 15 minutes. Nil: codes are not locked.
    package func lockedSeconds(at now: Int64) -> Int? {
        // Times over a minute ahead stem from before a clock correction.
        guard wrongAt.count == Self.wrongMax, let first = wrongAt.first, (-Self.setBackMax..<Self.window).contains(now - first)
        else { return nil }
        return Int((min(first + Self.window - now, Self.window) + 999) / 1_000)
    }

    /// The verdict about a code.
    /// - Parameter isRight: compares the code with the order's; not called while codes are locked.
    package func verdict(at now: Int64, isRight: () -> Bool) -> OTPVerdict {
        if let seconds = lockedSeconds(at: now) { return .locked(seconds: seconds) }
        return isRight() ? .matches : .wrong
    }
}
