import Glibc
import Testing

@testable import Server

@Suite struct DescriptorBudgetTests {
    @Test func isExhaustedExactlyAtTheLimit() {
        let budget = DescriptorBudget(connectionsMax: 1_000, loopCount: 1, webhookCount: 0)
        #expect((1...1_000).contains(budget.limit))
        for _ in 1..<budget.limit { budget.reserve() }
        #expect(!budget.isExhausted)
        budget.reserve()
        #expect(budget.isExhausted && budget.inUse == budget.limit)
        budget.release()
        #expect(!budget.isExhausted && budget.inUse == budget.limit - 1)
    }

    @Test func setsTheDescriptorLimitOfTheProcess() {
        let budget = DescriptorBudget(connectionsMax: 1_000, loopCount: 2, webhookCount: 3)
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        #expect(limits.rlim_cur >= rlim_t(budget.limit) && limits.rlim_cur <= 1_100)
    }

    @Test(arguments: [
        // A descriptor for each connection, and a reserve of 48, 4 per loop and 3 per webhook.
        (20_000, 2, 0, 1_048_576, 20_056, 20_000), (20_000, 2, 0, 20_056, 20_056, 20_000),
        (20_000, 2, 0, 20_055, 20_055, 19_999), (20_000, 2, 100, 1_048_576, 20_356, 20_000), (100, 1, 10, 128, 128, 46),
        (1_000_000, 64, 0, .max, 1_000_304, 1_000_000), (20_000, 1, 0, 128, 128, 76), (100, 1, 0, 52, 52, 1),
        (100, 1, 0, 10, 10, 1), (1, 1, 0, 1_024, 53, 1),
    ]) func needsNoMoreThanConfiguredAndFitsTheHardLimit(
        connectionsMax: Int, loopCount: Int, webhookCount: Int, hardLimit: Int, descriptors: Int, connections: Int
    ) {
        let plan = DescriptorPlan(
            connectionsMax: connectionsMax, loopCount: loopCount, webhookCount: webhookCount, hardLimit: hardLimit)
        #expect(plan.descriptors == descriptors && plan.connections == connections)
    }
}
