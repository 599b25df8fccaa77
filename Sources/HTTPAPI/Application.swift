import Crypto
import FanOut
import HTTP
import PusherProtocol

/// An application as the edge knows it: who it is, what it may, and how its signatures are checked.
///
/// Belongs to one thread, as its keys do.
package final class Application {
    /// Its place in the configured list, by which the hub knows it.
    package let index: Int
    package let id: String
    package let key: String
    package let isEnabled: Bool
    /// Whether only TLS will do (C11).
    package let isTLSOnly: Bool
    package let origins: AllowedOrigins
    package let rules: AppRules
    /// The first signs; all verify, so that a secret can be replaced without a gap.
    private let signers: [HMACKey]
    /// Of which the keys of its encrypted channels are derived; empty: it has none (S12).
    private let encryptionMasterKey: [UInt8]

    package var limits: Limits { rules.limits }

    /// - Parameter secrets: at least one.
    package init(
        index: Int, id: String, key: String, secrets: [String], isEnabled: Bool = true, isTLSOnly: Bool = false,
        origins: AllowedOrigins = AllowedOrigins(["*"]), rules: AppRules = AppRules(), encryptionMasterKey: [UInt8] = []
    ) {
        self.index = index
        self.id = id
        self.key = key
        self.isEnabled = isEnabled
        self.isTLSOnly = isTLSOnly
        self.origins = origins
        self.rules = rules
        self.encryptionMasterKey = encryptionMasterKey
        signers = secrets.map { HMACKey(secret: $0) }
    }

    /// Whether `signature` is that of `text` by any of the live secrets.
    package func verifies(_ signature: some StringProtocol, of text: String) -> Bool {
        signers.contains { $0.verifies(signature, of: text) }
    }

    /// The signature of `text`, in hexadecimal.
    func sign(_ text: String) -> String { signers[0].signature(of: text) }

    /// The key of an encrypted channel, in base64: what clients decrypt its events with (S12). Nil without a master key.
    func sharedSecret(of channel: ChannelName) -> String? {
        guard !encryptionMasterKey.isEmpty else { return nil }
        return Base64.text(SHA256.digest(of: Array(channel.text.utf8) + encryptionMasterKey))
    }
}
