import FanOut
import Testing

/// A set of up to 64 loops, in ascending order.
@Suite struct LoopSetTests {
    @Test func unionContainsBoth() {
        var loops: LoopSet = [0, 5]
        loops.formUnion([5, 63])
        loops.formUnion([])
        #expect(loops == [0, 5, 63])
    }

    @Test func emptySetContainsNothing() {
        #expect(LoopSet().isEmpty)
        #expect(Array(LoopSet()) == [])
        #expect(LoopSet() == [])
    }

    @Test(arguments: [
        ([0], [0]),
        ([63], [63]),
        ([63, 0], [0, 63]),
        ([5, 1, 31, 32, 5], [1, 5, 31, 32]),
        (Array((0..<64).reversed()), Array(0..<64)),
    ])
    func iteratesInAscendingOrder(inserted: [Int], iterated: [Int]) {
        var loops = LoopSet()
        for loop in inserted { loops.insert(loop) }
        #expect(Array(loops) == iterated)
        #expect(!loops.isEmpty)
    }

    @Test(arguments: [
        (0, [1, 63]),
        (1, [0, 63]),
        (63, [0, 1]),
        (2, [0, 1, 63]),
    ])
    func removesOnlyThatLoop(removed: Int, left: [Int]) {
        var loops: LoopSet = [0, 1, 63]
        loops.remove(removed)
        #expect(Array(loops) == left)
    }

    @Test func insertsAndRemovesEveryLoop() {
        var loops = LoopSet()
        for loop in (0..<LoopSet.loopsMax).reversed() {
            loops.insert(loop)
            loops.insert(loop)
        }
        for loop in 0..<LoopSet.loopsMax {
            #expect(Array(loops) == Array(loop..<LoopSet.loopsMax))
            loops.remove(loop)
            loops.remove(loop)
        }
        #expect(loops.isEmpty && loops == [])
    }

    @Test func removingTheLastLoopEmptiesTheSet() {
        var loops: LoopSet = [LoopSet.loopsMax - 1]
        loops.remove(LoopSet.loopsMax - 1)
        #expect(loops.isEmpty)
    }

    @Test func equalityComparesMembers() {
        #expect(([0, 63] as LoopSet) == [63, 0, 0])
        #expect(([0, 63] as LoopSet) != [0])
    }
}
