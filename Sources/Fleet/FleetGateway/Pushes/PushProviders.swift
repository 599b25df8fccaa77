import Configuration
import Crypto
import Fleet
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
        (try? PushProviders(push))?.all.first { $0.lane == lane }
    }
}

/// The providers of the enabled lanes, and what they were made of.
struct PushProviders: Sendable {
    let all: [Provider]
    private let settings: Settings.Push
    private let apnsToken: APNsToken?

    /// - Parameter current: the providers in use; nil if there are none. Enabling or disabling a provider requires a
    ///   restart, so a provider keeps its settings if it would be enabled or disabled. The APNs token is used further if
    ///   it is of the same key, because Apple refuses tokens that are issued in quick succession.
    init(_ wanted: Settings.Push, replacing current: PushProviders? = nil) throws(CredentialError) {
        var settings = wanted
        if let inUse = current?.settings {
            if wanted.apns.enabled != inUse.apns.enabled { settings.apns = inUse.apns }
            if wanted.fcm.enabled != inUse.fcm.enabled { settings.fcm = inUse.fcm }
        }
        self.settings = settings
        let (apns, fcm) = (settings.apns, settings.fcm)
        var all: [Provider] = []
        var apnsToken: APNsToken?
        if apns.enabled {
            try Self.checkCertificates(apns.authorities, of: apns.caFile, key: "push.apns.ca_file")
            let key = try apns.privateKey()
            let reusable = current?.settings.apns.hasSameKey(as: apns) == true ? current?.apnsToken : nil
            let token = reusable ?? APNsToken(teamID: apns.teamID, keyID: apns.keyID, key: key)
            let hosts = [(PushLane.apns, apns.host, apns.port), (.apnsSandbox, apns.sandboxHost, apns.sandboxPort)]
            for (lane, host, port) in hosts {
                let address = APNsAddress(host: host, port: port, topic: apns.topic)
                all.append(.apns(lane: lane, address, token: token, caFile: apns.caFile))
            }
            apnsToken = token
        }
        if fcm.enabled {
            try Self.checkCertificates(fcm.authorities, of: fcm.caFile, key: "push.fcm.ca_file")
            all.append(.fcm(baseURL: fcm.baseURL, account: try fcm.account(), caFile: fcm.caFile))
        }
        (self.all, self.apnsToken) = (all, apnsToken)
    }

    /// Whether the settings of a provider differ.
    func differs(from other: PushProviders, for provider: PushProvider) -> Bool {
        switch provider {
        case .apns: settings.apns != other.settings.apns
        case .fcm: settings.fcm != other.settings.fcm
        }
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
    fileprivate func hasSameKey(as other: Settings.APNs) -> Bool {
        (teamID, keyID, key) == (other.teamID, other.keyID, other.key)
    }

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
        let limits = settings.apps[settings.fleetAppIndex].limits
        self.init(catalogue, mode: settings.push.mode, eventBytesMax: limits.eventBytes)
    }
}
