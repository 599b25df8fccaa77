import Testing

@testable import Server

@Suite struct DescriptorBudgetTests {
    @Test func isExhaustedAtItsLimitAndNotBefore() {
        let budget = DescriptorBudget(loopCount: 1)
        #expect(budget.limit >= 1)
        // Where there is no limit worth the name there is nothing to reach.
        guard budget.limit <= 2_000_000 else { return }
        for _ in 1..<budget.limit { budget.take() }
        #expect(!budget.isExhausted)
        budget.take()
        #expect(budget.isExhausted)
        budget.release()
        #expect(!budget.isExhausted)
    }
}
