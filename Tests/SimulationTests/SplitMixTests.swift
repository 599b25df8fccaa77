import Simulation
import TestSupport
import Testing

/// The generator matches the published sequence, so that a seed means the same run on every machine.
@Suite struct SplitMixTests {
    @Test func matchesTheReferenceSequence() {
        var dice = SplitMix(seed: 1_234_567)
        let bits = (0..<5).map { _ in dice.next() }
        #expect(
            bits == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ])
    }

    @Test func belowAndWithinCoverTheirRanges() {
        var dice = SplitMix(seed: 1)
        #expect(Set((0..<500).map { _ in dice.below(6) }) == Set(0..<6))
        #expect(Set((0..<500).map { _ in dice.within(3...5) }) == [3, 4, 5])
        #expect((0..<100).allSatisfy { _ in dice.below(1) == 0 })
    }

    @Test func chanceOfZeroPercentIsNeverAndOfAHundredAlways() {
        var dice = SplitMix(seed: 1)
        #expect((0..<200).allSatisfy { _ in dice.chance(percent: 100) })
        #expect(!(0..<200).contains { _ in dice.chance(percent: 0) })
    }

    @Test func pickFromEmptyIsNil() {
        var dice = SplitMix(seed: 1)
        #expect(dice.pick([Int]()) == nil)
        #expect(dice.pick([7]) == 7)
    }
}
