import Testing

@testable import Server

@Suite struct DescriptorBudgetTests {
    @Test func isExhaustedExactlyAtTheLimit() {
        let budget = DescriptorBudget(loopCount: 1)
        #expect(budget.limit >= 1)
        // The test counts up to the limit one by one, which takes too long if the limit is huge.
        guard budget.limit <= 2_000_000 else { return }
        for _ in 1..<budget.limit { budget.reserve() }
        #expect(!budget.isExhausted)
        budget.reserve()
        #expect(budget.isExhausted)
        budget.release()
        #expect(!budget.isExhausted)
    }
}
