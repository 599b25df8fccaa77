import Primitives
import Testing

@Suite struct SpareCapacityTests {
    @Test func tablesWithFewElementsGiveBackMemory() {
        var (array, dictionary, set) = (Array(0..<50_000), [Int: Int](minimumCapacity: 50_000), Set(0..<50_000))
        dictionary[1] = 2
        let early = [array.releaseSpareCapacity(), set.releaseSpareCapacity()]
        #expect(early == [false, false], "all elements are needed")
        array.removeLast(array.count - 3)
        for number in 0..<50_000 where number != 7 && number != 8 { set.remove(number) }
        let released = [array.releaseSpareCapacity(), dictionary.releaseSpareCapacity(), set.releaseSpareCapacity()]
        #expect(released == [true, true, true])
        #expect(array == [0, 1, 2] && dictionary == [1: 2] && set == [7, 8])
        #expect(array.capacity < 100 && dictionary.capacity < 100 && set.capacity < 100)
        let again = [array.releaseSpareCapacity(), dictionary.releaseSpareCapacity(), set.releaseSpareCapacity()]
        #expect(again == [false, false, false])
    }

    @Test func smallTablesKeepTheirs() {
        var array = Array(0..<10_000)
        array.removeAll(keepingCapacity: true)
        let isReleased = array.releaseSpareCapacity()
        #expect(!isReleased)
    }

    @Test func anEmptyQueueKeepsLittle() {
        for (count, isKept) in [(10_000, true), (100_000, false)] {
            var queue = FIFO<Int>()
            for number in 0..<count { queue.append(number) }
            while queue.popFirst() != nil {}
            let elements = Mirror(reflecting: queue).children.first { $0.label == "elements" }?.value as? [Int?]
            #expect((elements.map { $0.capacity > 0 }) == isKept)
        }
    }
}
