import PusherProtocol
import TestSupport
import Testing

@testable import Server

@Suite struct OutboxesTests {
    private func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    /// Drops the fullest outboxes until all together hold no more than `most`, as the event loop does.
    private func limit(_ outboxes: inout Outboxes, to most: Int) -> [Int] {
        var dropped: [Int] = []
        while outboxes.heldBytes > most, let slot = outboxes.fullest {
            dropped.append(slot)
            _ = outboxes.remove(slot)
        }
        return dropped
    }

    @Test func aFewLargeOutboxesGoBeforeThousandsOfSmallOnes() {
        var outboxes = Outboxes()
        for slot in 0..<20_000 { outboxes.enqueue(bytes(1_000), from: 0, slot) }
        for slot in [5, 700, 19_999] { outboxes.enqueue(bytes(5_000_000), from: 0, slot) }
        #expect(Set(limit(&outboxes, to: 20_000_000)) == [5, 700, 19_999])
    }

    @Test func ofManySmallOutboxesOnlyAsManyGoAsAreTooMany() {
        var outboxes = Outboxes()
        for slot in 0..<20_000 { outboxes.enqueue(bytes(20_000), from: 0, slot) }
        #expect(limit(&outboxes, to: 100_000_000).count == 15_000)
        #expect(outboxes.heldBytes == 100_000_000)
    }

    /// A chunk that is sent in part is in memory as a whole.
    @Test func aChunkCountsUntilItsLastByteIsSent() {
        var outboxes = Outboxes()
        outboxes.enqueue(bytes(6_000_000), from: 1_000, 1)
        outboxes.enqueue(bytes(100), from: 0, 2)
        #expect(outboxes.bytes(1) == 5_999_000 && outboxes.heldBytes == 6_000_100)
        var outbox = outboxes.remove(1) ?? Outbox()
        outbox.removeFirst(5_998_999)
        outboxes.restore(outbox, 1)
        #expect(outboxes.bytes(1) == 1 && outboxes.heldBytes == 6_000_100 && outboxes.fullest == 1)
        outbox = outboxes.remove(1) ?? Outbox()
        outbox.removeFirst(1)
        #expect(outbox.isEmpty && outbox.heldBytes == 0 && outboxes.heldBytes == 100)
        #expect(outboxes.fullest == 2 && !outboxes.contains(1))
    }

    /// Compares with plain tables, for random operations.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func theFullestIsWithinAFactorOfTwoOfTheMost(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var outboxes = Outboxes()
        var expected: [Int: Int] = [:]
        for _ in 0..<3_000 {
            let slot = random.below(50)
            switch random.below(4) {
            case 0, 1:
                let count = 1 << random.below(20) + random.below(3)
                outboxes.enqueue(bytes(count), from: 0, slot)
                expected[slot, default: 0] += count
            case 2:
                guard var outbox = outboxes.remove(slot) else { break }
                let sent = random.below(outbox.bytes)
                outbox.removeFirst(sent)
                outboxes.restore(outbox, slot)
                expected[slot] = outbox.heldBytes
            default:
                let removed = outboxes.remove(slot)?.heldBytes
                #expect(removed == expected.removeValue(forKey: slot))
            }
            #expect(outboxes.heldBytes == expected.values.reduce(0, +))
            #expect(outboxes.isEmpty == expected.isEmpty)
            guard let fullest = outboxes.fullest.flatMap({ expected[$0] }), let most = expected.values.max() else { continue }
            #expect(most < fullest * 2)
        }
    }
}

@Suite struct RepliesTests {
    private let sockets: [SocketID] = {
        var random = SplitMix(seed: 1)
        return [1, 2].map { SocketID(loop: 0, slot: $0, using: &random) }
    }()

    @Test func longBodiesStandBetweenThePartsOfTheirConnections() {
        var replies = Replies()
        replies.append(to: sockets[0]) { $0 += Array("a".utf8) }
        replies.append(body: Array("long".utf8))
        replies.append(to: sockets[0]) { $0 += Array("b".utf8) }
        replies.append(to: sockets[0]) { $0 += Array("c".utf8) }
        replies.append(to: sockets[1]) { $0 += Array("d".utf8) }
        #expect(replies.byteCount == 8)
        var sent: [String] = []
        replies.forEachPart { bytes, body, socket in
            let texts = [Array(bytes), body ?? []].map { String(decoding: $0, as: UTF8.self) }
            sent.append("\(socket.slot) \(texts[0]) \(texts[1])")
        }
        #expect(sent == ["1 a long", "1 bc ", "2 d "])
        replies.removeAll()
        #expect(replies.isEmpty && replies.byteCount == 0)
    }

    @Test func theBufferOfALargeTurnIsGivenBack() throws {
        var replies = Replies()
        for (size, isKept) in [(10_000, true), (1_000_000, false)] {
            replies.append(to: sockets[0]) { $0 += [UInt8](repeating: 0, count: size) }
            replies.removeAll()
            let mirror = Mirror(reflecting: replies)
            let bytes = try #require(mirror.children.first { $0.label == "bytes" }?.value as? [UInt8])
            #expect((bytes.capacity >= size) == isKept)
        }
    }
}
