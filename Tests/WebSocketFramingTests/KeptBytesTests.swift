import Testing

@testable import WebSocketFraming

@Suite struct KeptBytesTests {
    private func append(_ count: Int, to kept: inout KeptBytes, countMax: Int) {
        Array(repeating: UInt8(1), count: count).withUnsafeBytes { kept.append($0, countMax: countMax) }
    }

    @Test func memoryIsBoundedByWhatWasReceived() {
        var kept = KeptBytes()
        #expect(kept.capacity == 0)
        append(3, to: &kept, countMax: 1_000_000)
        #expect(kept.capacity <= 64)
        var count = 3
        while count < 300_000 {
            append(1000, to: &kept, countMax: 1_000_000)
            count += 1000
            #expect(kept.count == count && kept.capacity <= 2 * count)
        }
        kept.removeAll()
        #expect(kept.capacity == 0 && kept.bytes.isEmpty)
    }

    @Test func memoryIsBoundedByTheMaximum() {
        var kept = KeptBytes()
        append(40, to: &kept, countMax: 61)
        append(21, to: &kept, countMax: 61)
        #expect(kept.capacity == 61)
    }

    @Test func growingCopiesLinearly() {
        var kept = KeptBytes()
        var capacities: Set<Int> = []
        for _ in 0..<100_000 {
            append(1, to: &kept, countMax: 100_000)
            capacities.insert(kept.capacity)
        }
        #expect(capacities.count <= 12)  // 64 · 2^11 > 100,000
    }

    @Test func appendingNothingTakesNoMemory() {
        var kept = KeptBytes()
        append(0, to: &kept, countMax: 0)
        #expect(kept.capacity == 0)
    }
}
