import TestSupport
import Testing

@testable import Realtime

@Suite struct LoopChooserTests {
    @Test(arguments: [1, 2, 3, 8]) func equallyLoadedLoopsTakeTurns(count: Int) {
        var chooser = LoopChooser(count: count)
        #expect((0..<3 * count).map { _ in chooser.choose { _ in 7 } } == (0..<3 * count).map { $0 % count })
    }

    /// Without new loads: they change only after the burst.
    @Test func aBurstFillsTheEmptierLoopAndNoFurther() {
        var chooser = LoopChooser(count: 2)
        let loads = [100, 80]
        var chosen = [0, 0]
        for _ in 0..<64 { chosen[chooser.choose { loads[$0] }] += 1 }
        #expect(chosen == [22, 42])
    }

    @Test(arguments: [2, 3, 4, 16]) func unevenLoopsBecomeEven(count: Int) throws {
        var chooser = LoopChooser(count: count)
        var loads = (0..<count).map { $0 * 500 / count }
        for _ in 0..<200 {
            let seen = loads
            for _ in 0..<10 * count { loads[chooser.choose { seen[$0] }] += 1 }
            chooser.forgetRecent()
        }
        #expect(try #require(loads.max()) - #require(loads.min()) <= 2 * count, "\(loads)")
    }

    /// Strictly in turns, the loop that loses most connections would stay at half of the others' load.
    @Test func balancesLoopsThatLoseConnectionsUnevenly() {
        var random = SplitMix(seed: 1)
        var chooser = LoopChooser(count: 4)
        var loads = [Int](repeating: 1_000, count: 4)
        for _ in 0..<500 {
            for loop in 0..<4 { loads[loop] -= (0..<(loop == 0 ? 12 : 4)).filter { _ in random.chance(percent: 50) }.count }
            let seen = loads
            for _ in 0..<20 { loads[chooser.choose { seen[$0] }] += 1 }
            chooser.forgetRecent()
        }
        let average = loads.reduce(0, +) / 4
        #expect(loads.allSatisfy { abs($0 - average) < 50 }, "\(loads)")
    }
}
