import FanOut
import Testing

@Suite struct LoopSetTests {
    @Test func holdsEveryLoopANodeMayHave() {
        var loops = LoopSet()
        for loop in (0..<LoopSet.loopsMax).reversed() {
            loops.insert(loop)
            loops.insert(loop)
        }
        #expect(Array(loops) == Array(0..<LoopSet.loopsMax))
        for loop in 0..<LoopSet.loopsMax {
            #expect(!loops.isEmpty)
            loops.remove(loop)
            loops.remove(loop)
            #expect(Array(loops) == Array((loop + 1)..<LoopSet.loopsMax))
        }
        #expect(loops.isEmpty && loops == [])
    }

    @Test func isIteratedInAscendingOrder() {
        #expect(Array([63, 0, 7, 31, 32] as LoopSet) == [0, 7, 31, 32, 63])
        #expect(Array([] as LoopSet) == [])
    }
}
