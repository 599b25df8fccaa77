import Configuration
import Observability
import PusherProtocol
import Webhooks

/// From what the operator wrote of webhooks to what the worker understands, and from what it counts to what operators read.
extension Settings {
    /// Where webhooks go: the endpoints of all applications that are not switched off.
    var webhookEndpoints: [WebhookEndpoint] {
        apps.enumerated().flatMap { index, app -> [WebhookEndpoint] in
            guard app.enabled, let secret = app.secrets.first else { return [] }
            return app.webhooks.map { webhook in
                WebhookEndpoint(
                    appIndex: index, key: app.key, secret: secret, url: webhook.url, events: WebhookKinds(named: webhook.events),
                    batch: webhook.batch, allowsPrivate: webhook.allowPrivate)
            }
        }
    }
}

extension WebhookWorker {
    /// Says in `log` what operators are to know.
    convenience init(endpoints: [WebhookEndpoint], log: Observability.Log) {
        self.init(endpoints: endpoints, Environment { log.report($0) })
    }

    func families(prefix: String) -> [MetricFamily] {
        let statistics = statistics
        let tally = statistics.counts
        let outcomes = [
            ("delivered", tally.delivered), ("retried", tally.retried), ("dropped", tally.dropped), ("refused", tally.refused),
        ]
        return [
            MetricFamily(
                "\(prefix)_webhook_total", .counter, help: "Webhook events, by what became of them at their endpoint.",
                samples: outcomes.map { ([("outcome", $0)], String($1)) }),
            MetricFamily(
                "\(prefix)_webhook_queue_depth", .gauge, help: "Webhook events that wait for their endpoints.",
                value: statistics.depth),
        ]
    }
}

extension Log {
    fileprivate func report(_ report: WebhookReport) {
        switch report {
        case .failing(let endpoint, let reason):
            warning("webhook_failing", ["endpoint": .text(endpoint), "reason": .text(reason)])
        case .recovered(let endpoint): info("webhook_recovered", ["endpoint": .text(endpoint)])
        case .dropped(let endpoint, let events, let reason):
            self.error(
                "webhook_dropped", ["endpoint": .text(endpoint), "events": .number(events), "reason": .text(reason)])
        case .full(let endpoint): warning("webhook_queue_full", ["endpoint": .text(endpoint)])
        case .hasRoom(let endpoint, let refused):
            info("webhook_queue_has_room", ["endpoint": .text(endpoint), "refused": .number(refused)])
        case .overrun(let refused):
            warning("webhook_notices_refused", ["refused": .number(refused), "reason": "the worker is too slow"])
        }
    }
}
