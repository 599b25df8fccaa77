import Configuration
import Realtime

extension Settings {
    /// What the Pusher server is told.
    var realtime: RealtimeConfiguration {
        var configuration = RealtimeConfiguration()
        configuration.server = server
        configuration.apps = apps.map(\.realtime)
        configuration.replayProtection = auth.replayProtection
        configuration.cluster = cluster
        configuration.metrics = metrics
        return configuration
    }
}
