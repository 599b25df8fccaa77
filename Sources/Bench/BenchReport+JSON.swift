import JSON

extension BenchReport {
    /// The report as one JSON object. All numbers are integers; latencies are in microseconds.
    package var json: [UInt8] {
        var json = JSONWriter(capacity: 2_048)
        json.object {
            $0.member("scenario", plan.scenario.rawValue)
            $0.member("target", target)
            $0.member("connects") {
                $0.member("requested", plan.connections)
                $0.member("done", connects.done)
                $0.member("failed", connects.failedCount)
                $0.reasons("failures", connects.failures)
                $0.member("perSecond", Self.rate(connects.done, connectSeconds))
                $0.member("latency") { $0.percentiles(connects.latency) }
            }
            $0.reasons("closed", closed)
            $0.member("publishes") {
                $0.member("scheduled", plan.eventCount)
                $0.requests(publishes, seconds)
            }
            $0.member("deliveries") {
                $0.member("expected", deliveries.expected)
                $0.member("received", deliveries.received)
                $0.member("lost", deliveries.lost)
                $0.member("duplicated", deliveries.duplicated)
                $0.member("outOfOrder", deliveries.outOfOrder)
                $0.member("misrouted", deliveries.misrouted)
                $0.member("perSecond", Self.rate(deliveries.received, seconds))
                $0.member("latency") { $0.percentiles(deliveries.latency) }
            }
            if plan.scenario == .fleet {
                $0.member("accepts") { $0.requests(accepts, seconds) }
                $0.member("confirmed", confirmed)
                $0.member("ordersLeft", ordersLeft)
            }
            $0.member("receivedBytes", receivedBytes)
            $0.member("milliseconds", Int(seconds * 1_000))
            $0.member("cpuPercent", Int((cpuShare * 100).rounded()))
            $0.member("interrupted", isInterrupted)
            $0.member("pass", problems.isEmpty)
            $0.member("problems", problems)
        }
        return json.bytes
    }

    static func rate(_ count: Int, _ seconds: Double) -> Int { seconds > 0 ? Int((Double(count) / seconds).rounded()) : 0 }
}

extension JSONWriter {
    fileprivate mutating func requests(_ requests: BenchReport.Requests, _ seconds: Double) {
        member("sent", requests.sent)
        member("done", requests.done)
        member("failed", requests.failedCount)
        reasons("failures", requests.failures)
        member("perSecond", BenchReport.rate(requests.done, seconds))
        member("latency") { $0.percentiles(requests.latency) }
    }

    fileprivate mutating func reasons(_ name: StaticString, _ reasons: [String: Int]) {
        member(name) {
            for (reason, count) in reasons.ranked {
                $0.key(reason)
                $0.integer(count)
            }
        }
    }

    fileprivate mutating func percentiles(_ latency: LatencyHistogram) {
        for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] as [(StaticString, Double)] {
            member(name, latency.percentile(part).map { $0 / 1_000 })
        }
        member("max", latency.count > 0 ? latency.max / 1_000 : nil)
    }
}
