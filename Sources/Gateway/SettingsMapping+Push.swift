import Configuration
import Crypto
import FleetRules
import HTTPClient
import Push

/// Why a provider's credential or CA file cannot be used.
struct CredentialError: Error {
    /// The configuration key, such as `push.apns.key_file`.
    let key: String
    let problem: String
}

extension Settings {
    /// The provider of a lane; nil if the lane is not enabled, or if a credential of any lane cannot be used (see
    /// ``unusableKeys(file:)``).
    package func pushProvider(of lane: PushLane) -> Provider? {
        (try? push.providers())?.first { $0.lane == lane }
    }
}

extension Settings.Push {
    /// The providers of the enabled lanes.
    func providers() throws(CredentialError) -> [Provider] {
        var providers: [Provider] = []
        if apns.enabled {
            try Self.checkCertificates(apns.authorities, of: apns.caFile, key: "push.apns.ca_file")
            let token = APNsToken(teamID: apns.teamID, keyID: apns.keyID, key: try apns.privateKey())
            let hosts = [(PushLane.apns, apns.host, apns.port), (.apnsSandbox, apns.sandboxHost, apns.sandboxPort)]
            for (lane, host, port) in hosts {
                let address = APNsAddress(host: host, port: port, topic: apns.topic)
                providers.append(.apns(lane: lane, address, token: token, caFile: apns.caFile))
            }
        }
        if fcm.enabled {
            try Self.checkCertificates(fcm.authorities, of: fcm.caFile, key: "push.fcm.ca_file")
            providers.append(.fcm(baseURL: fcm.baseURL, account: try fcm.account(), caFile: fcm.caFile))
        }
        return providers
    }

    /// Checks a CA file when the gateway starts. libcurl would report an unusable file only when it connects.
    /// - Parameters:
    ///   - authorities: the file's content.
    ///   - file: the file's path; empty if none is configured.
    ///   - key: the configuration key of the path.
    private static func checkCertificates(_ authorities: String, of file: String, key: String) throws(CredentialError) {
        guard file.isEmpty || CABundle.isReadable(authorities) else {
            throw CredentialError(
                key: key, problem: "expected PEM with at least one certificate and no broken or encrypted blocks")
        }
    }
}

extension Settings.APNs {
    fileprivate func privateKey() throws(CredentialError) -> PrivateKey {
        let key: PrivateKey
        do throws(KeyError) {
            key = try PrivateKey(pem: self.key)
        } catch {
            throw CredentialError(key: "push.apns.key_file", problem: "\(error)")
        }
        guard key.kind == .p256 else {
            throw CredentialError(key: "push.apns.key_file", problem: "expected a key on the curve P-256, such as Apple issues")
        }
        return key
    }
}

extension Settings.FCM {
    fileprivate func account() throws(CredentialError) -> ServiceAccount {
        do throws(ServiceAccountError) {
            return try ServiceAccount(json: serviceAccount)
        } catch {
            throw CredentialError(key: "push.fcm.service_account_file", problem: "\(error)")
        }
    }
}

extension NotificationRules {
    /// The rules of the configured catalogue.
    init(_ settings: Settings) { self.init(settings, settings.notifications) }

    /// The rules of a catalogue that SIGHUP reloaded.
    init(_ settings: Settings, _ catalogue: NotificationCatalogue) {
        let rules = catalogue.names.compactMap { name in
            catalogue.entry(for: name).map { (name, Rule($0, mode: settings.push.mode)) }
        }
        self.init(
            rules: Dictionary(uniqueKeysWithValues: rules),
            eventBytesMax: settings.apps[settings.fleetAppIndex].limits.eventBytes)
    }
}

extension NotificationRules.Rule {
    /// The rule of an entry. If the entry sets a `push` mode other than `off`, its events are pushed to all drivers,
    /// too; if it follows the general mode, its events are pushed only to single recipients.
    fileprivate init(_ entry: NotificationCatalogue.Entry, mode: NotificationCatalogue.PushMode) {
        let push: Push =
            switch entry.push {
            case .off: .never
            case .mirror, .fallback: .broadcast
            case nil: mode == .off ? .never : .personal
            }
        self.init(lifetimeSeconds: entry.lifetimeSeconds, collapsesByJob: entry.collapse == .order, push: push)
    }
}
