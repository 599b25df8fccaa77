/// The HTTP requests of the last 15 minutes: how many, how many failed, and how long they took. In slices of five
/// seconds, whose times are counted in buckets of at most an eighth of their value.
package struct RecentRequests: Sendable {
    /// What became of the requests of a period.
    package struct Summary: Equatable, Sendable {
        package let requests: Int
        /// Responses with status 5xx.
        package let errors: Int
        /// Milliseconds that half of the timed requests did not exceed, rounded up; nil without requests.
        package let p50Milliseconds: Int?
        package let p99Milliseconds: Int?
    }

    private static let sliceSeconds = 5
    private static let sliceCount = 180
    /// Buckets per doubling of the time.
    private static let stepsPerOctave = 8
    /// Times up to 2^26 µs, which are 67 s.
    private static let octaves = 26
    private static let bucketCount = stepsPerOctave * octaves
    /// Which slice since the beginning of time each one is.
    private var numbers = [Int](repeating: -1, count: sliceCount)
    private var errors = [Int](repeating: 0, count: sliceCount)
    /// Requests whose time is unknown.
    private var untimed = [Int](repeating: 0, count: sliceCount)
    /// The buckets of one slice after the other: 150 KB.
    private var times = [UInt32](repeating: 0, count: sliceCount * bucketCount)

    package init() {}

    /// - Parameters:
    ///   - microseconds: how long the request took; nil if its end never came.
    ///   - second: the present second of a clock that only goes forward.
    package mutating func add(microseconds: UInt64?, isError: Bool, at second: Int) {
        let number = second / Self.sliceSeconds
        let slice = number % Self.sliceCount
        if numbers[slice] != number {
            numbers[slice] = number
            errors[slice] = 0
            untimed[slice] = 0
            for bucket in Self.buckets(of: slice) { times[bucket] = 0 }
        }
        if let microseconds {
            times[slice * Self.bucketCount + Self.bucket(microseconds)] += 1
        } else {
            untimed[slice] += 1
        }
        if isError { errors[slice] += 1 }
    }

    /// The requests of the last seconds, of several loops together.
    /// - Parameter seconds: 5 to 900.
    package static func summary(of loops: [RecentRequests], seconds: Int, at second: Int) -> Summary {
        let last = second / sliceSeconds
        let period = (last - seconds / sliceSeconds + 1)...last
        var times = [Int](repeating: 0, count: bucketCount)
        var (errors, untimed) = (0, 0)
        for loop in loops {
            for slice in 0..<sliceCount where period.contains(loop.numbers[slice]) {
                errors += loop.errors[slice]
                untimed += loop.untimed[slice]
                for (bucket, index) in buckets(of: slice).enumerated() { times[bucket] += Int(loop.times[index]) }
            }
        }
        return Summary(
            requests: times.reduce(untimed, +), errors: errors, p50Milliseconds: percentile(50, of: times),
            p99Milliseconds: percentile(99, of: times))
    }

    private static func percentile(_ percent: Int, of times: [Int]) -> Int? {
        var missing = (times.reduce(0, +) * percent + 99) / 100
        guard missing > 0 else { return nil }
        for (bucket, count) in times.enumerated() {
            missing -= count
            if missing <= 0 { return (upperBound(bucket) + 999) / 1_000 }
        }
        return nil
    }

    private static func buckets(of slice: Int) -> Range<Int> { slice * bucketCount..<(slice + 1) * bucketCount }

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
