import Testing

@testable import Fleet

@Suite struct TransactionSizeTests {
    @Test func slowTransactionsMakeTheNextOnesSmaller() {
        var size = TransactionSize(most: 256, milliseconds: 500)
        #expect(size.value == 256)
        size.record(256, took: 10_000)
        #expect(size.value == 12)
        size.record(12, took: 6_000)
        #expect(size.value == 1)
        size.record(1, took: 20_000)
        #expect(size.value == 1, "never none")
    }

    @Test func fastTransactionsMakeThemLargerStepByStep() {
        var size = TransactionSize(most: 8, milliseconds: 500)
        size.record(8, took: 5_000)
        #expect(size.value == 1)
        var sizes: [Int] = []
        for _ in 0..<4 {
            size.record(size.value, took: 0)
            sizes.append(size.value)
        }
        #expect(sizes == [2, 4, 8, 8])
    }

    @Test func withoutALimitOfTimeTheSizeStays() {
        var size = TransactionSize(most: 256, milliseconds: nil)
        size.record(256, took: 60_000)
        size.record(0, took: 0)
        #expect(size.value == 256)
    }

    @Test func theFirstMayBeSmall() {
        var size = TransactionSize(most: 500, first: 25, milliseconds: 4)
        #expect(size.value == 25)
        size.record(25, took: 1)
        #expect(size.value == 50)
        #expect(TransactionSize(most: 500, first: 25, milliseconds: nil).value == 500)
    }
}
