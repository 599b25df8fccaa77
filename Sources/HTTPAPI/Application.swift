import Crypto
import FanOut
import HTTP
import PusherProtocol

/// An application: its credentials, allowed origins and limits. One instance per thread, because signing keys are not
/// shared.
package final class Application {
    /// The position in `apps` of the configuration (0…). The hub identifies applications by it.
    package let index: Int
    /// In the paths of Pusher's HTTP API: `/apps/ID/…`.
    package let id: String
    /// In the WebSocket URL, and in `auth` before the signature. Not secret.
    package let key: String
    package let isEnabled: Bool
    /// Whether clients must use TLS (C11).
    package let isTLSOnly: Bool
    package let origins: AllowedOrigins
    package let rules: AppRules
    /// One key per secret. The first makes signatures, all verify them: during a rotation the old secret stays valid.
    private let signers: [HMACKey]
    /// The keys of encrypted channels are derived from this key (S12). Empty: there are no encrypted channels.
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

    /// Whether `signature` is the HMAC-SHA256 of `text` with any of the secrets, in hexadecimal.
    package func verifies(_ signature: some StringProtocol, of text: String) -> Bool {
        signers.contains { $0.verifies(signature, of: text) }
    }

    /// The HMAC-SHA256 of `text` with the first secret, in hexadecimal.
    func sign(_ text: String) -> String { signers[0].signature(of: text) }

    /// The key with which clients decrypt an encrypted channel's events, in base64 (S12). Nil without a master key.
    func sharedSecret(of channel: ChannelName) -> String? {
        guard !encryptionMasterKey.isEmpty else { return nil }
        return Base64.text(SHA256.digest(of: Array(channel.text.utf8) + encryptionMasterKey))
    }
}
