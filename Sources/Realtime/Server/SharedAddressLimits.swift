import Addresses
import Threads

/// The limits of connections per address, which all loops share: loop 0 accepts, and the others close.
package final class SharedAddressLimits: Sendable {
    private let limits: Lock<AddressLimits>

    package init(_ limits: AddressLimits) { self.limits = Lock(limits) }

    /// Decides on a connection of this address, and counts it if it is admitted.
    func decide(_ address: IPAddress) -> AddressLimits.Decision {
        let now = Int64(Clock.monotonicNanoseconds())
        return limits.withLock { $0.decide(address, now: now) }
    }

    /// Records that an admitted connection has closed.
    func closed(_ address: IPAddress) {
        let now = Int64(Clock.monotonicNanoseconds())
        limits.withLock { $0.closed(address, now: now) }
    }
}
