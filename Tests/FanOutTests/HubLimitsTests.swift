import PusherProtocol
import Testing

@testable import FanOut

/// The limits of an application that bound the hub's memory.
@Suite struct HubLimitsTests {
    private static func hub(_ change: (inout Limits) -> Void) -> Hub {
        var rules = AppRules()
        change(&rules.limits)
        var hub = Hub(loopCount: 1, apps: [rules, AppRules()])
        _ = hub.apply(.opened(x, app: 0), .opened(y, app: 0), .opened(z, app: 1))
        return hub
    }

    private func refusal(_ channel: String, _ limit: String) -> Frame {
        error("Cannot subscribe to channel \(channel): the application has reached its limit of \(limit)")
    }

    @Test func newChannelOverTheLimitIsRefused() {
        var hub = Self.hub { $0.channels = 2 }
        _ = hub.apply(.subscribe(x, grant("a")), .subscribe(x, grant("b")))
        #expect(hub.apply(.subscribe(y, grant("c"))) == [.send(refusal("c", "2 channels"), to: y)])
        #expect(hub.apply(.subscribe(y, grant("b"))).count == 2, "an occupied channel is no new one")
        #expect(hub.apply(.subscribe(z, grant("c"))).count == 2, "each application has its own limit")
        #expect(hub.refusedSubscriptions.channels == 1)
        _ = hub.apply(.unsubscribe(x, name("a")))
        #expect(hub.apply(.subscribe(y, grant("c"))).count == 2, "there is room again")
    }

    @Test func subscriptionOverTheLimitOfTheAppIsRefused() {
        var hub = Self.hub { $0.appSubscriptions = 2 }
        _ = hub.apply(.subscribe(x, grant("a")), .subscribe(y, grant("a")))
        #expect(hub.apply(.subscribe(y, grant("b"))) == [.send(refusal("b", "2 subscriptions"), to: y)])
        #expect(hub.apply(.subscribe(z, grant("b"))).count == 2)
        #expect(hub.refusedSubscriptions.appSubscriptions == 1 && hub.channelCount == 2)
        _ = hub.apply(.closed(x))
        #expect(hub.apply(.subscribe(y, grant("b"))).count == 2)
    }

    @Test func refusalsByConnectionAndChannelAreCounted() {
        var hub = Self.hub {
            $0.subscriptions = 1
            $0.presenceMembers = 1
        }
        _ = hub.apply(.subscribe(x, grant("a")), .subscribe(x, grant("b")))
        #expect(hub.refusedSubscriptions.subscriptions == 1)
        hub = Self.hub { $0.presenceMembers = 1 }
        _ = hub.apply(.subscribe(x, grant("presence-a", as: "1")), .subscribe(y, grant("presence-a", as: "2")))
        #expect(hub.refusedSubscriptions.presenceMembers == 1 && hub.subscriptionCount == 1)
    }

    @Test func zeroIsNoLimit() {
        var hub = Self.hub {
            $0.channels = 0
            $0.appSubscriptions = 0
        }
        for index in 0..<50 { _ = hub.apply(.subscribe(x, grant("c\(index)"))) }
        #expect(hub.subscriptionCount == 50 && hub.refusedSubscriptions == RefusedSubscriptions())
    }
}

/// Connections on one loop.
private let x = socket("1.0")
private let y = socket("2.1")
private let z = socket("3.2")
