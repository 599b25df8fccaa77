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
