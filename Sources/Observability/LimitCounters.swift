import Synchronization

/// A limit whose rejections are counted in the family `limited_total`, because it has no family of its own. The raw
/// value is the limit's configuration key, without its section, and the label `limit`: dashboards and alerts use it.
package enum Limit: String, CaseIterable, Sendable {
    case connectionsPerIP = "connections_per_ip"
    case handshakesPerIP = "handshakes_per_ip_per_second"
    case bufferBytes = "buffer_bytes"

    fileprivate var index: Int { Self.allCases.firstIndex(of: self)! }  // `allCases` has every case
}

/// The number of rejections by each ``Limit``. Any thread counts and reads.
package final class LimitCounters: @unchecked Sendable {  // the values are atomic, the pointer never changes
    private let values: UnsafeMutablePointer<Atomic<Int>>

    /// All counts start at 0.
    package init() {
        values = .allocate(capacity: Limit.allCases.count)
        for limit in Limit.allCases { (values + limit.index).initialize(to: Atomic(0)) }
    }

    deinit {
        values.deinitialize(count: Limit.allCases.count)
        values.deallocate()
    }

    /// Counts a rejection.
    package func count(_ limit: Limit) { values[limit.index].wrappingAdd(1, ordering: .relaxed) }

    /// The number of rejections so far.
    package subscript(limit: Limit) -> Int { values[limit.index].load(ordering: .relaxed) }
}

/// Decides when rejections are logged: soon after the first one, then at most once per ``intervalSeconds`` and limit, so
/// that a flood of rejections does not become a flood of log lines.
package struct LimitLog {
    /// The shortest time between two lines about the same limit.
    package static let intervalSeconds = 10

    private var logged: [Limit: (count: Int, at: Int)] = [:]

    package init() {}

    /// The limits to log now, with their rejections since their last line. Call it once a second.
    /// - Parameter second: the current second on the monotonic clock.
    package mutating func due(_ counters: LimitCounters, at second: Int) -> [(limit: Limit, count: Int)] {
        Limit.allCases.compactMap { limit in
            let (total, last) = (counters[limit], logged[limit])
            guard total > last?.count ?? 0, last.map({ second - $0.at >= Self.intervalSeconds }) ?? true else { return nil }
            logged[limit] = (total, second)
            return (limit, total - (last?.count ?? 0))
        }
    }
}
