import Testing

@testable import Cluster

@Suite("The keepers of a channel")
struct KeeperTests {
    @Test("a node that goes moves only the channels that it kept")
    func movesLittle() {
        let nodes = (1...5).map { Epoch(UInt64($0) &* 0x9E37_79B9_7F4A_7C15) }
        let channels = (0..<1_000).map { "channel-\($0)" }
        var moved = 0
        var counts: [Epoch: Int] = [:]
        for channel in channels {
            let key = ChannelKey(app: "1001", channel: channel)
            let (before, after) = (Keepers(of: key, among: nodes), Keepers(of: key, among: nodes.dropLast()))
            counts[before.first ?? Epoch(0), default: 0] += 1
            // The follower takes the place of the keeper that goes.
            #expect(after.first == (before.first == nodes.last ? before.second : before.first))
            if before.second != nodes.last, before.first != nodes.last, before != after { moved += 1 }
        }
        #expect(moved == 0)
        for node in nodes { #expect((100...320).contains(counts[node] ?? 0)) }
    }
}
