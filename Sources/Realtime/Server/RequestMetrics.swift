import HTTP
import Observability
import Threads

/// Counts the HTTP requests of one loop by endpoint, method and status, and the time until their responses. The loop's
/// thread writes, any thread reads.
package final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        let endpoint: Int
        let method: HTTPRequest.Method?
        /// The status, or its class.
        let status: Int
    }

    private struct Counts {
        /// The requests of each key, and the times of those whose last byte was read.
        var requests: [Int] = []
        var times: [Histogram] = []
        var indexes: [Key: Int] = [:]
        /// The key of the last request: the next one usually has the same.
        var last: (key: Key, index: Int)?
        var recent = RecentRequests()

        mutating func add(_ key: Key, nanoseconds: UInt64?, at second: Int) {
            let index: Int
            if let last, last.key == key {
                index = last.index
            } else {
                index = indexes[key] ?? times.count
                if index == times.count {
                    indexes[key] = index
                    requests.append(0)
                    times.append(Histogram(bounds: RequestMetrics.bounds))
                }
                last = (key, index)
            }
            requests[index] += 1
            if let nanoseconds { times[index].observe(Double(nanoseconds) / 1e9) }
            recent.add(microseconds: nanoseconds.map { $0 / 1_000 }, isError: key.status >= 500, at: second)
        }
    }

    private static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    private let counts = Lock(Counts())

    package init() {}

    /// - Parameter now: of the monotonic clock, in nanoseconds.
    func add(_ responses: some Sequence<EventLoop.SentResponse>, now: UInt64) {
        let second = Int(now / 1_000_000_000)
        counts.withLock { counts in
            for response in responses {
                let request = response.request
                counts.add(
                    Key(endpoint: request.endpoint, method: request.method, status: response.status),
                    nanoseconds: request.receivedAt.map { now - min(now, $0) }, at: second)
            }
        }
    }

    /// The requests of the last minutes.
    package var recent: RecentRequests { counts.withLock { $0.recent } }

    /// The families of all loops together.
    /// - Parameter patterns: the patterns of the paths, by index.
    package static func families(of loops: [RequestMetrics], patterns: [String]) -> [MetricFamily] {
        var requests: [Key: Int] = [:]
        var times: [Key: Histogram] = [:]
        let counts = loops.map(\.countsByKey)  // read once, so that the families agree
        for (key, count, histogram) in counts.joined() {
            requests[key, default: 0] += count
            let ofClass = Key(endpoint: key.endpoint, method: key.method, status: key.status / 100)
            times[ofClass] = times[ofClass]?.adding(histogram) ?? histogram
        }
        func labels(_ key: Key, _ status: String) -> MetricFamily.Labels {
            [("endpoint", patterns[key.endpoint]), ("method", key.method?.rawValue ?? "other"), ("status", status)]
        }
        func ordered<Value>(_ values: [Key: Value]) -> [(key: Key, value: Value)] {
            values.sorted {
                ($0.key.endpoint, $0.key.method?.rawValue ?? "", $0.key.status)
                    < ($1.key.endpoint, $1.key.method?.rawValue ?? "", $1.key.status)
            }
        }
        return [
            MetricFamily(
                "http_calls_received_total", .counter, "HTTP requests: the sum of requests_total.", by: "loop",
                counts.enumerated().map { (String($0), $1.reduce(0) { $0 + $1.requests }) }),
            MetricFamily(
                "requests_total", .counter,
                "HTTP requests by path, method and status; 499: the client left before its response.",
                samples: ordered(requests).map { (labels($0.key, String($0.key.status)), String($0.value)) }),
            MetricFamily(
                "request_seconds", "From a request's last byte to its response's last byte handed to the socket, in seconds.",
                ordered(times).map { (labels($0.key, "\($0.key.status)xx"), $0.value) }),
        ]
    }

    /// The number of all requests.
    package var total: Int { counts.withLock { $0.requests.reduce(0, +) } }

    private var countsByKey: [(key: Key, requests: Int, times: Histogram)] {
        counts.withLock { counts in counts.indexes.map { ($0.key, counts.requests[$0.value], counts.times[$0.value]) } }
    }
}
