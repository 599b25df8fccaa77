import Fleet
import PusherProtocol
import Testing

@testable import FleetGateway

@Suite struct LoopReplayTests {
    private func opening(_ slot: Int) throws -> LoopReplay.Opening {
        let socket = try #require(SocketID("\(slot + 1).\(slot)"))
        let grant = try SubscriptionRequest(channel: "driver-1", auth: nil, channelData: nil)
            .grant(to: socket, key: "k", limits: Limits()) { _, _ in false }
        let key = ReceiptKey(channel: "driver-1", owner: "driver:1", device: "d")
        return LoopReplay.Opening(socket: socket, grant: grant, key: key, isPosted: false)
    }

    /// The store does not take 20,000 requests.
    @Test func repeatsEachRequestOnceOldestFirst() throws {
        var loopReplay = LoopReplay()
        var requests: [Int] = []
        for slot in 0..<20_000 { requests.append(loopReplay.add(try opening(slot))) }
        #expect(!loopReplay.hasRequestsToRepeat)
        loopReplay.findRequestsToRepeat()
        var repeated: [Int] = []
        while repeated.count < 10_000, let request = loopReplay.nextRequestToRepeat() { repeated.append(request) }
        // The next tick comes while half of them are left: it adds none.
        loopReplay.findRequestsToRepeat()
        while let request = loopReplay.nextRequestToRepeat() {
            loopReplay.setPosted(true, opening: request)
            repeated.append(request)
        }
        #expect(repeated == requests)
        // Those that were refused again come at the tick after it.
        loopReplay.findRequestsToRepeat()
        let next = loopReplay.nextRequestToRepeat()
        #expect(next == requests.first)
    }
}
