import Synchronization
import Threads

/// A counter of `/metrics` without labels. Any thread may count and read.
package final class Counter: Sendable {
    private let name: String
    private let help: String
    private let count = Atomic(0)

    /// - Parameters:
    ///   - name: without the prefix of all metrics.
    ///   - help: one line of text.
    package init(_ name: String, _ help: String) {
        self.name = name
        self.help = help
    }

    package func add(_ amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    package var value: Int { count.load(ordering: .relaxed) }

    package var family: MetricFamily { MetricFamily(name, .counter, help, value) }
}

/// Counters of `/metrics` that have one name and differ in their labels. Any thread may count and read.
@usableFromInline package final class LabelledCounter<Key: Hashable & Sendable>: Sendable {
    private let name: String
    private let help: String
    private let labels: @Sendable (Key) -> MetricFamily.Labels
    /// The keys that are shown, if they are known: also those that have counted nothing yet.
    private let keys: [Key]?
    @usableFromInline let values = Lock<[Key: Int]>([:])

    /// - Parameters:
    ///   - keys: all keys, in the order of their samples. Nil: those that have been counted are shown, in the order of the
    ///     labels' values.
    ///   - labels: those of a key.
    package init(
        _ name: String, _ help: String, keys: [Key]? = nil, labels: @escaping @Sendable (Key) -> MetricFamily.Labels
    ) {
        self.name = name
        self.help = help
        self.keys = keys
        self.labels = labels
    }

    /// A single label, of which all values are known.
    package convenience init(_ name: String, _ help: String, by label: String)
    where Key: RawRepresentable<String> & CaseIterable {
        self.init(name, help, keys: Array(Key.allCases)) { [(label, $0.rawValue)] }
    }

    /// A single label.
    package convenience init(_ name: String, _ help: String, by label: String) where Key == String {
        self.init(name, help) { [(label, $0)] }
    }

    @inlinable package func add(_ amount: Int = 1, to key: Key) {
        values.withLock { $0[key, default: 0] += amount }
    }

    @inlinable package func add(_ amounts: some Collection<(key: Key, value: Int)>) {
        guard !amounts.isEmpty else { return }
        values.withLock { values in for (key, amount) in amounts where amount != 0 { values[key, default: 0] += amount } }
    }

    package var counts: [Key: Int] { values.withLock { $0 } }

    /// The labels and counts in the order in which they are shown.
    package var samples: [(labels: MetricFamily.Labels, count: Int)] {
        let counts = counts
        if let keys { return keys.map { (labels($0), counts[$0, default: 0]) } }
        return counts.map { (labels($0), $1) }.sorted {
            $0.labels.map(\.value).lexicographicallyPrecedes($1.labels.map(\.value))
        }
    }

    package var family: MetricFamily {
        MetricFamily(name, .counter, help, samples: samples.map { ($0.labels, String($0.count)) })
    }
}
