import Configuration
import Observability
import Realtime
import Server
import Threads

/// The running gateway: a Pusher server and, unless `fleet.enabled` is false, the fleet on top of it. SIGHUP reloads a part of
/// the configuration.
package struct Gateway {
    let server: RealtimeServer
    let settings: Settings
    /// Nil if the gateway is a plain Pusher server.
    let fleet: FleetService?
    let log: Log
    let readSettings: () throws(ConfigurationErrors) -> Settings

    /// The port that the gateway listens on. If the configured port is 0, the kernel chose it.
    package var port: UInt16 { server.port }

    /// Starts all threads. On return, the gateway serves.
    /// - Parameters:
    ///   - inherited: the socket of the service manager; nil: a new one listens on the configured address.
    ///   - logWriter: writes the lines of `log`. It is started here, and stopped by the caller.
    ///   - readSettings: reads the configuration again, for SIGHUP.
    /// - Throws: ``StartError`` if the address cannot be bound, or the store, a key or the certificate is unusable.
    package init(
        settings: Settings, inherited: Listener?, log: Log, logWriter: LogWriter,
        readSettings: @escaping () throws(ConfigurationErrors) -> Settings
    ) throws(StartError) {
        self.settings = settings
        self.log = log
        self.readSettings = readSettings
        let fleet = settings.fleet.enabled ? FleetExtension(settings) : nil
        server = try RealtimeServer(
            settings.realtime, extension: fleet, inherited: inherited, log: log, logWriter: logWriter)
        self.fleet = fleet?.takeService()
        settings.logWarnings(to: log)
    }

    /// Serves until SIGTERM or SIGINT, then drains: see ``RealtimeServer/runUntilSignalled(onHangUp:)``. SIGHUP reloads the
    /// notification catalogue, the certificates, and the settings of push providers.
    /// - Returns: whether all that was answered with 200 is in the store that the next start opens.
    package func runUntilSignalled() -> Bool {
        server.runUntilSignalled(onHangUp: reload)
        return fleet?.isStoreIntact ?? true
    }
}
