import TestSupport
import Testing

@testable import Server

@Suite struct PendingResponsesTests {
    private func response(_ number: Int) -> PendingResponses.PendingResponse {
        PendingResponses.PendingResponse(
            slot: number, withoutBody: false, isHTTP11: true, isLast: false,
            measured: EventLoop.MeasuredRequest(correlationID: "c\(number)"))
    }

    @Test func removesTheResponseOfEachID() {
        var table = PendingResponses()
        let ids = (1...5).map { table.add(response($0)) }
        #expect(table.count == 5 && Set(ids).count == 5)
        for (id, number) in zip(ids, 1...5).reversed() {
            let response = table.remove(id)
            #expect(response?.measured.correlationID == "c\(number)")
        }
        #expect(table.count == 0)
    }

    @Test func removesEachResponseOnce() {
        var table = PendingResponses()
        let id = table.add(response(1))
        let removals = (0..<3).map { _ in table.remove(id) != nil }
        #expect(removals == [true, false, false])
        #expect(table.count == 0)
    }

    @Test func readsAResponseWithoutRemovingIt() {
        var table = PendingResponses()
        let id = table.add(response(1))
        #expect(table[id]?.slot == 1 && table[id]?.isLast == false)
        table.setLast(id)
        #expect(table[id]?.isLast == true && table.count == 1)
        table.remove(id)
        #expect(table[id] == nil)
    }

    @Test func reusesSlotsUnderANewID() {
        var table = PendingResponses()
        let first = table.add(response(1))
        table.remove(first)  // the connection has closed, but another thread may still respond
        let second = table.add(response(2))
        #expect(second.index == first.index && second != first && second.rawValue != first.rawValue)
        #expect(table.remove(first) == nil, "a late response is not sent to the slot's next request")
        #expect(table.remove(second)?.measured.correlationID == "c2")
    }

    @Test func unknownIDsHaveNoResponse() {
        var table = PendingResponses()
        for id in [RequestID(rawValue: 0), RequestID(rawValue: .max), RequestID(index: 1, generation: 0)] {
            #expect(table.remove(id) == nil)
        }
        let known = table.add(response(1))
        for id in [RequestID(index: 0, generation: 1), RequestID(index: 1, generation: 0), RequestID(rawValue: -1)] {
            #expect(table.remove(id) == nil)
        }
        #expect(table.remove(known) != nil)
    }

    @Test func growsOnlyToThePeakNumberOfResponses() {
        var table = PendingResponses()
        var random = SplitMix(seed: 1)
        var waiting = (1...10).map { table.add(response($0)) }
        var ids = Set(waiting)
        for number in 11..<2_000 {
            let id = waiting.remove(at: Int.random(in: 0..<waiting.count, using: &random))
            #expect(table.remove(id) != nil)
            let next = table.add(response(number))
            #expect(next.index < 10 && ids.insert(next).inserted)
            waiting.append(next)
        }
        #expect(table.count == 10)
    }

    @Test(arguments: [(0, 0), (1, 0), (0, 1), (16_777_215, 0), (5, 1 << 38), (16_777_215, (1 << 39) - 1)])
    func rawValueKeepsIndexAndGeneration(index: Int, generation: Int) {
        let id = RequestID(rawValue: RequestID(index: index, generation: generation).rawValue)
        #expect(id.index == index && id.generation == generation)
    }
}
