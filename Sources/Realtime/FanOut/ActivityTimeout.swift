/// Decides when the server pings a silent connection, and when it closes the connection (protocol point P4).
///
/// A client pings by itself after `t` seconds of silence, where `t` is the activity timeout. If the server receives no
/// message and no pong for 1.25 t seconds, it pings the client. If it has still received none after 1.5 t seconds, it
/// closes the connection.
package struct ActivityTimeout: Equatable, Sendable {
    /// The activity timeout in seconds, as advertised to clients (C4).
    package let activitySeconds: Int

    /// - Parameter activitySeconds: at least 1.
    package init(activitySeconds: Int) { self.activitySeconds = activitySeconds }

    /// What the server does with a connection.
    package enum Action: Equatable, Sendable {
        /// Does nothing: neither a ping nor a close is due.
        case wait
        /// Sends `pusher:ping`.
        case ping
        /// Closes the connection: the client did not respond to the ping.
        case close
    }

    /// The action that is due now.
    /// - Parameters:
    ///   - silence: seconds since the client's last message or pong.
    ///   - hasPinged: whether the server has pinged since then.
    package func action(silence: Int, hasPinged: Bool) -> Action {
        if hasPinged { return silence * 2 >= activitySeconds * 3 ? .close : .wait }
        return silence * 4 >= activitySeconds * 5 ? .ping : .wait
    }
}
