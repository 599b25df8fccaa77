/// How many observations fell into which bucket, as Prometheus counts them.
package struct Histogram: Equatable, Sendable {
    /// Upper bounds, ascending.
    private let bounds: [Double]
    /// Not cumulative; the last is for what is above all bounds.
    private var counts: [Int]
    package private(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var count: Int { counts.reduce(0, +) }

    package mutating func observe(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }

    /// Each bound, and how many observations were at most so large.
    package var cumulative: [(bound: Double, count: Int)] {
        var total = 0
        return zip(bounds, counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}
