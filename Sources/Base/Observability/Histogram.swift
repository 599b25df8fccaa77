import Threads

/// A Prometheus histogram: the number of observations per bucket, and their sum.
package struct Histogram: Equatable, Sendable {
    /// Inclusive upper bounds, ascending.
    private let bounds: [Double]
    /// Observations per bucket, not cumulative. The last bucket is for values above all bounds.
    private var counts: [Int]
    /// The sum of all observed values.
    package private(set) var sum = 0.0

    /// - Parameter bounds: inclusive upper bounds, ascending; without +Inf.
    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// A histogram of observations that were counted elsewhere.
    /// - Parameter counts: per bucket, not cumulative; one more than there are bounds.
    package init(bounds: [Double], counts: [Int], sum: Double) {
        precondition(counts.count == bounds.count + 1, "a histogram has one bucket for what is above all bounds")
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    /// The number of observations.
    package var count: Int { counts.reduce(0, +) }

    /// Adds an observation.
    package mutating func observe(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }

    /// The observations of both histograms, which have the same bounds.
    package func adding(_ other: Histogram) -> Histogram {
        precondition(bounds == other.bounds, "histograms with other bounds cannot be added")
        var sum = self
        for index in counts.indices { sum.counts[index] += other.counts[index] }
        sum.sum += other.sum
        return sum
    }

    /// Each bound with the number of observations that do not exceed it.
    package var cumulative: [(bound: Double, count: Int)] {
        var total = 0
        return zip(bounds, counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}

/// A histogram of `/metrics` without labels. Any thread may observe and read.
package final class SharedHistogram: Sendable {
    private let name: String
    private let help: String
    private let histogram: Lock<Histogram>

    /// - Parameters:
    ///   - name: without the prefix of all metrics.
    ///   - help: one line of text.
    ///   - bounds: inclusive upper bounds, ascending; without +Inf.
    package init(_ name: String, _ help: String, bounds: [Double]) {
        self.name = name
        self.help = help
        histogram = Lock(Histogram(bounds: bounds))
    }

    package func observe(_ value: Double) { histogram.withLock { $0.observe(value) } }

    package func observe(_ values: [Double]) {
        guard !values.isEmpty else { return }
        histogram.withLock { histogram in for value in values { histogram.observe(value) } }
    }

    package var family: MetricFamily { MetricFamily(name, help, histogram.withLock { $0 }) }
}
