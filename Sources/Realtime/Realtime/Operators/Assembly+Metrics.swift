import Observability
import Server

extension Assembly {
    /// What `/metrics` shows.
    /// - Parameter patterns: ``Router/patterns``.
    func makeRegistry(patterns: [String]) -> MetricsRegistry {
        let (metrics, hub, service, cluster, webhooks) = (metrics, hub, service, cluster, webhooks)
        let (budget, logWriter, certificates, channelQueries) = (budget, logWriter, certificates, channelQueries)
        return MetricsRegistry(
            prefix: configuration.metrics.prefix,
            [
                { LoopMetrics.families(of: metrics.loops) },
                { RequestMetrics.families(of: metrics.requests, patterns: patterns) },
                { ProcessStatistics.families },
                {
                    let loops = hub.mailboxes.enumerated().map { ("loop-\($0)", $1.depth) }
                    let ofExtension = service?.queues.map { ($0.name, $0.depth) } ?? []
                    let others = [
                        ("webhooks", webhooks.inbox.depth), ("channel-queries", channelQueries.depth), ("log", logWriter.depth),
                    ]
                    return [
                        MetricFamily(
                            "mailbox_depth", .gauge, "Messages queued for a thread.", by: "thread", loops + ofExtension + others)
                    ]
                },
                { hub.families },
                { metrics.families(hub, and: service?.rejections ?? []) },
                { [budget.family, logWriter.family] },
                { certificates.map { [$0.family] } ?? [] },
                { hub.refusals?.families ?? [] },
                { service?.families ?? [] },
                { cluster?.families ?? [] },
                { webhooks.families },
            ])
    }
}
