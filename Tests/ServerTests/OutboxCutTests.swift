import TestSupport
import Testing

@testable import Server

/// What is left of an outbox whose connection gets nothing more but a close frame.
@Suite struct OutboxCutTests {
    /// A frame of the server, with a payload of so many bytes.
    private func frame(_ count: Int, opcode: UInt8 = 0x1) -> [UInt8] {
        let length: [UInt8] =
            switch count {
            case ...125: [UInt8(count)]
            case ...65_535: [126, UInt8(count >> 8), UInt8(count & 0xFF)]
            default: [127] + (0..<8).map { UInt8(truncatingIfNeeded: count >> ((7 - $0) * 8)) }
            }
        return [0x80 | opcode] + length + [UInt8](repeating: 0x81, count: count)
    }

    private func send(_ outbox: inout Outbox, _ count: Int) -> [UInt8] {
        var scratch: [UInt8] = []
        let sent = outbox.withNext(count, &scratch) { Array($0) }
        outbox.removeFirst(sent.count)
        return sent
    }

    @Test func nothingIsLeftBetweenFrames() {
        var outbox = Outbox()
        outbox.enqueue(frame(10) + frame(20))
        outbox.enqueue(frame(2_000))
        outbox.cutBehindPresentFrame()
        #expect(outbox.isEmpty)
        outbox.enqueue(frame(10) + frame(20))
        #expect(send(&outbox, 12) == frame(10))
        outbox.cutBehindPresentFrame()
        #expect(outbox.isEmpty)
        outbox.cutBehindPresentFrame()
        #expect(outbox.isEmpty)
    }

    @Test func theRestOfThePresentFrameIsLeft() {
        var outbox = Outbox()
        outbox.enqueue(frame(10) + frame(20) + frame(30), from: 13)
        outbox.enqueue(frame(2_000))
        outbox.cutBehindPresentFrame()
        #expect(outbox.heldBytes == 21, "the rest of the chunk is freed")
        #expect(send(&outbox, .max) == Array(frame(20).dropFirst()))
        #expect(outbox.isEmpty)
    }

    /// Whatever was sent before and is left are whole frames, of all lengths, however they were queued and sent.
    @Test(arguments: 1...40 as ClosedRange<UInt64>) func wholeFramesAreSent(seed: UInt64) {
        var random = SplitMix(seed: seed)
        for _ in 0..<50 {
            var outbox = Outbox()
            var (all, borders): ([UInt8], Set<Int>) = ([], [0])
            for _ in 0..<random.within(1...6) {
                var chunk: [UInt8] = []
                for _ in 0..<random.within(1...3) {
                    chunk += frame(random.pick([0, 1, 125, 126, 300, 65_535, 65_536, 70_000]) ?? 0)
                    borders.insert(all.count + chunk.count)
                }
                outbox.enqueue(chunk)
                all += chunk
            }
            var sent: [UInt8] = []
            while sent.count < all.count, random.chance(percent: 80) {
                sent += send(&outbox, random.within(1...(random.chance(percent: 50) ? 10 : 50_000)))
            }
            let before = sent.count
            outbox.cutBehindPresentFrame()
            while !outbox.isEmpty { sent += send(&outbox, 30_000) }
            #expect(sent.elementsEqual(all.prefix(sent.count)))
            #expect(borders.contains(sent.count), "\(before) bytes were sent before")
            #expect(!borders.contains { before <= $0 && $0 < sent.count }, "no further frame")
        }
    }
}
