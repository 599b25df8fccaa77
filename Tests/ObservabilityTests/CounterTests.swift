import Observability
import Testing
import Threads

@Suite struct CounterTests {
    @Test func startsAtZeroAndCountsUpAndDown() {
        let counters = LoopCounters()
        #expect(LoopCounter.allCases.allSatisfy { counters[$0] == 0 })
        counters.add(to: .connected)
        counters.add(to: .connected)
        counters.add(-1, to: .connected)
        counters.add(1_000, to: .outboxBytes)
        #expect(counters[.connected] == 1 && counters[.outboxBytes] == 1_000 && counters[.connectionsOpened] == 0)
    }

    @Test func otherThreadsReadTheWritersTotal() {
        let counters = LoopCounters()
        Thread(name: "writer") { for _ in 0..<1_000 { counters.add(to: .messagesSent) } }.join()
        #expect(counters[.messagesSent] == 1_000)
    }

    @Test func metricNamesAreUniqueAndFollowPrometheusConventions() {
        let names = LoopCounter.allCases.map(\.metric.name)
        #expect(Set(names).count == names.count)
        for counter in LoopCounter.allCases where counter.metric.kind == .counter {
            #expect(counter.metric.name.hasSuffix("_total") || counter.metric.name.hasSuffix("_bytes"))
        }
    }
}
