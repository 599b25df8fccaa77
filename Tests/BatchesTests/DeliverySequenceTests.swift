import Primitives
import Testing

@testable import Fleet

@Suite struct DeliverySequenceTests {
    private typealias Fixture = BatchFixture
    private let a = BatchFixture.orderA
    private let b = BatchFixture.orderB

    private func action(_ entries: (ObjectID, Int)...) -> BatchAction {
        .sequence(
            entries.map { SequenceEntry(orderID: $0.0, sequenceNumber: $0.1) }, by: Fixture.driver.accountID)
    }

    private func problem(_ batch: Batch, _ action: BatchAction) -> String? {
        let error = batch.refusal(of: action)
        return error?.fields.count == 1 && error?.fields[0].path == "sequence" ? error?.fields[0].text : error?.text
    }

    @Test func changesTheOrder() throws {
        for status in [BatchStatus.dispatched, .inProgress] {
            var batch = try Fixture.batch(status)
            #expect(try batch.perform(action((a, 9), (b, 4)), at: 7).news.isEmpty)
            #expect(batch.orders.map(\.id) == [b, a] && batch.orders.map(\.sequenceNumber) == [4, 9] && batch.updatedAt == 7)
        }
    }

    @Test func namesWhatIsWrong() throws {
        let batch = try Fixture.batch(.inProgress)
        #expect(problem(batch, action()) == "All orders in batch must be included")
        #expect(problem(batch, action((a, 1))) == "All orders in batch must be included")
        #expect(problem(batch, action((a, 1), (b, 1))) == "Sequence numbers must be unique")
        #expect(problem(batch, action((a, 1), (b, 2), (Fixture.id(7), 3))) == "Unknown order \(Fixture.id(7).text)")
        #expect(problem(batch, action((a, 1), (b, 2), (a, 3))) == "Order \(a.text) is named more than once")
        #expect(problem(batch, action((a, 0), (b, 1))) == "Sequence numbers must be at least 1")
        #expect(problem(batch, action((a, 1), (b, -1))) == "Sequence numbers must be at least 1")
    }

    @Test func ordersThatAreOverMayBeNamedOrNot() throws {
        var batch = try Fixture.batch(.inProgress)
        try batch.perform(Fixture.deliver(a))
        #expect(problem(batch, action((b, 1))) == nil && problem(batch, action((a, 2), (b, 1))) == nil)
        #expect(problem(batch, action((a, 1))) == "All orders in batch must be included")
        // A delivered order that is not named keeps its number; the id decides between equal numbers.
        try batch.perform(action((b, 1)))
        #expect(batch.orders.map(\.id) == [a, b] && batch.orders.map(\.sequenceNumber) == [1, 1])
        var cancelled = try Fixture.batch(.dispatched)
        try cancelled.perform(.cancelOrder(b, by: .customer, reason: nil))
        #expect(problem(cancelled, action((a, 1))) == nil)
    }
}
