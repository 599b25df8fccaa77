import Crypto
import FanOut
import HTTP
import PusherProtocol

/// An application: its credentials, allowed origins and limits. One instance per thread, because threads cannot share
/// an ``HMACKey``.
package final class Application {
    /// The position in `apps` of the configuration, from 0. The hub identifies applications by this number.
    package let index: Int
    /// The id in the paths of Pusher's HTTP API: `/apps/ID/…`.
    package let id: String
    /// The key in the WebSocket URL, and before the signature in `auth`. Not secret.
    package let key: String
    package let isEnabled: Bool
    /// Whether clients must use TLS (protocol point C11).
    package let isTLSOnly: Bool
    package let origins: AllowedOrigins
    package let rules: AppRules
    /// One HMAC key per secret. The first signs; all verify, so that the old secret remains valid while it is replaced.
    private let signers: [HMACKey]
    /// The keys of encrypted channels are derived from this key. If empty, subscriptions to
    /// encrypted channels are not authorized.
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

    /// Whether `signature` is the hexadecimal HMAC-SHA256 of `text` with one of the secrets.
    package func verifies(_ signature: Substring, of text: String) -> Bool {
        signers.contains { $0.verifies(signature, of: text) }
    }

    /// Whether `signature` is the hexadecimal HMAC-SHA256 of `bytes` with one of the secrets. Allocates nothing.
    func verifies(_ signature: UnsafeRawBufferPointer, of bytes: UnsafeRawBufferPointer) -> Bool {
        signers.contains { $0.verifies(signature, of: bytes) }
    }

    /// The hexadecimal HMAC-SHA256 of `text` with the first secret.
    package func sign(_ text: String) -> String { signers[0].signature(of: text) }

    /// The key with which clients decrypt the events of an encrypted channel, in base64. Nil if
    /// the application has no master key.
    package func sharedSecret(of channel: ChannelName) -> String? {
        guard !encryptionMasterKey.isEmpty else { return nil }
        return Base64.text(SHA256.digest(of: Array(channel.text.utf8) + encryptionMasterKey))
    }
}
