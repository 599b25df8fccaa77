import Testing

@testable import Cluster

@Suite("The keeper of a channel")
struct KeeperTests {
    @Test("a node that goes moves only the channels that it kept")
    func movesLittle() {
        let nodes = (1...5).map { Epoch(UInt64($0) &* 0x9E37_79B9_7F4A_7C15) }
        let channels = (0..<1_000).map { "channel-\($0)" }
        var moved = 0
        var counts: [Epoch: Int] = [:]
        for channel in channels {
            let before = Keeper.keeper(of: channel, app: "1001", among: nodes)
            let after = Keeper.keeper(of: channel, app: "1001", among: nodes.dropLast())
            counts[before ?? Epoch(0), default: 0] += 1
            if before == nodes.last { continue }
            if before != after { moved += 1 }
        }
        #expect(moved == 0)
        for node in nodes { #expect((100...320).contains(counts[node] ?? 0)) }
    }
}
