import Primitives

extension BenchReport {
    /// The report as a table for people, with the verdict at the end.
    package var table: String {
        var lines = [
            "\(plan.scenario.rawValue) at \(target): \(connects.done.grouped) of \(plan.connections.grouped) connections, "
                + "\(plan.channelCount.grouped) channel\(plan.channelCount == 1 ? "" : "s")",
            "",
            Self.row("", ["count", "per second", "p50", "p90", "p99", "p99.9", "max"]),
            Self.row("connects", connects.done, connectSeconds, connects.latency),
            Self.row("publishes", publishes.done, seconds, publishes.latency),
            Self.row("deliveries", deliveries.received, seconds, deliveries.latency),
        ]
        if plan.scenario == .fleet { lines.append(Self.row("accepts", accepts.done, seconds, accepts.latency)) }
        lines += [
            "",
            "publishes: \(publishes.sent.grouped) of \(plan.eventCount.grouped) sent, \(publishes.failedCount.grouped) failed",
            "deliveries: \(deliveries.expected.grouped) expected, \(deliveries.lost.grouped) lost, "
                + "\(deliveries.duplicated.grouped) duplicated, \(deliveries.outOfOrder.grouped) out of order, "
                + "\(deliveries.misrouted.grouped) misrouted, \(receivedBytes.byteText) received",
        ]
        if plan.scenario == .fleet {
            lines.append("confirmed: \(confirmed.map { "\($0.grouped) notifications" } ?? "the gateway does not tell")")
        }
        if ordersLeft > 0 { lines.append("warning: \(ordersLeft.grouped) orders of the run could not be cancelled") }
        lines.append("load generator: \(Int((cpuShare * 100).rounded())) % of a core")
        if isGeneratorBusy { lines.append("warning: the load generator itself was busy, so latencies may be too high") }
        lines += ["", problems.isEmpty ? "verdict: pass" : "verdict: fail"]
        return (lines + problems.map { "  " + $0 }).map { $0 + "\n" }.joined()
    }

    /// Whether the measurement may show the load generator's speed rather than the gateway's.
    package var isGeneratorBusy: Bool { cpuShare > 0.85 }

    private static func row(_ name: String, _ count: Int, _ seconds: Double, _ latency: LatencyHistogram) -> String {
        let rate = seconds > 0 ? Int((Double(count) / seconds).rounded()).grouped : "-"
        let parts = [0.5, 0.9, 0.99, 0.999].map { latency.percentile($0)?.durationText ?? "-" }
        return row(name, [count.grouped, rate] + parts + [latency.count > 0 ? latency.max.durationText : "-"])
    }

    private static func row(_ name: String, _ cells: [String]) -> String {
        name.paddedRight(to: 10) + cells.map { $0.paddedLeft(to: 11) }.joined()
    }
}

/// The lines that are shown while a run goes on.
extension BenchReport {
    /// How many connections are settled, with a bar.
    package var connectingLine: String {
        let settled = connects.done + connects.failedCount
        let width = 30
        let filled = settled * width / plan.connections
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
        let failed = connects.failedCount == 0 ? "" : ", \(connects.failedCount.grouped) failed"
        return "connecting [\(bar)] \(settled.grouped) of \(plan.connections.grouped)\(failed)"
    }

    /// What the last second brought.
    /// - Parameters:
    ///   - earlier: the report of a second ago.
    ///   - elapsed: the time since the first event was due.
    package func publishingLine(since earlier: BenchReport, elapsed: Double) -> String {
        let p99 = deliveries.latency.percentile(0.99)?.durationText ?? "-"
        return "\(Int(elapsed)) of \(plan.seconds) s: \((publishes.done - earlier.publishes.done).grouped) publishes/s, "
            + "\((deliveries.received - earlier.deliveries.received).grouped) deliveries/s, p99 \(p99), "
            + "\((publishes.failedCount + accepts.failedCount).grouped) failed"
    }
}

extension UInt64 {
    /// A duration in nanoseconds, such as `0.31 ms` or `1.2 s`.
    var durationText: String {
        let milliseconds = Double(self) / 1e6
        return milliseconds < 999.5 ? "\(milliseconds.threeDigits) ms" : "\((milliseconds / 1_000).threeDigits) s"
    }
}
