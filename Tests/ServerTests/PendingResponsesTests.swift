import TestSupport
import Testing

@testable import Server

@Suite struct PendingResponsesTests {
    private func exchange(_ number: Int) -> PendingResponses.PendingResponse {
        PendingResponses.PendingResponse(
            wsi: OpaquePointer(bitPattern: number)!,  // no number here is 0
            withoutBody: false, isLast: false, correlationID: "c\(number)")
    }

    @Test func givesBackWhatItWasGiven() {
        var table = PendingResponses()
        let ids = (1...5).map { table.add(exchange($0)) }
        #expect(table.count == 5 && Set(ids).count == 5)
        for (id, number) in zip(ids, 1...5).reversed() {
            let exchange = table.remove(id)
            #expect(exchange?.correlationID == "c\(number)")
        }
        #expect(table.count == 0)
    }

    @Test func answersEachOnce() {
        var table = PendingResponses()
        let id = table.add(exchange(1))
        let answers = (0..<3).map { _ in table.remove(id) != nil }
        #expect(answers == [true, false, false])
        #expect(table.count == 0)
    }

    @Test func givesAPlaceAwayAgainUnderAnotherName() {
        var table = PendingResponses()
        let first = table.add(exchange(1))
        table.remove(at: first.index)  // abandoned: its answer is still to come
        let second = table.add(exchange(2))
        #expect(second.index == first.index && second != first && second.rawValue != first.rawValue)
        #expect(table.remove(first) == nil, "a late answer is not the next one's")
        #expect(table.remove(second)?.correlationID == "c2")
    }

    @Test func knowsNothingItHasNotNamed() {
        var table = PendingResponses()
        for id in [RequestID(rawValue: 0), RequestID(rawValue: .max), RequestID(index: 1, generation: 0)] {
            #expect(table.remove(id) == nil)
        }
        let known = table.add(exchange(1))
        for id in [RequestID(index: 0, generation: 1), RequestID(index: 1, generation: 0), RequestID(rawValue: -1)] {
            #expect(table.remove(id) == nil)
        }
        #expect(table.remove(known) != nil)
    }

    @Test func growsNoFurtherThanTheMostThereEverWere() {
        var table = PendingResponses()
        var random = SplitMix(seed: 1)
        var waiting = (1...10).map { table.add(exchange($0)) }
        var names = Set(waiting)
        for number in 11..<2_000 {
            let id = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
            #expect(table.remove(id) != nil)
            let next = table.add(exchange(number))
            #expect(next.index < 10 && names.insert(next).inserted)
            waiting.append(next)
        }
        #expect(table.count == 10)
    }

    @Test(arguments: [(0, 0), (1, 0), (0, 1), (16_777_215, 0), (5, 1 << 38), (16_777_215, (1 << 39) - 1)])
    func namesCarryPlaceAndGenerationThroughOtherThreads(index: Int, generation: Int) {
        let id = RequestID(rawValue: RequestID(index: index, generation: generation).rawValue)
        #expect(id.index == index && id.generation == generation)
    }
}
