import Glibc
import Testing

@testable import Server

@Suite struct DescriptorBudgetTests {
    @Test func isExhaustedExactlyAtTheLimit() {
        let budget = DescriptorBudget(connectionsMax: 1_000, loopCount: 1)
        #expect((1...1_000).contains(budget.limit))
        for _ in 1..<budget.limit { budget.reserve() }
        #expect(!budget.isExhausted)
        budget.reserve()
        #expect(budget.isExhausted && budget.inUse == budget.limit)
        budget.release()
        #expect(!budget.isExhausted && budget.inUse == budget.limit - 1)
    }

    @Test func setsTheDescriptorLimitOfTheProcess() {
        let budget = DescriptorBudget(connectionsMax: 1_000, loopCount: 2)
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #expect(limits.rlim_cur >= rlim_t(budget.limit) && limits.rlim_cur <= 1_100)
    }

    @Test(arguments: [
        // A descriptor for each connection, and a reserve of 48 and 4 per loop.
        (20_000, 2, 1_048_576, 20_056, 20_000), (20_000, 2, 20_056, 20_056, 20_000), (20_000, 2, 20_055, 20_055, 19_999),
        (1_000_000, 64, .max, 1_000_304, 1_000_000), (20_000, 1, 128, 128, 76), (100, 1, 52, 52, 1), (100, 1, 10, 10, 1),
        (1, 1, 1_024, 53, 1),
    ]) func needsNoMoreThanConfiguredAndFitsTheHardLimit(
        connectionsMax: Int, loopCount: Int, hardLimit: Int, descriptors: Int, connections: Int
    ) {
        let plan = DescriptorPlan(connectionsMax: connectionsMax, loopCount: loopCount, hardLimit: hardLimit)
        #expect(plan.descriptors == descriptors && plan.connections == connections)
    }
}
