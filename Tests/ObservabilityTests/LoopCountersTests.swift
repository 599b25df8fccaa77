import Observability
import Testing

@Suite struct LoopCountersTests {
    @Test func countFromZeroUpAndDown() {
        let counters = LoopCounters()
        #expect(counters.connections.value == 0 && counters.outboxBytes.value == 0)
        counters.connections.add()
        counters.connections.add()
        counters.connections.add(-1)
        counters.outboxBytes.add(1_000)
        #expect(counters.connections.value == 1 && counters.outboxBytes.value == 1_000 && counters.opened.value == 0)
    }
}
