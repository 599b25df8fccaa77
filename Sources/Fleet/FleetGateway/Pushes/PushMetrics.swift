import Fleet
import Observability
import Threads

/// Counts pushes, device removals and credential renewals. Lanes and the store's thread write, any thread reads.
final class PushCounters: Sendable {
    /// Values of the label `outcome`.
    enum Outcome: String, CaseIterable { case accepted, rejected, retried, expired, cancelled }

    private struct Pushes: Hashable {
        let provider: PushProvider
        let outcome: Outcome
    }

    private let pushes = LabelledCounter(
        "push_total", "Pushes, by provider and outcome.",
        keys: PushProvider.allCases.flatMap { provider in Outcome.allCases.map { Pushes(provider: provider, outcome: $0) } }
    ) { [("provider", $0.provider.rawValue), ("outcome", $0.outcome.rawValue)] }
    private let seconds = Lock(
        PushProvider.allCases.map {
            (provider: $0, histogram: Histogram(bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]))
        })
    /// By the provider's reason code, or the gateway's own.
    let removals = LabelledCounter<String>("push_token_removals_total", "Devices removed, by reason.", by: "reason")
    /// Of `apns_jwt` and `fcm_oauth`.
    let renewals = LabelledCounter<String>(
        "push_credential_renewals_total", "Renewed provider credentials, by kind.", by: "kind")
    let environments = LabelledCounter<DeviceToken.Environment>(
        "push_environment_found_total", "Devices whose APNs environment was found by trying, by environment.",
        by: "environment")

    /// Counts pushes with an outcome.
    func count(_ outcome: Outcome, _ provider: PushProvider, _ amount: Int = 1) {
        pushes.add(amount, to: Pushes(provider: provider, outcome: outcome))
    }

    /// Records a provider's response time.
    func observe(seconds value: Double, _ provider: PushProvider) {
        seconds.withLock { seconds in
            for index in seconds.indices where seconds[index].provider == provider { seconds[index].histogram.observe(value) }
        }
    }

    /// The number of pushes with an outcome, over all providers.
    func total(_ outcome: Outcome) -> Int {
        pushes.counts.reduce(0) { $0 + ($1.key.outcome == outcome ? $1.value : 0) }
    }

    var families: [MetricFamily] {
        [
            pushes.family,
            MetricFamily(
                "push_seconds", "Response time of push providers in seconds.",
                seconds.withLock { $0 }.map { ([("provider", $0.provider.rawValue)], $0.histogram) }),
            removals.family, renewals.family, environments.family,
        ]
    }
}
