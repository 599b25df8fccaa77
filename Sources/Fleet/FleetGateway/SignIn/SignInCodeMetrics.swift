import Fleet
import Observability
import PusherAPI

/// Counts what becomes of one-time codes. The store's writer and the loops write, any thread reads.
final class SignInCodeMetrics: Sendable {
    private let outcomes = LabelledCounter<SignInCodeOutcome>(
        "otp_total", "One-time codes that were asked for or typed, by outcome.", by: "outcome")
    private let limited = LabelledCounter<SignInCodeLimit>(
        "otp_limited_total", "Requests of sign-in by code that a limit refused, by limit.", by: "limit")
    private let stoppedPrefixes = Counter(
        "otp_prefix_stops_total", "Prefixes of phone numbers that stopped for an hour: many codes, and no sign-in.")
    private let verifySeconds = SharedHistogram(
        "otp_verify_seconds", "From the SMS with a code to the sign-in with it.",
        bounds: [5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300])

    func count(_ codes: SignInCodeCounts) {
        guard !codes.isEmpty else { return }
        outcomes.add(codes.outcomes)
        limited.add(codes.limited.mapValues(\.count))
        stoppedPrefixes.add(codes.stoppedPrefixes.count)
        verifySeconds.observe(codes.verifySeconds)
    }

    /// Counts a request that was refused because its address has made too many.
    func count(refusedAddress limit: AddressLimit) {
        outcomes.add(to: .limited)
        limited.add(to: limit == .codes ? .requestsPerAddress : .triesPerAddress)
    }

    var families: [MetricFamily] { [outcomes.family, limited.family, stoppedPrefixes.family, verifySeconds.family] }
}
