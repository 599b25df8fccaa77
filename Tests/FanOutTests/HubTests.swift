import FanOut
import HubFixture
import PusherProtocol
import Testing

/// The effects that the hub produces for its inputs.
@Suite struct HubTests {
    private var hub = Hub(loopCount: LoopSet.loopsMax, apps: [AppRules(), AppRules()])

    // MARK: Subscribing

    @Test mutating func joinPrecedesSubscriptionSucceeded() {
        _ = hub.apply(.opened(x, app: 0))
        #expect(
            hub.apply(.subscribe(x, grant("news"))) == [Received(0, .join(0, x)), Received(0, .send(succeeded("news"), to: x))])
        #expect(hub.subscriptionCount == 1)
        #expect(hub.channelCount == 1)
    }

    @Test mutating func openHasNoEffects() {
        #expect(hub.apply(.opened(x, app: 0)) == [])
        #expect(hub.subscriptionCount == 0)
    }

    @Test mutating func secondSubscriptionIsAnError() {
        join(x, "news")
        #expect(
            hub.apply(.subscribe(x, grant("news"))) == [Received(0, .send(error("Existing subscription to channel news"), to: x))]
        )
        #expect(hub.subscriptionCount == 1)
    }

    @Test mutating func subscriptionLimitIsEnforced() {
        var rules = AppRules()
        rules.limits.subscriptions = 2
        hub = Hub(loopCount: LoopSet.loopsMax, apps: [rules, AppRules()])
        for channel in ["a", "b", "c"] { join(x, channel) }
        #expect(
            hub.apply(.subscribe(x, grant("c"))) == [
                .send(error("Cannot subscribe to channel c: the limit is 2 channels per connection"), to: x)
            ])
        #expect(hub.apply(.subscribe(x, grant("a"))) == [Received(0, .send(error("Existing subscription to channel a"), to: x))])
        #expect(hub.subscriptionCount == 2 && hub.channelCount == 2, "a rejected subscription creates no channel")
        _ = hub.apply(.unsubscribe(x, name("a")))
        #expect(hub.apply(.subscribe(x, grant("c"))).count == 2)
    }

    @Test mutating func channelHasTheSameSlotOnAllLoops() {
        join(x, "news")
        join(y, "sport")
        #expect(hub.apply(.opened(z, app: 0), .subscribe(z, grant("news"))).first == Received(63, .join(0, z)))
        #expect(hub.channelCount == 2)
        #expect(hub.subscriptionCount == 3)
    }

    @Test mutating func unsubscribeLeavesTheChannel() {
        join(x, "news")
        join(y, "news")
        #expect(hub.apply(.unsubscribe(x, name("news"))) == [Received(0, .leave(0, x))])
        #expect(hub.subscriptionCount == 1)
        #expect(hub.channelCount == 1)
    }

    @Test(arguments: ["sport", "unknown"])
    mutating func unsubscribeWithoutSubscriptionIsAnError(channel: String) {
        join(x, "news")
        join(y, "sport")
        let text = "No current subscription to channel \(channel), or subscription in progress"
        #expect(hub.apply(.unsubscribe(x, name(channel))) == [Received(0, .send(error(text), to: x))])
        #expect(hub.subscriptionCount == 2)
    }

    // MARK: Publishing

    @Test mutating func eventGoesOnceToEachLoopInAscendingOrder() {
        join(z, "news")
        join(y, "news")
        join(x, "news")
        join(w, "news")
        let deliveries = hub.apply(publish("news", except: y))
        #expect(deliveries == [0, 1, 63].map { Received($0, .fanOut(event, 0, except: y)) })
    }

    @Test mutating func eventIsSentToTheLastPossibleLoop() {
        #expect(z.loop == LoopSet.loopsMax - 1)
        join(z, "news")
        #expect(hub.apply(publish("news")) == [Received(z.loop, .fanOut(event, 0, except: nil))])
    }

    @Test mutating func eventWithoutSubscribersHasNoEffects() {
        join(x, "news")
        #expect(hub.apply(publish("sport")) == [])
    }

    @Test mutating func publishKeepsTheOrderOfItsChannels() {
        join(x, "news")
        join(x, "sport")
        let other = Frame(text: Array("other".utf8))
        let publications = [
            Hub.Publication(channel: name("sport"), frame: other), Hub.Publication(channel: name("none"), frame: event),
            Hub.Publication(channel: name("news"), frame: event),
        ]
        #expect(
            hub.apply(.publish(publications, app: 0, except: nil)) == [
                Received(0, .fanOut(other, 1, except: nil)), Received(0, .fanOut(event, 0, except: nil)),
            ])
    }

    @Test mutating func appsAreIsolated() {
        join(x, "news")
        _ = hub.apply(.opened(y, app: 1))
        #expect(hub.apply(publish("news", app: 1)) == [])
        #expect(hub.apply(.subscribe(y, grant("news"))).first == Received(1, .join(1, y)))
        #expect(hub.apply(publish("news", app: 1)) == [Received(1, .fanOut(event, 1, except: nil))])
        #expect(hub.apply(publish("news", app: 0)) == [Received(0, .fanOut(event, 0, except: nil))])
        #expect(hub.channelCount == 2)
    }

    @Test mutating func loopsOfAChannelAreThoseWithSubscribers() {
        #expect(hub.loops(of: name("news"), app: 0) == [])
        join(x, "news")
        join(w, "news")
        join(z, "news")
        #expect(hub.loops(of: name("news"), app: 0) == [0, 63])
        #expect(hub.loops(of: name("news"), app: 1) == [])
        _ = hub.apply(.unsubscribe(x, name("news")))
        #expect(hub.loops(of: name("news"), app: 0) == [0, 63])
        _ = hub.apply(.closed(w))
        #expect(hub.loops(of: name("news"), app: 0) == [63])
        _ = hub.apply(.closed(z))
        #expect(hub.loops(of: name("news"), app: 0) == [])
    }

    // MARK: Slots

    @Test mutating func vacatedChannelSlotIsReusedAfterTheLeave() {
        join(x, "news")
        join(x, "sport")
        var deliveries = hub.apply(.unsubscribe(x, name("news")))
        #expect(hub.channelCount == 1)
        deliveries += hub.apply(.subscribe(x, grant("weather")))
        #expect(
            deliveries == [Received(0, .leave(0, x)), Received(0, .join(0, x)), Received(0, .send(succeeded("weather"), to: x))])
        #expect(hub.apply(publish("news")) == [])
        #expect(hub.apply(.subscribe(x, grant("news"))).first == Received(0, .join(2, x)))
        #expect(hub.channelCount == 3)
    }

    @Test mutating func connectionSlotIsReused() {
        join(x, "news")
        _ = hub.apply(.closed(x))
        let successor = socket("77.0")
        #expect(hub.apply(.opened(successor, app: 1), .unsubscribe(successor, name("news"))).count == 1)
        #expect(hub.apply(.subscribe(successor, grant("news"))).first == Received(0, .join(0, successor)))
    }

    // MARK: Closing

    @Test mutating func closeLeavesAllChannelsInADeterministicOrder() {
        for channel in ["c", "a", "d", "b"] { join(x, channel) }
        _ = hub.apply(.unsubscribe(x, name("a")))
        #expect(hub.apply(.closed(x)) == [0, 3, 2].map { Received(0, .leave($0, x)) })
        #expect(hub.subscriptionCount == 0)
        #expect(hub.channelCount == 0)
    }

    @Test(arguments: [
        Hub.Input.subscribe(x, grant("news")), .unsubscribe(x, name("news")), .closed(x),
        .signin(x, user("anna", watching: ["bert"])),
        .clientEvent(x, ClientEvent(name: "client-e", channel: "private-a", data: []), on: name("private-a")),
    ])
    mutating func inputOfAClosedConnectionHasNoEffects(input: Hub.Input) {
        #expect(hub.apply(input) == [])
        join(x, "news")
        _ = hub.apply(.closed(x))
        #expect(hub.apply(input) == [])
        join(socket("77.0"), "news")
        #expect(hub.apply(input) == [])
        #expect(hub.subscriptionCount == 1)
    }

    @Test mutating func inputOfAnUnknownConnectionHasNoEffects() {
        #expect(hub.apply(.subscribe(socket("5.4294967295"), grant("news"))) == [])
    }

    // MARK: Programming errors

    @Test func openInOccupiedSlotTraps() async {
        await #expect(processExitsWith: .failure) {
            var hub = Hub(loopCount: 1, apps: [AppRules()])
            _ = hub.apply(.opened(x, app: 0), .opened(socket("77.0"), app: 0))
        }
    }

    /// A hub needs at least one loop. ``LoopSet`` contains at most `loopsMax` loops; any loop beyond them would get no
    /// events.
    @Test func loopCountOutsideTheRangeTraps() async {
        await #expect(processExitsWith: .failure) { _ = Hub(loopCount: LoopSet.loopsMax + 1, apps: [AppRules()]) }
        await #expect(processExitsWith: .failure) { _ = Hub(loopCount: 0, apps: [AppRules()]) }
    }

    private mutating func join(_ socket: SocketID, _ channel: String) {
        if opened.insert(socket).inserted { _ = hub.apply(.opened(socket, app: 0)) }
        _ = hub.apply(.subscribe(socket, grant(channel)))
    }

    private var opened: Set<SocketID> = []
}

// MARK: Fixtures

/// Connections on the loops 0, 1 and 63: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.1056964608")
/// A connection on the same loop as `x`.
private let w = socket("4.1")
private let event = Frame(text: Array("event".utf8))

private func publish(_ channel: String, app: AppIndex = 0, except sender: SocketID? = nil) -> Hub.Input {
    .publish([Hub.Publication(channel: name(channel), frame: event)], app: app, except: sender)
}
