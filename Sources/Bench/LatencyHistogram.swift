/// Counts durations in buckets whose width grows with the duration, so that a percentile is at most 1/128 too large and
/// a million samples need no more memory than one.
///
/// Each power of two has 128 buckets of the same width; durations below 128 ns have one each.
package struct LatencyHistogram: Equatable, Sendable {
    private static let bits = 7
    private static let perPower = 1 << bits

    private var counts = [UInt64](repeating: 0, count: (64 - bits + 1) * perPower)
    package private(set) var count: UInt64 = 0
    /// The largest duration, exact.
    package private(set) var max: UInt64 = 0

    package init() {}

    /// Counts a duration in nanoseconds.
    package mutating func record(_ nanoseconds: UInt64) {
        counts[Self.bucket(of: nanoseconds)] += 1
        count += 1
        if nanoseconds > max { max = nanoseconds }
    }

    /// The duration that a part of all durations does not exceed; nil without durations.
    /// - Parameter part: 0 to 1, such as 0.99.
    package func percentile(_ part: Double) -> UInt64? {
        guard count > 0 else { return nil }
        let wanted = Swift.max(1, UInt64((part * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (bucket, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return min(max, Self.upperEnd(of: bucket)) }
        }
        return max
    }

    private static func bucket(of value: UInt64) -> Int {
        guard value >= perPower else { return Int(value) }
        let shift = 63 - value.leadingZeroBitCount - bits
        return (shift + 1) * perPower + Int(value >> UInt64(shift)) - perPower
    }

    /// The largest duration of a bucket.
    private static func upperEnd(of bucket: Int) -> UInt64 {
        guard bucket >= perPower else { return UInt64(bucket) }
        let shift = UInt64(bucket / perPower - 1)
        let start = UInt64(perPower + bucket % perPower) << shift
        return start + (1 << shift - 1)
    }
}
