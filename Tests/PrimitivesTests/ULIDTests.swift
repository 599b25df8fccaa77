import Testing

@testable import Primitives

@Suite struct ULIDTests {
    @Test func idsAreWellFormed() {
        var ids = ULIDSource()
        for time in [0, 1, 1_795_253_400_123, -1, .min, .max] as [Int64] {
            let id = ids.next(at: time)
            #expect(ULID.isWellFormed(id), "\(id)")
        }
    }

    /// The time is the example in the ULID specification, 1469918176385. The random bits follow, most significant
    /// first.
    @Test func idsContainTimeThenRandomBits() {
        var ids = ULIDSource(random: { 0 })
        #expect(ids.next(at: 1_469_918_176_385) == "01ARYZ6S410000000000000000")
        var highest = ULIDSource(random: { .max })
        #expect(highest.next(at: 0xFFFF_FFFF_FFFF) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
        var counting = ULIDSource(random: { 0x0123_4567_89AB_CDEF })
        // The random bits are 0xCDEF, then 0x0123456789ABCDEF: sixteen digits of five bits.
        #expect(counting.next(at: 0) == "0000000000SQQG28T5CY4TQKFF")
    }

    @Test func idsIncreaseWithinAMillisecondAndWhenTheClockStepsBack() {
        var ids = ULIDSource()
        var last = ""
        for time in [5, 5, 5, 4, 0, -7, 5, 6, 6, 3, 1_000, 999, 1_000] as [Int64] {
            let id = ids.next(at: time)
            #expect(id > last)
            last = id
        }
    }

    @Test func idsIncreaseWhenTheRandomBitsOverflow() {
        var ids = ULIDSource(random: { .max })
        let all = [ids.next(at: 7), ids.next(at: 7), ids.next(at: 8), ids.next(at: 8)]
        #expect(all == all.sorted())
        #expect(Set(all).count == 4)
        #expect(all.allSatisfy(ULID.isWellFormed))
    }

    /// Times after the year 10889 do not fit in 48 bits and are clamped.
    @Test func idsIncreaseAfterTheLastTime() {
        var ids = ULIDSource(random: { 0 })
        let all = [0xFFFF_FFFF_FFFF, 0x1_0000_0000_0000, .max, .max].map { ids.next(at: $0) }
        #expect(all == all.sorted() && Set(all).count == 4)
    }

    @Test func sourcesGenerateDifferentIDs() {
        var one = ULIDSource()
        var other = ULIDSource()
        #expect(one.next(at: 1) != other.next(at: 1))
    }

    @Test(arguments: [
        "", "01ARYZ6S41000000000000000", "01ARYZ6S4100000000000000000", "81ARYZ6S410000000000000000",
        "01aryz6s410000000000000000", "01ARYZ6S41000000000000000I", "01ARYZ6S41000000000000000L",
        "01ARYZ6S41000000000000000O", "01ARYZ6S41000000000000000U", "01ARYZ6S4100000000000000-0",
        "é1ARYZ6S41000000000000000",
    ])
    func rejectsOtherTexts(_ text: String) { #expect(!ULID.isWellFormed(text)) }
}
