import Primitives

/// How many codes are sent: each costs money, and each gives an attacker five tries.
package struct CodeLimits: Equatable, Sendable {
    /// Most codes to one phone in an hour, and in a day.
    package static let (hourMax, dayMax) = (5, 10)
    static let hour: Int64 = 3_600_000
    /// Milliseconds for which the times of sent codes must be kept.
    package static let day: Int64 = 86_400_000

    /// Most codes of all phones in a day.
    package var dailyMax: Int

    package init(dailyMax: Int = 10_000) { self.dailyMax = dailyMax }

    /// Why no code may be sent now; nil if one may.
    /// - Parameters:
    ///   - sent: when codes were sent to the phone in the last day, in milliseconds since 1970, in any order. Those that
    ///     could not be sent do not count.
    ///   - sentToAll: the number of codes sent to all phones in the last day.
    package func refusal(sent: [Int64], sentToAll: Int, now: Int64) -> RuleError? {
        let waits = [(Self.hour, Self.hourMax), (Self.day, Self.dayMax)].compactMap { window, most in
            Self.wait(sent, window: window, most: most, now: now)
        }
        if let wait = waits.max() { return RuleError(.limited, "Too many requests", retryAfterSeconds: wait) }
        guard sentToAll >= dailyMax else { return nil }
        return RuleError(.unavailable, "Could not send the code. Please try again", retryAfterSeconds: 3_600)
    }

    /// Whether another code may be tried for a phone. Each code has five tries, but those of codes that were sent at the
    /// end of one hour and at the beginning of the next would add up.
    /// - Parameter wrong: when wrong codes were tried for the phone in the last day, in milliseconds since 1970.
    package func mayTry(wrong: [Int64], now: Int64) -> Bool {
        let tries = CodeSession.triesMax
        return Self.wait(wrong, window: Self.hour, most: Self.hourMax * tries, now: now) == nil
            && Self.wait(wrong, window: Self.day, most: Self.dayMax * tries, now: now) == nil
    }

    /// The seconds until fewer than `most` times are within the window; nil if there are fewer now. Times of more
    /// than a minute in the future are of before the clock was set back: they must not block a phone until it is there again.
    private static func wait(_ times: [Int64], window: Int64, most: Int, now: Int64) -> Int? {
        let inWindow = times.filter { $0 - now <= CodeSession.setBackMax }.map { min($0, now) }.filter { now - $0 < window }
            .sorted()
        guard inWindow.count >= most else { return nil }
        let free = inWindow[inWindow.count - most] + window
        return max(1, Int((free - now + 999) / 1_000))
    }
}
