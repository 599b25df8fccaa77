import Testing

@testable import Bench

@Suite struct BookkeepingTests {
    /// Events 0, 2, 4 are of channel 0, the others of channel 1. Each is sent at its number times ten.
    private func publications(_ count: Int) -> Publications {
        var publications = Publications(channelCount: 2)
        for event in 0..<count { publications.send(at: UInt64(event * 10 + 1)) }
        return publications
    }

    @Test func countsWhatWasAcceptedAndReceived() {
        var publications = publications(6)
        for event in 0..<6 { publications.answer(event, isAccepted: event != 2, at: 100) }
        var receipts = Receipts()
        for event in [0, 2, 4] { #expect(publications.receive(event, on: 0, &receipts) == .inOrder) }
        #expect(publications.acceptedCount(of: 0) == 2)
        #expect(publications.acceptedCount(of: 1) == 3)
        #expect(publications.receivedCount(receipts, on: 0) == 2, "event 2 was refused, so it was not expected")
        #expect(publications.receivedCount(Receipts(), on: 1) == 0)
        #expect(publications.isAccepted(0) && !publications.isAccepted(2) && publications.isAccepted(3))
    }

    @Test func findsDuplicates() {
        let publications = publications(2)
        var receipts = Receipts()
        #expect(publications.receive(0, on: 0, &receipts) == .inOrder)
        #expect(publications.receive(0, on: 0, &receipts) == .duplicate)
    }

    @Test func findsEventsOfOtherChannelsAndUnknownOnes() {
        let publications = publications(2)
        var receipts = Receipts()
        #expect(publications.receive(1, on: 0, &receipts) == .misrouted)
        #expect(publications.receive(2, on: 0, &receipts) == .misrouted)
        #expect(publications.receivedCount(receipts, on: 0) == 0)
    }

    @Test func anEventAnsweredBeforeAnotherWasSentMustArriveBefore() {
        var publications = publications(3)
        publications.answer(0, isAccepted: true, at: 5)
        var receipts = Receipts()
        #expect(publications.receive(2, on: 0, &receipts) == .inOrder)
        #expect(publications.receive(0, on: 0, &receipts) == .outOfOrder)
    }

    @Test func allEventsBehindALaterOneAreOutOfOrder() {
        var publications = publications(5)
        for event in [0, 2] { publications.answer(event, isAccepted: true, at: UInt64(event * 10 + 5)) }
        var receipts = Receipts()
        #expect(publications.receive(4, on: 0, &receipts) == .inOrder)
        #expect(publications.receive(0, on: 0, &receipts) == .outOfOrder)
        #expect(publications.receive(2, on: 0, &receipts) == .outOfOrder)
    }

    @Test(arguments: [UInt64?.none, 25])
    func overlappingRequestsHaveNoOrder(answeredAt: UInt64?) {
        var publications = publications(3)
        if let answeredAt { publications.answer(0, isAccepted: true, at: answeredAt) }
        var receipts = Receipts()
        #expect(publications.receive(2, on: 0, &receipts) == .inOrder)
        #expect(publications.receive(0, on: 0, &receipts) == .inOrder)
    }

    @Test func aSetOfNumbersGrows() {
        var numbers = NumberSet()
        #expect(!numbers.contains(1_000))
        let areNew = [0, 63, 64, 1_000, 63].map { numbers.insert($0) }
        #expect(areNew == [true, true, true, true, false])
        #expect(numbers.count == 4)
        #expect(numbers.contains(1_000) && !numbers.contains(999) && !numbers.contains(5_000))
        var others = NumberSet()
        others.insert(64)
        others.insert(65)
        #expect(numbers.count(in: others) == 1)
    }
}
