import Fleet
import Observability
import Threads

/// Counts pushes, device removals and credential renewals. Lanes and the store's thread write, any thread reads.
final class PushCounters: Sendable {
    /// Values of the label `outcome`.
    enum Outcome: String, CaseIterable { case accepted, rejected, retried, expired, cancelled }

    private struct Counts {
        var outcomes: [PushProvider: [Outcome: Int]] = [:]
        var seconds: [PushProvider: Histogram] = [:]
        var removals: [String: Int] = [:]
        var renewals: [String: Int] = [:]
        var environments: [DeviceToken.Environment: Int] = [:]
    }

    /// Bucket bounds in seconds.
    private static let bounds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    private let counts = Lock(Counts())

    /// Counts pushes with an outcome.
    func count(_ outcome: Outcome, _ provider: PushProvider, _ amount: Int = 1) {
        counts.withLock { $0.outcomes[provider, default: [:]][outcome, default: 0] += amount }
    }

    /// Records a provider's response time.
    func observe(seconds: Double, _ provider: PushProvider) {
        counts.withLock { $0.seconds[provider, default: Histogram(bounds: Self.bounds)].observe(seconds) }
    }

    /// Counts a removed device.
    /// - Parameter reason: the provider's reason code, or the gateway's own.
    func countRemoval(_ reason: String) { counts.withLock { $0.removals[reason, default: 0] += 1 } }

    /// Counts a renewed credential.
    /// - Parameter kind: `apns_jwt` or `fcm_oauth`.
    func countRenewal(_ kind: String) { counts.withLock { $0.renewals[kind, default: 0] += 1 } }

    /// The number of pushes with an outcome, over all providers.
    func total(_ outcome: Outcome) -> Int {
        counts.withLock { $0.outcomes.values.reduce(0) { $0 + $1[outcome, default: 0] } }
    }

    /// Counts a device whose APNs environment became known.
    func countFound(_ environment: DeviceToken.Environment) {
        counts.withLock { $0.environments[environment, default: 0] += 1 }
    }

    func families(prefix: String) -> [MetricFamily] {
        let counts = counts.withLock { $0 }
        return [
            MetricFamily(
                "\(prefix)_push_total", .counter, help: "Pushes, by provider and outcome.",
                samples: PushProvider.allCases.flatMap { provider in
                    Outcome.allCases.map { outcome in
                        (
                            [("provider", provider.rawValue), ("outcome", outcome.rawValue)],
                            String(counts.outcomes[provider]?[outcome] ?? 0)
                        )
                    }
                }),
            MetricFamily(
                "\(prefix)_push_seconds", help: "Response time of push providers in seconds.",
                histograms: PushProvider.allCases.map {
                    ([("provider", $0.rawValue)], counts.seconds[$0] ?? Histogram(bounds: Self.bounds))
                }),
            MetricFamily(
                "\(prefix)_push_token_removals_total", .counter, help: "Devices removed, by reason.",
                samples: counts.removals.sorted { $0.key < $1.key }.map { ([("reason", $0.key)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_push_credential_renewals_total", .counter, help: "Renewed provider credentials, by kind.",
                samples: counts.renewals.sorted { $0.key < $1.key }.map { ([("kind", $0.key)], String($0.value)) }),
            MetricFamily(
                "\(prefix)_push_environment_found_total", .counter,
                help: "Devices whose APNs environment was found by trying, by environment.",
                samples: DeviceToken.Environment.allCases.map {
                    ([("environment", $0.rawValue)], String(counts.environments[$0] ?? 0))
                }),
        ]
    }
}
