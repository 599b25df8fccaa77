import PusherProtocol
import TestSupport
import Testing

@testable import Server

@Suite struct OutboxTests {
    /// A frame with `length` bytes of text. Its size is `length` + 2, because the WebSocket header has 2 bytes.
    /// - Parameter length: at most 125.
    private func frame(_ length: Int, _ letter: Character = "x") -> Frame {
        Frame(text: Array(String(repeating: letter, count: length).utf8))
    }

    @Test func returnsFramesInOrder() {
        var outbox = Outbox()
        #expect(outbox.isEmpty && outbox.nextFrame() == nil)
        let frames = (0..<100).map { Frame(text: Array("\($0)".utf8)) }
        for frame in frames { #expect(outbox.enqueue(frame, bytesMax: .max) == .queued) }
        #expect(!outbox.isEmpty)
        for frame in frames { #expect(outbox.nextFrame() == frame) }
        #expect(outbox.isEmpty && outbox.nextFrame() == nil)
    }

    @Test func keepsTheOrderOfInterleavedFrames() {
        var outbox = Outbox()
        var expected: [Frame] = []
        var random = SplitMix(seed: 1)
        for number in 0..<2_000 {
            if Int.random(in: 0..<100, using: &random) < (number < 1_000 ? 60 : 40) {
                let frame = Frame(text: Array("\(number)".utf8))
                #expect(outbox.enqueue(frame, bytesMax: .max) == .queued)
                expected.append(frame)
            } else {
                #expect(outbox.nextFrame() == (expected.isEmpty ? nil : expected.removeFirst()))
            }
            #expect(outbox.isEmpty == expected.isEmpty)
            #expect(outbox.bytes == expected.reduce(0) { $0 + $1.bytes.count })
        }
    }

    // MARK: Limit

    @Test func acceptsFramesUpToTheLimit() {
        var outbox = Outbox()
        #expect(outbox.enqueue(frame(48), bytesMax: 100) == .queued)
        #expect(outbox.enqueue(frame(48), bytesMax: 100) == .queued)
        #expect(outbox.bytes == 100)
    }

    @Test func overflowsOneByteAboveTheLimitAndKeepsItsFrames() {
        var outbox = Outbox()
        #expect(outbox.enqueue(frame(48, "a"), bytesMax: 100) == .queued)
        #expect(outbox.enqueue(frame(49, "b"), bytesMax: 100) == .overflow)
        #expect(outbox.bytes == 50)
        #expect(outbox.nextFrame() == frame(48, "a"))
        #expect(outbox.nextFrame() == nil)
    }

    @Test func rejectsAFrameLargerThanTheLimit() {
        var outbox = Outbox()
        #expect(outbox.enqueue(frame(99), bytesMax: 100) == .overflow)
        #expect(outbox.isEmpty && outbox.bytes == 0)
        #expect(outbox.enqueue(frame(1), bytesMax: 0) == .overflow)
    }

    @Test func sentFramesFreeTheirSpace() {
        var outbox = Outbox()
        for _ in 0..<1_000 {
            #expect(outbox.enqueue(frame(98), bytesMax: 100) == .queued)
            #expect(outbox.enqueue(frame(0), bytesMax: 100) == .overflow)
            #expect(outbox.nextFrame() != nil)
            #expect(outbox.bytes == 0)
        }
    }

    @Test func countsOnlyUnsentBytesOfAFrame() {
        var outbox = Outbox()
        #expect(outbox.enqueue(Outbox.Chunk(frame: frame(98), offset: 60), bytesMax: 40) == .queued)
        #expect(outbox.bytes == 40)
    }

    @Test func putsAPartlySentFrameBackToTheFront() {
        var outbox = Outbox()
        for letter in "abc" { #expect(outbox.enqueue(frame(98, letter), bytesMax: .max) == .queued) }
        #expect(outbox.nextFrame() == frame(98, "a"))
        outbox.putBack(Outbox.Chunk(frame: frame(98, "a"), offset: 70))
        #expect(outbox.bytes == 30 + 100 + 100)
        #expect(outbox.next() == Outbox.Chunk(frame: frame(98, "a"), offset: 70))
        #expect(outbox.nextFrame() == frame(98, "b") && outbox.nextFrame() == frame(98, "c") && outbox.isEmpty)
    }

    // MARK: Cost

    /// The number of frames in the outbox's array, and how many of them are already sent.
    private func storage(_ outbox: Outbox) throws -> (frames: Int, sent: Int) {
        let fields = Mirror(reflecting: outbox).children
        let frames = try #require(fields.first { $0.label == "chunks" }?.value as? [Outbox.Chunk])
        return (frames.count, try #require(fields.first { $0.label == "head" }?.value as? Int))
    }

    /// The number of frames that the last `next()` moved within the array: if it removed the sent frames from the front
    /// of the array, all frames that remain; otherwise 0.
    private func moves(_ outbox: Outbox) throws -> Int {
        let (frames, sent) = try storage(outbox)
        return sent == 0 ? frames : 0
    }

    @Test func keepsNoMoreSentThanUnsentFrames() throws {
        var outbox = Outbox()
        for length in 0..<100 { _ = outbox.enqueue(frame(length), bytesMax: .max) }
        while outbox.nextFrame() != nil {
            let (frames, sent) = try storage(outbox)
            #expect(sent <= frames - sent)
        }
        #expect(try storage(outbox) == (0, 0))
    }

    @Test func emptyingMovesEachFrameAtMostOnceOnAverage() throws {
        var outbox = Outbox()
        let count = 10_000
        let frame = frame(10)
        for _ in 0..<count { _ = outbox.enqueue(frame, bytesMax: .max) }
        var moved = 0
        while outbox.nextFrame() != nil { moved += try moves(outbox) }
        #expect(moved <= count)
    }

    /// The outbox of a consumer that lags behind for hours never becomes empty.
    @Test func constantBacklogMovesEachFrameAtMostOnceOnAverage() throws {
        var outbox = Outbox()
        let backlog = 1_000
        let frame = frame(10)
        for _ in 0..<backlog { _ = outbox.enqueue(frame, bytesMax: .max) }
        var moved = 0
        for _ in 0..<(20 * backlog) {
            _ = outbox.enqueue(frame, bytesMax: .max)
            _ = outbox.nextFrame()
            moved += try moves(outbox)
        }
        #expect(moved <= 20 * backlog)
        #expect(outbox.bytes == backlog * frame.bytes.count)
    }
}

extension Outbox {
    fileprivate mutating func enqueue(_ frame: Frame, bytesMax: Int) -> Outbox.EnqueueResult {
        enqueue(Chunk(frame: frame, offset: 0), bytesMax: bytesMax)
    }

    fileprivate mutating func nextFrame() -> Frame? { next()?.frame }
}
