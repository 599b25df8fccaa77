import Testing

@testable import Server

@Suite struct BlockRandomTests {
    /// Numbers repeat with a probability of less than 10^-12.
    @Test func neverRepeatsANumberAcrossBlocks() {
        var (one, other) = (BlockRandom(), BlockRandom())
        let numbers = (0..<2_000).flatMap { _ in [one.next(), other.next()] }
        #expect(Set(numbers).count == 4_000)
    }

    @Test func returnsNoErasedNumber() {
        var random = BlockRandom()
        #expect(!(0..<2_000).map { _ in random.next() }.contains(0))
    }
}
