import Observability
import Testing
import Threads

@Suite struct LoopMetricTests {
    @Test func startsAtZeroAndCountsUpAndDown() {
        let metrics = LoopMetrics()
        #expect(LoopMetric.allCases.allSatisfy { metrics[$0] == 0 })
        metrics.add(to: .connected)
        metrics.add(to: .connected)
        metrics.add(-1, to: .connected)
        metrics.add(1_000, to: .outboxBytes)
        #expect(metrics[.connected] == 1 && metrics[.outboxBytes] == 1_000 && metrics[.connectionsOpened] == 0)
    }

    @Test func otherThreadsReadTheWritersTotal() {
        let metrics = LoopMetrics()
        Thread(name: "writer") { for _ in 0..<1_000 { metrics.add(to: .messagesSent) } }.join()
        #expect(metrics[.messagesSent] == 1_000)
    }

    @Test func metricNamesAreUniqueAndFollowPrometheusConventions() {
        let names = LoopMetric.allCases.map(\.family.name)
        #expect(Set(names).count == names.count)
        for metric in LoopMetric.allCases where metric.family.kind == .counter {
            #expect(metric.family.name.hasSuffix("_total") || metric.family.name.hasSuffix("_bytes"))
        }
    }
}
