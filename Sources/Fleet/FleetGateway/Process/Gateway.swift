import Configuration
import Observability
import Realtime
import Server
import Threads

/// The running gateway: a Pusher server and, unless `fleet.enabled` is false, the fleet on top of it. SIGHUP reloads a part of
/// the configuration.
package struct Gateway {
    private let server: RealtimeServer
    private let settings: Settings
    /// Nil if the gateway is a plain Pusher server.
    private let fleet: FleetService?
    private let log: Log
    private let readSettings: () throws(ConfigurationErrors) -> Settings

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
        self.fleet = fleet?.service
        settings.logWarnings(to: log)
    }

    /// Serves until SIGTERM or SIGINT, then drains: see ``RealtimeServer/runUntilSignalled(onHangUp:)``. SIGHUP reloads the
    /// notification catalogue, the certificates, and the settings of push providers.
    /// - Returns: whether all that was answered with 200 is in the store that the next start opens.
    package func runUntilSignalled() -> Bool {
        server.runUntilSignalled(onHangUp: reload)
        return fleet?.isStoreIntact ?? true
    }

    /// Replaces the notification catalogue, the certificates and the settings of push providers. An invalid configuration
    /// changes nothing.
    private func reload() {
        do throws(ConfigurationErrors) {
            let new = try readSettings()
            try use(new)
            log.info(
                "reloaded",
                [
                    "notifications": .number(new.notifications.names.count), "certificates": .number(new.server.tls.count),
                ])
            if new.differsBesidesReloaded(from: settings) {
                log.warning("reload_incomplete", ["hint": "other settings changed: restart to apply them"])
            }
        } catch {
            log.error(
                "reload_failed",
                ["reason": .text(error.description), "hint": "the previous texts, certificates and keys stay in use"])
        }
    }

    private func use(_ new: Settings) throws(ConfigurationErrors) {
        do throws(StartError) {
            try server.use(new.server.tls)
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: "server.tls", problem: "cannot \(error)")])
        }
        do throws(CredentialError) {
            try fleet?.use(new)
        } catch {
            throw ConfigurationErrors([ConfigurationError(file: error.key, problem: error.problem)])
        }
    }
}

extension Settings {
    /// Whether a setting changed that is only read at the start.
    fileprivate func differsBesidesReloaded(from old: Settings) -> Bool {
        var other = self
        other.notifications = old.notifications
        if other.push.apns.enabled == old.push.apns.enabled { other.push.apns = old.push.apns }
        if other.push.fcm.enabled == old.push.fcm.enabled { other.push.fcm = old.push.fcm }
        if other.server.tls.isEmpty == old.server.tls.isEmpty { other.server.tls = old.server.tls }
        other.server.port = old.server.port  // may differ from the file: the command line overrides it
        return other != old
    }
}
