import JSON
import Testing

@testable import Fleet

@Suite struct DeliverySummaryTests {
    private typealias Fixture = BatchFixture

    private func batch(at time: Int64, _ delivered: Int, _ failed: Int, _ earnings: String?) -> CompletedBatch {
        CompletedBatch(
            completedAt: time, delivered: delivered, failed: failed, earnings: earnings.map { JSONNumber(text: $0) })
    }

    @Test func sumsTheBatchesOfTheTime() {
        let batches = [
            batch(at: 99, 100, 100, "1000"), batch(at: 100, 3, 1, "0.1"), batch(at: 150, 2, 0, "0.2"),
            batch(at: 199, 1, 2, nil), batch(at: 200, 100, 100, "1000"),
        ]
        let summary = DeliverySummary(batches, in: 100..<200)
        #expect(summary.batches == 3 && summary.delivered == 6 && summary.failed == 3 && summary.deliveries == 9)
        #expect(summary.base.text == "0.3" && summary.total.text == "0.3" && summary.bonus.text == "0")
        #expect(summary.successRate == 67)
        let all = DeliverySummary(batches, in: nil)
        #expect(all.batches == 5 && all.total.text == "2000.3")
        let none = DeliverySummary(batches, in: 0..<1)
        #expect(none.batches == 0 && none.total.text == "0" && none.successRate == nil)
    }

    @Test(arguments: [(0, 1, 0), (1, 0, 100), (1, 1, 50), (1, 7, 13), (1, 199, 1), (2, 1, 67), (1, 2, 33), (1, 200, 0)])
    func theRateIsRoundedToTheNearest(_ delivered: Int, _ failed: Int, _ rate: Int) {
        #expect(DeliverySummary([batch(at: 0, delivered, failed, nil)], in: nil).successRate == rate)
    }

    @Test func onlyBatchesThatEndedAfterThePickupCount() throws {
        for status in BatchStatus.allCases {
            var batch = try Fixture.batch(status)
            batch.estimatedEarnings = JSONNumber(text: "5")
            let completed = CompletedBatch(batch)
            #expect((completed != nil) == (status == .completed || status == .partialComplete))
            guard let completed else { continue }
            #expect(completed.completedAt == batch.completedAt && completed.earnings?.text == "5")
            #expect(completed.delivered == (status == .completed ? 2 : 1) && completed.failed == (status == .completed ? 0 : 1))
        }
    }
}

@Suite struct MoneyTests {
    private func money(_ text: String) -> Money? { Money(JSONNumber(text: text)) }

    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("0.000", "0"), ("0e99999999999999999999", "0"), ("450", "450"), ("450.50", "450.5"),
        ("0.000001", "0.000001"), ("-0.5", "-0.5"), ("1e3", "1000"), ("1E+3", "1000"), ("1.5e-3", "0.0015"),
        ("-12.340", "-12.34"),
        ("1000e-3", "1"), ("0.0000010", "0.000001"), ("999999999999.999999", "999999999999.999999"), ("0.00012e4", "1.2"),
        ("100000000000", "100000000000"), ("1.0000000000000000000000000000000000000000000", "1"),
    ])
    func readsAndWritesExactly(_ text: String, _ written: String) { #expect(money(text)?.number.text == written) }

    @Test(arguments: [
        "1000000000000", "-1000000000000", "1e12", "1e400", "1e99999999999999999999", "1e-9223372036854775808", "0.0000001",
        "1e-7", "1.0000001", "999999999999.9999991",
    ])
    func rejectsWhatItCannotKeep(_ text: String) { #expect(money(text) == nil) }

    @Test func sumsWithoutRounding() throws {
        let tenth = try #require(money("0.1"))
        #expect((0..<1_000).reduce(Money.zero) { sum, _ in sum + tenth }.number.text == "100")
        let largest = try #require(money("999999999999.999999"))
        let sum = (0..<100_000).reduce(Money.zero) { sum, _ in sum + largest }
        #expect(sum.number.text == "99999999999999999.9")
        #expect(tenth < largest && !(tenth < tenth) && money("-2")! < .zero)
    }
}
