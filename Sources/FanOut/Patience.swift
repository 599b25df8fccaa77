/// How long a silent client is waited for (PROTOCOL P4): it is told to ping after the activity timeout, is asked for life
/// after a quarter more, and has another quarter to answer.
package struct Patience: Equatable, Sendable {
    /// Seconds of silence after which a client pings by itself; advertised to it (C4).
    package let activitySeconds: Int

    package init(activitySeconds: Int) { self.activitySeconds = activitySeconds }

    package enum Verdict: Equatable, Sendable {
        case wait
        case ask
        case giveUp
    }

    /// - Parameters:
    ///   - silence: seconds since anything was heard.
    ///   - hasAsked: whether the client was asked since.
    package func verdict(silence: Int, hasAsked: Bool) -> Verdict {
        if hasAsked { return silence * 2 >= activitySeconds * 3 ? .giveUp : .wait }
        return silence * 4 >= activitySeconds * 5 ? .ask : .wait
    }
}

/// How many events a client may still send (E9): a second's worth at once, refilled evenly.
package struct EventAllowance: Equatable, Sendable {
    private var left: Double
    private var updated: Int64

    /// - Parameters:
    ///   - perSecond: events per second, and at once.
    ///   - now: milliseconds.
    package init(perSecond: Int, now: Int64) {
        left = Double(perSecond)
        updated = now
    }

    /// Whether one more may be sent; if so, it is counted.
    package mutating func take(perSecond: Int, now: Int64) -> Bool {
        left = min(Double(perSecond), left + Double(max(0, now - updated)) * Double(perSecond) / 1000)
        updated = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
