import Primitives

/// Seals the codes that customers tell drivers at the door: the store has only their digests.
struct DeliveryCodes {
    private let digests: KeyedDigests

    init(_ keys: DeviceKeys) { digests = KeyedDigests(keys, purpose: "delivery codes") }

    /// - Parameter digits: as the admin sent them.
    func seal(_ digits: String, of order: ObjectID) -> DeliveryOTP {
        let (keyID, digest) = digests.digest(of: Self.message(digits, order))
        return .sealed(digest: digest, keyID: keyID)
    }

    /// Whether a driver's code is that of the order. False if the key of the stored code is no longer configured.
    func matches(_ digits: String, _ code: DeliveryOTP, of order: ObjectID) -> Bool {
        guard case .sealed(let digest, let keyID) = code else { return false }
        return digests.verifies(Self.message(digits, order), digest, keyID: keyID)
    }

    private static func message(_ digits: String, _ order: ObjectID) -> [UInt8] { Array("\(order.text):\(digits)".utf8) }
}
