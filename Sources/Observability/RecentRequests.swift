/// The HTTP requests of the last 15 minutes: how many, how many failed, and how long they took. In slices of five
/// seconds, whose times are counted in buckets of at most an eighth of their value.
package struct RecentRequests: Sendable {
    /// What became of the requests of a period.
    package struct Summary: Equatable, Sendable {
        package let requests: Int
        /// Responses with status 5xx.
        package let errors: Int
        /// Milliseconds that half of the requests did not exceed, rounded up; nil without requests.
        package let p50Milliseconds: Int?
        package let p99Milliseconds: Int?
    }

    private struct Slice {
        /// Which slice since the beginning of time it is.
        var number = -1
        var errors = 0
        var times = [UInt32](repeating: 0, count: RecentRequests.bucketCount)
    }

    private static let sliceSeconds = 5
    private static let sliceCount = 180
    /// Buckets per doubling of the time.
    private static let stepsPerOctave = 8
    /// Times up to 2^26 µs, which are 67 s.
    private static let octaves = 26
    private static let bucketCount = stepsPerOctave * octaves
    private var slices: [Slice?] = Array(repeating: nil, count: sliceCount)

    package init() {}

    /// - Parameters:
    ///   - microseconds: how long the request took.
    ///   - second: the present second of a clock that only goes forward.
    package mutating func add(microseconds: UInt64, isError: Bool, at second: Int) {
        let number = second / Self.sliceSeconds
        let index = number % Self.sliceCount
        if slices[index]?.number != number {
            // Only slices in use have memory. A reused one keeps its array.
            var slice = slices[index] ?? Slice()
            slice.number = number
            slice.errors = 0
            for bucket in slice.times.indices { slice.times[bucket] = 0 }
            slices[index] = slice
        }
        slices[index]!.times[Self.bucket(microseconds)] += 1
        if isError { slices[index]!.errors += 1 }
    }

    /// The requests of the last seconds, of several loops together.
    /// - Parameter seconds: 5 to 900.
    package static func summary(of loops: [RecentRequests], seconds: Int, at second: Int) -> Summary {
        let last = second / sliceSeconds
        let first = last - seconds / sliceSeconds + 1
        var times = [Int](repeating: 0, count: bucketCount)
        var errors = 0
        for slice in loops.lazy.flatMap(\.slices) {
            guard let slice, slice.number >= first, slice.number <= last else { continue }
            errors += slice.errors
            for bucket in times.indices { times[bucket] += Int(slice.times[bucket]) }
        }
        let count = times.reduce(0, +)
        func percentile(_ percent: Int) -> Int? {
            guard count > 0 else { return nil }
            var missing = (count * percent + 99) / 100
            for (bucket, number) in times.enumerated() {
                missing -= number
                if missing <= 0 { return (upperBound(bucket) + 999) / 1_000 }
            }
            return nil
        }
        return Summary(requests: count, errors: errors, p50Milliseconds: percentile(50), p99Milliseconds: percentile(99))
    }

    /// The bucket of a time: its highest bit, and the next three.
    private static func bucket(_ microseconds: UInt64) -> Int {
        let value = max(microseconds, UInt64(stepsPerOctave))
        let octave = 63 - value.leadingZeroBitCount
        let step = Int(value >> (octave - 3)) & (stepsPerOctave - 1)
        return min((octave - 3) * stepsPerOctave + step, bucketCount - 1)
    }

    /// The smallest number of microseconds above a bucket.
    private static func upperBound(_ bucket: Int) -> Int {
        let (octave, step) = (bucket / stepsPerOctave, bucket % stepsPerOctave)
        return (stepsPerOctave + step + 1) << octave
    }
}
