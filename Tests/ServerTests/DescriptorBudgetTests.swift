import Testing

@testable import Server

@Suite struct DescriptorBudgetTests {
    @Test func isExhaustedExactlyAtTheLimit() {
        let budget = DescriptorBudget(loopCount: 1)
        #expect(budget.limit >= 1)
        // Without a limit, or with a huge one, there is nothing to reach.
        guard budget.limit <= 2_000_000 else { return }
        for _ in 1..<budget.limit { budget.reserve() }
        #expect(!budget.isExhausted)
        budget.reserve()
        #expect(budget.isExhausted)
        budget.release()
        #expect(!budget.isExhausted)
    }
}
