/// How long a silent client is waited for (PROTOCOL P4): it is told to ping after the activity timeout, is asked for life
/// after a quarter more, and has another quarter to answer.
package struct ActivityTimeout: Equatable, Sendable {
    /// Seconds of silence after which a client pings by itself; advertised to it (C4).
    package let activitySeconds: Int

    package init(activitySeconds: Int) { self.activitySeconds = activitySeconds }

    package enum Action: Equatable, Sendable {
        case idle
        case ping
        case close
    }

    /// - Parameters:
    ///   - silence: seconds since anything was heard.
    ///   - hasAsked: whether the client was asked since.
    package func action(silence: Int, hasAsked: Bool) -> Action {
        if hasAsked { return silence * 2 >= activitySeconds * 3 ? .close : .idle }
        return silence * 4 >= activitySeconds * 5 ? .ping : .idle
    }
}
