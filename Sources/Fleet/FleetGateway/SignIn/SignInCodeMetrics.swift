import Fleet
import Observability
import PusherAPI
import Threads

/// Counts what becomes of one-time codes. The store's writer and the loops write, any thread reads.
final class SignInCodeMetrics: Sendable {
    private struct Counts {
        var outcomes: [SignInCodeOutcome: Int] = [:]
        var limited: [SignInCodeLimit: Int] = [:]
        var stoppedPrefixes = 0
        var verifySeconds = Histogram(bounds: [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300])
    }

    private let counts = Lock(Counts())

    func count(_ codes: SignInCodeCounts) {
        guard !codes.isEmpty else { return }
        counts.withLock { counts in
            counts.outcomes.merge(codes.outcomes, uniquingKeysWith: +)
            counts.limited.merge(codes.limited.mapValues(\.count), uniquingKeysWith: +)
            counts.stoppedPrefixes += codes.stoppedPrefixes.count
            for seconds in codes.verifySeconds { counts.verifySeconds.observe(seconds) }
        }
    }

    /// Counts a request that was refused because its address has made too many.
    func count(refusedAddress limit: AddressLimit) {
        counts.withLock { counts in
            counts.outcomes[.limited, default: 0] += 1
            counts.limited[limit == .codes ? .requestsPerAddress : .triesPerAddress, default: 0] += 1
        }
    }

    func families(prefix: String) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        return [
            MetricFamily(
                "\(prefix)_otp_total", .counter, help: "One-time codes that were asked for or typed, by outcome.",
                samples: SignInCodeOutcome.allCases.map { ([("outcome", $0.rawValue)], String(counts.outcomes[$0] ?? 0)) }),
            MetricFamily(
                "\(prefix)_otp_limited_total", .counter, help: "Requests of sign-in by code that a limit refused, by limit.",
                samples: SignInCodeLimit.allCases.map { ([("limit", $0.rawValue)], String(counts.limited[$0] ?? 0)) }),
            MetricFamily(
                "\(prefix)_otp_prefix_stops_total", .counter,
                help: "Prefixes of phone numbers that stopped for an hour: many codes, and no sign-in.",
                value: counts.stoppedPrefixes),
            MetricFamily(
                "\(prefix)_otp_verify_seconds", help: "From the SMS with a code to the sign-in with it.",
                histograms: [([], counts.verifySeconds)]),
        ]
    }
}
