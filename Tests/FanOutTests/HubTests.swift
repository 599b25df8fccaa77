import FanOut
import PusherProtocol
import Testing

@Suite struct HubTests {
    private struct Ones: RandomNumberGenerator {
        mutating func next() -> UInt64 { 1 << 32 | 1 }
    }

    @Test func reachesTheLastLoopANodeMayHave() throws {
        let last = LoopSet.loopsMax - 1
        var hub = Hub(loopCount: LoopSet.loopsMax, appCount: 1)
        var random = Ones()
        let socket = SocketID(loop: last, slot: 0, using: &random)
        let grant = try SubscriptionRequest(channel: "news").grant(to: socket, key: "key1", limits: Limits()) { _, _ in false }
        let frame = Frame(text: [])
        var effects: [Hub.Effect] = []
        hub.apply(.opened(socket, app: 0), &effects)
        hub.apply(.subscribe(socket, grant), &effects)
        effects.removeAll()
        hub.apply(.publish([Hub.Publication(channel: grant.channel, frame: frame)], app: 0, except: nil), &effects)
        #expect(effects.map(\.loop) == [last] && effects.map(\.instruction) == [.fanOut(frame, 0, except: nil)])
    }

    /// A loop that a set of loops cannot hold would never hear an event.
    @Test func trapsMoreLoopsThanThat() async {
        await #expect(processExitsWith: .failure) { _ = Hub(loopCount: LoopSet.loopsMax + 1, appCount: 1) }
        await #expect(processExitsWith: .failure) { _ = Hub(loopCount: 0, appCount: 1) }
    }
}
