import Batches
import Crypto
import Primitives

/// Seals the codes that customers tell drivers at the door. The store has only their HMACs: of four digits, a plain
/// digest would reveal the code.
struct DeliveryCodes {
    private let keys: [(id: String, key: HMACKey)]

    init(_ keys: DeviceKeys) { self.keys = keys.authenticationKeys(for: "delivery codes") }

    /// - Parameter digits: as the admin sent them.
    func seal(_ digits: String, of order: ObjectID) -> DeliveryOTP {
        .sealed(digest: keys[0].key.digest(of: Self.message(digits, order)), keyID: keys[0].id)
    }

    /// Whether a driver's code is that of the order, compared in constant time. False if the key of the stored code is no
    /// longer configured.
    func matches(_ digits: String, _ code: DeliveryOTP, of order: ObjectID) -> Bool {
        guard case .sealed(let digest, let id) = code, let key = keys.first(where: { $0.id.isSame(as: id) })?.key else {
            return false
        }
        return key.verifies(digest: digest, of: Self.message(digits, order))
    }

    private static func message(_ digits: String, _ order: ObjectID) -> [UInt8] { Array("\(order.text):\(digits)".utf8) }
}
