/// When to ping and when to close an idle connection (protocol point P4). Clients ping by themselves after the activity
/// timeout `t`; the server pings after 1.25 t of silence and closes after 1.5 t.
package struct ActivityTimeout: Equatable, Sendable {
    /// The activity timeout in seconds, as advertised to clients (C4).
    package let activitySeconds: Int

    /// - Parameter activitySeconds: at least 1.
    package init(activitySeconds: Int) { self.activitySeconds = activitySeconds }

    /// What the loop does with a connection.
    package enum Action: Equatable, Sendable {
        case idle
        /// Sends `pusher:ping`.
        case ping
        /// Closes the connection: the client did not respond to the ping.
        case close
    }

    /// The action that is due.
    /// - Parameters:
    ///   - silence: seconds since the client's last frame.
    ///   - hasPinged: whether the server has pinged since that frame.
    package func action(silence: Int, hasPinged: Bool) -> Action {
        if hasPinged { return silence * 2 >= activitySeconds * 3 ? .close : .idle }
        return silence * 4 >= activitySeconds * 5 ? .ping : .idle
    }
}
