import TestSupport
import Testing

@testable import FanOut

@Suite struct IndexedListTests {
    /// Counts how often elements are compared.
    private final class Counter { var comparisons = 0 }

    private struct Counted: Hashable {
        let value: Int
        let counter: Counter

        static func == (one: Counted, other: Counted) -> Bool {
            one.counter.comparisons += 1
            return one.value == other.value
        }

        func hash(into hasher: inout Hasher) { hasher.combine(value) }
    }

    @Test func removalMovesTheLastElementIntoTheGap() {
        var list = IndexedList<Int>()
        for element in 1...4 { list.append(element) }
        let removed = [2, 3, 3].map { list.remove($0) }
        #expect(removed == [true, true, false])
        #expect(list.elements == [1, 4])
        #expect(list.contains(4) && !list.contains(2))
    }

    @Test(arguments: 0..<20) func listBehavesAsAnArray(seed: Int) {
        var dice = SplitMix(seed: UInt64(seed))
        var list = IndexedList<Int>()
        var model: [Int] = []
        // Lengths go up and down across the lengths at which the positions are built and dropped.
        for step in 0..<2_000 {
            let element = dice.below(80)
            if let index = model.firstIndex(of: element), dice.chance(percent: step % 400 < 200 ? 30 : 95) {
                model.swapAt(index, model.count - 1)
                model.removeLast()
                let isRemoved = list.remove(element)
                #expect(isRemoved)
            } else if !model.contains(element), step % 400 < 200 || dice.chance(percent: 10) {
                model.append(element)
                list.append(element)
            }
            #expect(list.elements == model)
            #expect(list.contains(element) == model.contains(element))
            #expect(list.isEmpty == model.isEmpty && list.count == model.count)
        }
    }

    @Test func removalFromALongListComparesFewElements() {
        let counter = Counter()
        var list = IndexedList<Counted>()
        for value in 0..<10_000 { list.append(Counted(value: value, counter: counter)) }
        counter.comparisons = 0
        let removed = (5_000..<6_000).count { list.remove(Counted(value: $0, counter: counter)) }
        #expect(removed == 1_000)
        #expect(counter.comparisons < 20_000)
    }
}
