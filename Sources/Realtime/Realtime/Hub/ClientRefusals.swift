import Addresses
import FanOut
import JSON
import Observability
import PusherProtocol
import Server
import Threads

/// Counts and logs what the gateway refuses to apps and load balancers that are set up wrongly: subscriptions, keys of
/// applications, headers of the PROXY protocol. Such an app looks healthy and gets nothing, so operators have to be told.
///
/// What is counted is bounded: patterns and applications are those of the configuration, reasons are enumerations. Any thread
/// may use it, also while the hub is locked.
package final class ClientRefusals: Sendable {
    /// The label of subscriptions to channels without a rule.
    static let noPattern = "none"

    private let subscriptions = LabelledCounter<SubscriptionRefusal>(
        "subscriptions_refused_total", "Refused subscriptions, by the pattern of the channel's rule and by reason."
    ) { [("pattern", $0.pattern ?? noPattern), ("reason", $0.reason.rawValue)] }
    private let proxyHeaders = LabelledCounter<ProxyHeaderRefusal>(
        "proxy_headers_refused_total",
        "Connections closed because they did not begin with a PROXY header of a trusted peer, by reason."
    ) { [("reason", $0.rawValue)] }
    /// The ids of the applications.
    private let apps: [String]
    private let subscriptionLog: RateLimitedLog
    private let keyLog: RateLimitedLog
    private let proxyLog: RateLimitedLog

    init(apps: [String], log: Log) {
        self.apps = apps
        subscriptionLog = RateLimitedLog(log, .warning, "subscription_refused")
        keyLog = RateLimitedLog(log, .warning, "app_key_unknown")
        proxyLog = RateLimitedLog(log, .warning, "proxy_header_refused")
    }

    func record(_ refusal: SubscriptionRefusal, app: AppIndex) {
        subscriptions.add(to: refusal)
        subscriptionLog.write {
            [
                "pattern": .text(refusal.pattern ?? Self.noPattern), "reason": .text(refusal.reason.rawValue),
                "app": .text(apps[app]),
            ]
        }
    }

    /// Records a client that has named an unknown application. Its close is counted as that of code 4001.
    /// - Parameter key: what it has named.
    func record(unknownKey key: String, from address: IPAddress) {
        keyLog.write { ["key": .text(key.clipped), "address": .text(address.description)] }
    }

    /// Records a connection that does not begin as the PROXY protocol demands.
    func record(_ reason: ProxyHeaderRefusal, from peer: IPAddress) {
        proxyHeaders.add(to: reason)
        proxyLog.write { ["peer": .text(peer.description), "reason": .text(reason.rawValue)] }
    }

    /// Logs how many lines were left out. Call it once a second.
    func flush() {
        for log in [subscriptionLog, keyLog, proxyLog] { log.flush() }
    }

    var families: [MetricFamily] { [subscriptions.family, proxyHeaders.family] }

    /// Writes the members for `GET /api/ops/stats`.
    package func write(to json: inout JSONWriter) {
        json.member("refusedSubscriptions") { $0.write(subscriptions.samples) }
        json.member("refusedProxyHeaders") { $0.write(proxyHeaders.samples) }
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ samples: [(labels: MetricFamily.Labels, count: Int)]) {
        for (labels, count) in samples {
            key(labels.map(\.value).joined(separator: " "))
            integer(count)
        }
    }
}
