import Observability
import Server

extension Assembly {
    /// What `/metrics` shows.
    /// - Parameter patterns: ``Router/patterns``.
    func makeRegistry(patterns: [String]) -> MetricsRegistry {
        let (metrics, hub, fleet, cluster, webhooks) = (metrics, hub, fleet, cluster, webhooks)
        let (budget, logWriter, certificates, channelQueries) = (budget, logWriter, certificates, channelQueries)
        return MetricsRegistry(
            prefix: settings.metrics.prefix,
            [
                { LoopMetrics.families(of: metrics.loops) },
                { RequestMetrics.families(of: metrics.requests, patterns: patterns) },
                { ProcessStatistics.families },
                {
                    let loops = hub.mailboxes.enumerated().map { ("loop-\($0)", $1.depth) }
                    let ofFleet = fleet?.queues.map { ($0.name, $0.depth) } ?? []
                    let others = [
                        ("webhooks", webhooks.inbox.depth), ("channel-queries", channelQueries.depth), ("log", logWriter.depth),
                    ]
                    return [
                        MetricFamily(
                            "mailbox_depth", .gauge, "Messages queued for a thread.", by: "thread", loops + ofFleet + others)
                    ]
                },
                { hub.families },
                { metrics.families(hub) },
                { [budget.family, logWriter.family] },
                { certificates.map { [$0.family] } ?? [] },
                { hub.refusals?.families ?? [] },
                { fleet?.families ?? [] },
                { cluster?.families ?? [] },
                { webhooks.families },
            ])
    }
}
