import PusherProtocol

/// The quota of connections of an application.
extension Hub {
    /// Whether an application may have one more connection.
    package func hasRoomForConnection(app: AppIndex) -> Bool {
        let limit = apps[app].rules.limits.connections
        return limit == 0 || apps[app].connectionCount < limit
    }
}
