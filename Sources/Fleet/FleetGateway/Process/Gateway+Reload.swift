import Configuration
import Observability
import Realtime
import Server

/// SIGHUP: the configuration is read again.
extension Gateway {
    /// Replaces the notification catalogue, the certificates and the settings of push providers. An invalid configuration
    /// changes nothing.
    func reload() {
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
