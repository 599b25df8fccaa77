/// The payload of a ping that stands behind notifications: 16 random bytes, so that no client can guess the payload of
/// another connection, or of a ping that it has not received.
package struct PingPayload: Equatable, Sendable {
    private let high: UInt64
    private let low: UInt64

    package init(using random: inout some RandomNumberGenerator) { (high, low) = (random.next(), random.next()) }

    /// Nil if the payload has another length: it is none of these.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        (high, low) = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    package var bytes: [UInt8] { withUnsafeBytes(of: high, Array.init) + withUnsafeBytes(of: low, Array.init) }
}
