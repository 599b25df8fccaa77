import HTTP
import Observability
import Threads

/// A request that was answered.
struct AnsweredRequest {
    /// The index of the pattern of its path; see ``EventLoopDelegate/decide(on:_:)``.
    let endpoint: Int
    /// Nil if the request could not be read.
    let method: HTTPRequest.Method?
    let status: Int
    /// From the request's last byte read to the response's last byte handed to the socket.
    let nanoseconds: UInt64
}

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
        var requests: [Key: Int] = [:]
        var times: [Key: Histogram] = [:]
        var recent = RecentRequests()
    }

    private static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    private let counts = Lock(Counts())

    package init() {}

    /// - Parameter now: of the monotonic clock, in nanoseconds.
    func add(_ answers: [AnsweredRequest], now: UInt64) {
        counts.withLock { counts in
            for answer in answers {
                counts.requests[Key(endpoint: answer.endpoint, method: answer.method, status: answer.status), default: 0] += 1
                let key = Key(endpoint: answer.endpoint, method: answer.method, status: answer.status / 100)
                counts.times[key, default: Histogram(bounds: Self.bounds)].observe(Double(answer.nanoseconds) / 1e9)
                counts.recent.add(
                    microseconds: answer.nanoseconds / 1_000, isError: answer.status >= 500, at: Int(now / 1_000_000_000))
            }
        }
    }

    /// The requests of the last minutes.
    package var recent: RecentRequests { counts.withLock { $0.recent } }

    /// The families of all loops together.
    /// - Parameter patterns: the patterns of the paths, by index.
    package static func families(_ loops: [RequestMetrics], patterns: [String], prefix: String) -> [MetricFamily] {
        var sums: (requests: [Key: Int], times: [Key: Histogram]) = ([:], [:])
        for loop in loops {
            let counts = loop.counts.withLock { ($0.requests, $0.times) }
            sums.requests.merge(counts.0, uniquingKeysWith: +)
            sums.times.merge(counts.1) { $0.adding($1) }
        }
        func labels(_ key: Key, _ status: String) -> [(name: String, value: String)] {
            [("endpoint", patterns[key.endpoint]), ("method", key.method?.rawValue ?? "other"), ("status", status)]
        }
        func ordered<Value>(_ sums: [Key: Value]) -> [(key: Key, value: Value)] {
            sums.sorted {
                ($0.key.endpoint, $0.key.method?.rawValue ?? "", $0.key.status)
                    < ($1.key.endpoint, $1.key.method?.rawValue ?? "", $1.key.status)
            }
        }
        return [
            MetricFamily(
                "\(prefix)_requests_total", .counter,
                help: "HTTP requests by path, method and status; 499: the client left before its response.",
                samples: ordered(sums.requests).map { (labels($0.key, String($0.key.status)), String($0.value)) }),
            MetricFamily(
                "\(prefix)_request_seconds",
                help: "From a request's last byte to its response's last byte handed to the socket, in seconds.",
                histograms: ordered(sums.times).map { (labels($0.key, "\($0.key.status)xx"), $0.value) }),
        ]
    }
}
