import Glibc
import Synchronization

/// How many connections this process may hold: its descriptor limit less a reserve for files and upstreams.
///
/// At the limit nothing is accepted any more: an accept that fails for want of a descriptor stays ready for ever, and
/// burns a core. Those who wait do so in the kernel's queue.
package final class DescriptorBudget: Sendable {
    /// Descriptors kept for everything that is not a connection: some for the process, some for each loop.
    private static let reserve = 48
    private static let reservePerLoop = 4
    /// The library has tables for every descriptor there may be, on each loop: where the limit is "infinity", this is.
    private static let descriptorsMax: rlim_t = 1_048_576

    /// Connections that may be open at once.
    package let limit: Int
    private let open = Atomic<Int>(0)

    /// Raises the soft limit to the hard one and works with that.
    package init(loopCount: Int) {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limits.rlim_cur = min(limits.rlim_max, Self.descriptorsMax)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limit = max(1, Int(clamping: limits.rlim_cur) - Self.reserve - Self.reservePerLoop * loopCount)
    }

    var isExhausted: Bool { open.load(ordering: .relaxed) >= limit }

    func take() { open.wrappingAdd(1, ordering: .relaxed) }

    func release() { open.wrappingSubtract(1, ordering: .relaxed) }
}
