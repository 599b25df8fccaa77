import TestSupport
import Testing

@testable import Server

@Suite struct OutboxTests {
    /// Sends the next bytes of an outbox as a socket does that takes at most `room` of them.
    private func send(_ outbox: inout Outbox, piece: Int = .max, room: Int = .max) -> [UInt8] {
        var scratch: [UInt8] = []
        let sent = outbox.withNext(piece, &scratch) { Array($0.prefix(room)) }
        outbox.removeFirst(sent.count)
        return sent
    }

    private func bytes(_ count: Int, _ letter: Unicode.Scalar = "x") -> [UInt8] {
        [UInt8](repeating: UInt8(ascii: letter), count: count)
    }

    @Test func joinsSmallChunksIntoOneWrite() {
        var outbox = Outbox()
        for number in 0..<100 { outbox.enqueue(Array("\(number),".utf8)) }
        let all = (0..<100).map { "\($0)," }.joined()
        #expect(outbox.bytes == all.utf8.count)
        #expect(send(&outbox) == Array(all.utf8))
        #expect(outbox.isEmpty && outbox.bytes == 0)
    }

    @Test func aPieceHasNoMoreThanItsLimit() {
        var outbox = Outbox()
        outbox.enqueue(bytes(50, "a"))
        outbox.enqueue(bytes(500, "b"))
        #expect(send(&outbox, piece: 100) == bytes(50, "a") + bytes(50, "b"))
        #expect(send(&outbox, piece: 100) == bytes(100, "b"))
        #expect(outbox.bytes == 350)
    }

    @Test func startsBehindTheBytesThatAreSent() {
        var outbox = Outbox()
        outbox.enqueue(bytes(3, "a") + bytes(2, "b"), from: 3)
        outbox.enqueue(bytes(2, "c") + bytes(2, "d"), from: 2)
        outbox.enqueue(bytes(2, "e"), from: 2)
        #expect(outbox.bytes == 4)
        #expect(send(&outbox) == bytes(2, "b") + bytes(2, "d"))
        #expect(outbox.isEmpty)
    }

    /// Compares with an array, for random chunks and a socket that takes random amounts.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func keepsAllBytesInOrder(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var outbox = Outbox()
        var expected: [UInt8] = []
        var next: UInt8 = 0
        for _ in 0..<2_000 {
            if Bool.random(using: &random) {
                let chunk = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                    next &+= 1
                    return next
                }
                let offset = Int.random(in: 0...chunk.count, using: &random)
                outbox.enqueue(chunk, from: offset)
                expected += chunk[offset...]
            } else if !outbox.isEmpty {
                let sent = send(
                    &outbox, piece: Int.random(in: 1...60, using: &random), room: Int.random(in: 0...60, using: &random))
                #expect(sent == Array(expected.prefix(sent.count)))
                expected.removeFirst(sent.count)
            }
            #expect(outbox.bytes == expected.count && outbox.isEmpty == expected.isEmpty)
        }
    }

    // MARK: Cost

    @Test func smallChunksAreJoined() throws {
        var outbox = Outbox()
        for _ in 0..<10_000 { outbox.enqueue(bytes(2)) }
        #expect(try storage(outbox).chunks < 30 && outbox.bytes == 20_000)
    }

    /// The number of chunks in the outbox's array, and how many of them are already sent.
    private func storage(_ outbox: Outbox) throws -> (chunks: Int, sent: Int) {
        let fields = Mirror(reflecting: outbox).children
        let chunks = try #require(fields.first { $0.label == "chunks" }?.value as? [[UInt8]])
        return (chunks.count, try #require(fields.first { $0.label == "head" }?.value as? Int))
    }

    /// The outbox of a consumer that lags behind for hours never becomes empty. The chunks are too large to be joined.
    @Test func constantBacklogMovesEachChunkAtMostOnceOnAverage() throws {
        var outbox = Outbox()
        let backlog = 1_000
        for _ in 0..<backlog { outbox.enqueue(bytes(2_000)) }
        var moved = 0
        for _ in 0..<(20 * backlog) {
            outbox.enqueue(bytes(2_000))
            _ = send(&outbox, piece: 2_000)
            let (chunks, sent) = try storage(outbox)
            #expect(sent <= chunks - sent)
            if sent == 0 { moved += chunks }
        }
        #expect(moved <= 20 * backlog)
        #expect(outbox.bytes == backlog * 2_000)
    }
}
