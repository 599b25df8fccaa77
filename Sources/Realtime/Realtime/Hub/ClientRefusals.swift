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
    private struct Counts {
        var subscriptions: [SubscriptionRefusal: Int] = [:]
        var proxyHeaders: [ProxyHeaderRefusal: Int] = [:]
    }

    /// The label of subscriptions to channels without a rule.
    static let noPattern = "none"

    private let counts = Lock(Counts())
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
        counts.withLock { $0.subscriptions[refusal, default: 0] += 1 }
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
        counts.withLock { $0.proxyHeaders[reason, default: 0] += 1 }
        proxyLog.write { ["peer": .text(peer.description), "reason": .text(reason.rawValue)] }
    }

    /// Logs how many lines were left out. Call it once a second.
    func flush() {
        for log in [subscriptionLog, keyLog, proxyLog] { log.flush() }
    }

    /// The refused subscriptions so far, by pattern and reason, in the order of these.
    private var subscriptions: [(pattern: String, reason: String, count: Int)] {
        counts.withLock { $0.subscriptions }
            .map { (pattern: $0.key.pattern ?? Self.noPattern, reason: $0.key.reason.rawValue, count: $0.value) }
            .sorted { ($0.pattern, $0.reason) < ($1.pattern, $1.reason) }
    }

    private var proxyHeaders: [(reason: String, count: Int)] {
        let counts = counts.withLock { $0.proxyHeaders }
        return ProxyHeaderRefusal.allCases.compactMap { reason in counts[reason].map { (reason.rawValue, $0) } }
    }

    func families(prefix: String) -> [MetricFamily] {
        [
            MetricFamily(
                "\(prefix)_subscriptions_refused_total", .counter,
                help: "Refused subscriptions, by the pattern of the channel's rule and by reason.",
                samples: subscriptions.map { ([("pattern", $0.pattern), ("reason", $0.reason)], String($0.count)) }),
            MetricFamily(
                "\(prefix)_proxy_headers_refused_total", .counter,
                help: "Connections closed because they did not begin with a PROXY header of a trusted peer, by reason.",
                samples: proxyHeaders.map { ([("reason", $0.reason)], String($0.count)) }),
        ]
    }

    /// Writes the members for `GET /api/ops/stats`.
    package func write(to json: inout JSONWriter) {
        json.member("refusedSubscriptions") { json in
            for refused in subscriptions {
                json.key("\(refused.pattern) \(refused.reason)")
                json.integer(refused.count)
            }
        }
        json.member("refusedProxyHeaders") { json in
            for refused in proxyHeaders {
                json.key(refused.reason)
                json.integer(refused.count)
            }
        }
    }
}
