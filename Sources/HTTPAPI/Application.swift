import PusherProtocol
import Signing

/// An application as the edge knows it: who it is, what it may, and how its signatures are checked.
///
/// Belongs to one thread, as its key does.
package final class Application {
    /// Its place in the configured list, by which the hub knows it.
    package let index: Int
    package let id: String
    package let key: String
    package let isEnabled: Bool
    package let limits: Limits
    package let signer: HMACKey

    package init(index: Int, id: String, key: String, secret: String, isEnabled: Bool, limits: Limits) {
        self.index = index
        self.id = id
        self.key = key
        self.isEnabled = isEnabled
        self.limits = limits
        signer = HMACKey(secret: secret)
    }
}
