import Synchronization

/// How long the turns of a loop take. Only the loop's thread writes; any thread reads.
package final class TurnTimes: @unchecked Sendable {  // the values are atomic, the pointer never changes
    /// Inclusive upper bounds, ascending.
    private static let seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    private static let nanoseconds = seconds.map { UInt64($0 * 1e9) }

    /// The turns of each bucket, then those above all bounds, then the sum of all in nanoseconds.
    private let values: UnsafeMutablePointer<Atomic<Int>>
    private static let count = seconds.count + 2

    /// No turn yet.
    package init() {
        values = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (values + index).initialize(to: Atomic(0)) }
    }

    deinit {
        values.deinitialize(count: Self.count)
        values.deallocate()
    }

    /// Adds a turn, on the loop's thread.
    package func observe(nanoseconds: UInt64) {
        add(1, to: Self.nanoseconds.firstIndex { nanoseconds <= $0 } ?? Self.nanoseconds.count)
        add(Int(clamping: nanoseconds), to: Self.count - 1)
    }

    /// A load and a store, as in ``LoopMetrics/add(_:to:)``.
    private func add(_ amount: Int, to index: Int) {
        values[index].store(values[index].load(ordering: .relaxed) + amount, ordering: .relaxed)
    }

    /// The turns so far.
    package var histogram: Histogram {
        let values = (0..<Self.count).map { self.values[$0].load(ordering: .relaxed) }
        return Histogram(bounds: Self.seconds, counts: Array(values.dropLast()), sum: Double(values[Self.count - 1]) / 1e9)
    }
}
