import Primitives

/// What a run has measured.
package struct BenchReport: Sendable {
    /// Requests of one kind, and what became of them.
    package struct Requests: Sendable {
        package var sent = 0
        package var done = 0
        /// How many failed, by reason: `status 503`, `no response: …`.
        package var failures: [String: Int] = [:]
        /// From the moment at which the request was due to its response.
        package var latency = LatencyHistogram()

        package init() {}

        /// The requests that failed.
        package var failedCount: Int { failures.values.reduce(0, +) }
    }

    package struct Deliveries: Sendable {
        /// The accepted events times the subscribers of their channels. Set at the end of the run.
        package var expected = 0
        /// Those of the expected deliveries that arrived. Until the end of the run, all that arrived.
        package var received = 0
        package var duplicated = 0
        /// Events that arrived after an event that was sent after their response.
        package var outOfOrder = 0
        /// Events of another channel than the subscriber's, or unknown ones.
        package var misrouted = 0
        /// From the moment at which the event was due to reading its frame.
        package var latency = LatencyHistogram()

        package init() {}

        package var lost: Int { expected - received }
    }

    package var plan: BenchPlan
    /// The gateway's URL.
    package var target: String
    /// Connections: `sent` is their number so far, `done` those that have subscribed.
    package var connects = Requests()
    /// How long the connecting took.
    package var connectSeconds = 0.0
    /// Connections that the gateway closed after they had subscribed, by reason.
    package var closed: [String: Int] = [:]
    package var publishes = Requests()
    package var deliveries = Deliveries()
    /// The drivers' accepts; only of the scenario `fleet`.
    package var accepts = Requests()
    /// The notifications that the gateway counts as confirmed; nil if it does not tell.
    package var confirmed: Int?
    /// The orders of the run that the gateway still has as open.
    package var ordersLeft = 0
    /// How long events were published and awaited.
    package var seconds = 0.0
    /// The bytes that the subscribers have received.
    package var receivedBytes = 0
    /// The part of one core that this program used.
    package var cpuShare = 0.0
    package var isInterrupted = false

    package init(plan: BenchPlan, target: String) {
        self.plan = plan
        self.target = target
    }

    /// Why the run does not pass; empty if it does.
    package var problems: [String] {
        var problems: [String] = []
        func add(_ count: Int, _ text: String, _ reasons: [String: Int] = [:]) {
            guard count > 0 else { return }
            let names = reasons.ranked.map { reasons.count == 1 ? $0.reason : "\($0.reason) (\($0.count.grouped))" }
            problems.append("\(count.grouped) \(text)" + (names.isEmpty ? "" : ": " + names.joined(separator: ", ")))
        }
        if isInterrupted { problems.append("interrupted") }
        add(connects.failedCount, "of \(plan.connections.grouped) connections failed", connects.failures)
        add(closed.values.reduce(0, +), "connections were closed during the run", closed)
        add(publishes.failedCount, "publishes failed", publishes.failures)
        if !isInterrupted, connects.done > 0 {
            add(plan.eventCount - publishes.sent, "publishes could not be sent in time")
        }
        add(deliveries.lost, "of \(deliveries.expected.grouped) deliveries were lost")
        add(deliveries.duplicated, "deliveries were duplicates")
        add(deliveries.outOfOrder, "deliveries were out of order")
        add(deliveries.misrouted, "deliveries reached the wrong subscriber")
        add(accepts.failedCount, "accepts failed", accepts.failures)
        if let confirmed { add(deliveries.received - confirmed, "received notifications were not confirmed") }
        if problems.isEmpty, deliveries.received == 0 { problems.append("nothing was delivered") }
        if let limit = plan.p99MillisecondsMax, let p99 = deliveries.latency.percentile(0.99), p99 > UInt64(limit) * 1_000_000 {
            problems.append("the p99 of the delivery latency, \(p99.durationText), is above \(limit) ms")
        }
        return problems
    }
}

extension [String: Int] {
    /// The reasons, most frequent first; of equally frequent ones, by name.
    var ranked: [(reason: String, count: Int)] {
        map { (reason: $0.key, count: $0.value) }.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }
}
