import Fleet
import PusherAPI
import TestSupport
import Testing

@Suite struct SeenSignaturesTests {
    private func head(_ signature: UInt128, at timestamp: Int64) -> SignedHead {
        SignedHead(bodyDigest: nil, timestamp: timestamp, signature: signature)
    }

    @Test func acceptsASignatureOnce() {
        var seen = SeenSignatures(capacity: 10)
        #expect(seen.insert(head(1, at: 1_000), now: 1_000) == .new)
        #expect(seen.insert(head(1, at: 1_000), now: 1_000) == .repeated)
        #expect(seen.insert(head(2, at: 1_000), now: 1_000) == .new)
        #expect(seen.count == 2)
    }

    /// A timestamp may be 600 s ahead, so a signature may be valid for 1,200 s.
    @Test func remembersASignatureAsLongAsItIsValid() {
        for start in [Int64(0), 600, 1_199, 1_200] {
            var seen = SeenSignatures(capacity: 1_000)
            #expect(seen.insert(head(0, at: 10_000), now: 10_000) == .new)
            #expect(seen.insert(head(1, at: 10_600 + start), now: 10_000 + start) == .new)
            for second in stride(from: start, through: start + 1_200, by: 60) {
                let now = 10_000 + second
                #expect(seen.insert(head(UInt128(100 + second), at: now), now: now) == .new)
                #expect(seen.insert(head(1, at: 10_600 + start), now: now) == .repeated, "\(start), \(second)")
            }
        }
    }

    @Test func forgetsSignaturesThatAreNoLongerValid() {
        var seen = SeenSignatures(capacity: 1_000)
        for second in stride(from: Int64(0), to: 100_000, by: 30) {
            #expect(seen.insert(head(UInt128(second), at: second), now: second) == .new)
            #expect(seen.count <= 82)
        }
    }

    @Test func forgetsBothGenerationsAfterALongPause() {
        var seen = SeenSignatures(capacity: 2)
        #expect(seen.insert(head(1, at: 0), now: 0) == .new && seen.insert(head(2, at: 0), now: 0) == .new)
        #expect(seen.insert(head(3, at: 5_000), now: 5_000) == .new)
        #expect(seen.count == 1)
    }

    @Test func rejectsNewSignaturesWhenFullAndStillKnowsTheOthers() {
        var seen = SeenSignatures(capacity: 2)
        #expect(seen.insert(head(1, at: 0), now: 0) == .new && seen.insert(head(2, at: 0), now: 0) == .new)
        #expect(seen.insert(head(3, at: 0), now: 1_200) == .full)
        #expect(seen.insert(head(1, at: 0), now: 1_200) == .repeated && seen.count == 2)
        #expect(seen.insert(head(3, at: 2_402), now: 2_402) == .new, "the generations were forgotten")
    }

    /// An operator may set the clock forward and back.
    @Test func acceptsNoSignatureTwiceWhateverTheClockShows() {
        for seed in UInt64(1)...200 {
            var random = SplitMix(seed: seed)
            var seen = SeenSignatures(capacity: 50)
            var (now, accepted) = (Int64(100_000), Set<UInt128>())
            var heads: [SignedHead] = []
            for step in 0..<300 {
                switch Int.random(in: 0..<20, using: &random) {
                case 0: now += Int64.random(in: -10_000...10_000, using: &random)
                case 1...4: now += Int64.random(in: 0...600, using: &random)
                default: break
                }
                heads.append(head(UInt128(step), at: now + Int64.random(in: -600...600, using: &random)))
                guard let one = heads.randomElement(using: &random) else { continue }
                guard abs(one.timestamp - now) <= RequestSignature.clockSkewSecondsMax else { continue }
                if seen.insert(one, now: now) == .new { #expect(accepted.insert(one.signature).inserted, "seed \(seed)") }
                #expect(seen.count <= 50)
            }
            #expect(accepted.count > 5)
        }
    }
}
