import Glibc
import Observability
import Synchronization

/// Limits the number of connections of the process: to the configured number, and to its descriptor limit minus a
/// reserve for files and outgoing connections.
///
/// At the limit, loop 0 stops accepting. If it called `accept` without a free descriptor, the call would fail and the
/// listening socket would stay readable, so the loop would call it again and again. Until a connection closes, new ones
/// wait in the kernel's queue.
package final class DescriptorBudget: Sendable {
    /// The number of connections that may be open at once.
    package let limit: Int
    private let open = Atomic<Int>(0)

    package var family: MetricFamily {
        MetricFamily("descriptors_in_use", .gauge, "Descriptors of clients, which server.connections limits.", inUse)
    }

    /// Sets the process's soft descriptor limit to what the connections and the reserve need, within the hard limit.
    ///
    /// Not to the hard limit: each loop's libwebsockets context has a table of as many descriptors as the limit allows,
    /// and Debian's build of the library scans that table at every close. Create the budget before the contexts: the
    /// table does not grow with the limit.
    package init(connectionsMax: Int, loopCount: Int, webhookCount: Int) {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        let plan = DescriptorPlan(
            connectionsMax: connectionsMax, loopCount: loopCount, webhookCount: webhookCount,
            hardLimit: Int(clamping: limits.rlim_max))
        limits.rlim_cur = rlim_t(plan.descriptors)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)  // cannot fail: it does not exceed the hard limit
        limit = plan.connections
    }

    /// Whether the limit is reached.
    package var isExhausted: Bool { inUse >= limit }

    /// The number of open connections that count against the limit.
    package var inUse: Int { open.load(ordering: .relaxed) }

    /// Counts an accepted connection.
    func reserve() { open.wrappingAdd(1, ordering: .relaxed) }

    /// Removes a closed connection from the count.
    func release() { open.wrappingSubtract(1, ordering: .relaxed) }
}

/// How many descriptors the process may open, and how many of them are for connections.
struct DescriptorPlan: Equatable {
    /// Descriptors kept free for everything but client connections: `keptFree` for the process, its database and push,
    /// `keptFreePerLoop` for each loop, and `keptFreePerWebhook` for each webhook endpoint: its connection, and the pair
    /// with which libcurl waits for its address.
    private static let keptFree = 48
    private static let keptFreePerLoop = 4
    private static let keptFreePerWebhook = 3

    /// The descriptor limit to set.
    let descriptors: Int
    /// The connections that may be open at once, at least 1.
    let connections: Int

    /// - Parameters:
    ///   - connectionsMax: the configured number of connections.
    ///   - webhookCount: the webhook endpoints of all applications.
    ///   - hardLimit: the most descriptors that the process may open.
    init(connectionsMax: Int, loopCount: Int, webhookCount: Int, hardLimit: Int) {
        let reserve = Self.keptFree + Self.keptFreePerLoop * loopCount + Self.keptFreePerWebhook * webhookCount
        descriptors = min(connectionsMax + reserve, hardLimit)
        connections = max(1, descriptors - reserve)
    }
}
