import Glibc
import Synchronization

/// Limits the number of connections of the process: to its descriptor limit minus a reserve for files and outgoing
/// connections.
///
/// At the limit, loop 0 stops accepting. If it called `accept` without a free descriptor, the call would fail and the
/// listening socket would stay readable, so the loop would call it again and again. Until a connection closes, new ones
/// wait in the kernel's queue.
package final class DescriptorBudget: Sendable {
    /// Descriptors kept free for everything but client connections: `keptFree` for the process, and `keptFreePerLoop`
    /// for each loop.
    private static let keptFree = 48
    private static let keptFreePerLoop = 4
    /// The descriptor limit is never raised above this number, even if the hard limit is "infinity": each loop's
    /// libwebsockets context allocates tables for as many descriptors as the limit allows.
    private static let descriptorsMax: rlim_t = 1_048_576

    /// The number of connections that may be open at once.
    package let limit: Int
    private let open = Atomic<Int>(0)

    /// Raises the process's soft descriptor limit to the hard limit and derives the budget from it.
    package init(loopCount: Int) {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limits.rlim_cur = min(limits.rlim_max, Self.descriptorsMax)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        limit = max(1, Int(clamping: limits.rlim_cur) - Self.keptFree - Self.keptFreePerLoop * loopCount)
    }

    /// Whether the limit is reached.
    package var isExhausted: Bool { open.load(ordering: .relaxed) >= limit }

    /// Counts an accepted connection.
    func reserve() { open.wrappingAdd(1, ordering: .relaxed) }

    /// Removes a closed connection from the count.
    func release() { open.wrappingSubtract(1, ordering: .relaxed) }
}
