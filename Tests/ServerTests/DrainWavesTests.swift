import PusherProtocol
import TestSupport
import Testing

@testable import Server

@Suite struct DrainWavesTests {
    struct Case: Sendable {
        /// The number of connections to close.
        let sockets: Int
        /// The time within which all connections are closed; 0: at once.
        let seconds: Int
        /// The number of waves that may contain connections: 20 per second.
        var waves: Int { max(1, seconds * 20) }
    }

    static let cases = [
        Case(sockets: 1, seconds: 10), Case(sockets: 10, seconds: 10), Case(sockets: 100, seconds: 10),
        Case(sockets: 199, seconds: 10), Case(sockets: 200, seconds: 10),
        Case(sockets: 201, seconds: 10), Case(sockets: 399, seconds: 10), Case(sockets: 10_000, seconds: 10),
        Case(sockets: 10_007, seconds: 3), Case(sockets: 7, seconds: 0), Case(sockets: 1, seconds: 0),
        Case(sockets: 0, seconds: 0),
        Case(sockets: 0, seconds: 5), Case(sockets: 5_000, seconds: 1), Case(sockets: 21, seconds: 1),
    ]

    private func sockets(_ count: Int) -> [SocketID] {
        var random = SplitMix(seed: 1)
        return (0..<count).map { SocketID(loop: 0, slot: $0, using: &random) }
    }

    /// All waves of a drain, including the empty ones of the grace period.
    private func waves(_ example: Case) -> [[SocketID]] {
        var drain = DrainWaves(sockets(example.sockets), seconds: example.seconds, requestSeconds: 0, closingWith: .restart)
        var waves: [[SocketID]] = []
        while !drain.isOver(hasRequests: true), waves.count < 10_000 { waves.append(drain.nextWave()) }
        return waves
    }

    @Test(arguments: cases) func closesEachConnectionOnce(example: Case) {
        let closed = waves(example).flatMap { $0 }
        #expect(closed.count == example.sockets)
        #expect(Set(closed) == Set(sockets(example.sockets)))
    }

    @Test(arguments: cases) func waveSizesDifferByAtMostOne(example: Case) {
        let sizes = waves(example).prefix(example.waves).map(\.count)
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= 1)
    }

    /// Also if there are fewer connections than ticks: 100 clients of a drain of 10 s are not all told within 5 s.
    @Test(arguments: cases) func spreadsTheClosesOverTheWholeTime(example: Case) {
        var closed = 0
        for (tick, wave) in waves(example).prefix(example.waves).enumerated() {
            closed += wave.count
            let share = Double(example.sockets) * Double(tick + 1) / Double(example.waves)
            #expect(Double(closed) >= share && Double(closed) < share + 1, "tick \(tick)")
        }
    }

    @Test(arguments: cases) func closesAllConnectionsInTime(example: Case) {
        #expect(waves(example).dropFirst(example.waves).allSatisfy { $0.isEmpty })
    }

    /// The clients of the last wave have a second (20 ticks) to respond to the close frame.
    @Test(arguments: cases) func endsASecondAfterTheLastWave(example: Case) {
        #expect(waves(example).count == example.waves + 20)
    }

    @Test func isNotOverBeforeTheFirstWave() {
        #expect(!DrainWaves(sockets(1), seconds: 0, requestSeconds: 0, closingWith: .restart).isOver(hasRequests: false))
        #expect(!DrainWaves([], seconds: 0, requestSeconds: 0, closingWith: .restart).isOver(hasRequests: false))
    }

    @Test func staysOver() {
        var drain = DrainWaves(sockets(3), seconds: 0, requestSeconds: 0, closingWith: .overCapacity)
        for _ in 0..<21 { _ = drain.nextWave() }
        #expect(drain.isOver(hasRequests: true))
        #expect(drain.nextWave() == [] && drain.isOver(hasRequests: true))
    }

    @Test func requestsHaveTheirTime() {
        var drain = DrainWaves(sockets(3), seconds: 0, requestSeconds: 3, closingWith: .overCapacity)
        var ticks = 0
        while !drain.isOver(hasRequests: true) {
            _ = drain.nextWave()
            ticks += 1
            #expect(drain.isOver(hasRequests: false) == (ticks >= 21))
        }
        #expect(ticks == 60)
    }
}
