import FleetRules
import PusherProtocol
import Testing

@testable import Gateway

@Suite struct LoopDeliveryTests {
    private func opening(_ slot: Int) throws -> LoopDelivery.Opening {
        let socket = try #require(SocketID("\(slot + 1).\(slot)"))
        let grant = try SubscriptionRequest(channel: "driver-1", auth: nil, channelData: nil)
            .grant(to: socket, key: "k", limits: Limits()) { _, _ in false }
        let key = DeliveryKey(channel: "driver-1", owner: "driver:1", device: "d")
        return LoopDelivery.Opening(socket: socket, grant: grant, key: key, isPosted: false)
    }

    /// The store does not take 20,000 requests.
    @Test func repeatsEachRequestOnceOldestFirst() throws {
        var delivery = LoopDelivery()
        var requests: [Int] = []
        for slot in 0..<20_000 { requests.append(delivery.add(try opening(slot))) }
        #expect(!delivery.hasRequestsToRepeat)
        delivery.findRequestsToRepeat()
        var repeated: [Int] = []
        while repeated.count < 10_000, let request = delivery.nextRequestToRepeat() { repeated.append(request) }
        // The next tick comes while half of them are left: it adds none.
        delivery.findRequestsToRepeat()
        while let request = delivery.nextRequestToRepeat() {
            delivery.setPosted(true, opening: request)
            repeated.append(request)
        }
        #expect(repeated == requests)
        // Those that were refused again come at the tick after it.
        delivery.findRequestsToRepeat()
        let next = delivery.nextRequestToRepeat()
        #expect(next == requests.first)
    }
}
