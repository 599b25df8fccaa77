import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Cache channels, subscription counts and quotas at the hub (protocol sections K and N, point C10).
@Suite struct HubCacheTests {
    private var hub = Hub(loopCount: 2, apps: [HubCacheTests.rules, AppRules()])

    private static var rules: AppRules {
        var rules = AppRules()
        rules.subscriptionCounts = true
        rules.limits.connections = 150
        return rules
    }

    private func frame(_ text: String) -> Frame { Frame(text: Array(text.utf8)) }

    private func publish(_ text: String, on channel: String, app: AppIndex = 0, except sender: SocketID? = nil) -> Hub.Input {
        .publish([Hub.Publication(channel: name(channel), frame: frame(text))], app: app, except: sender)
    }

    private func count(_ count: Int, _ channel: String) -> Frame { ServerMessage.subscriptionCount(name(channel), count) }

    // MARK: Cache channels

    @Test(arguments: ["cache-a", "private-cache-a", "private-encrypted-cache-a", "presence-cache-a"])
    mutating func k1EmptyCacheChannelSendsCacheMiss(channel: String) {
        let deliveries = hub.apply(.opened(y, app: 1), .subscribe(y, grant(channel, as: "anna")))
        let confirmation: Instruction =
            name(channel).isPresence ? .sendPresence(name(channel), [member("anna")], to: y) : .send(succeeded(channel), to: y)
        #expect(
            deliveries.prefix(3) == [
                Received(1, .join(0, y)), Received(1, confirmation), .send(ServerMessage.cacheMiss(name(channel)), to: y),
            ])
    }

    @Test mutating func k2CachedEventFollowsSubscriptionSucceeded() {
        _ = hub.apply(publish("1", on: "presence-cache-a"), publish("2", on: "presence-cache-a"))
        let deliveries = hub.apply(.opened(x, app: 0), .subscribe(x, grant("presence-cache-a", as: "anna")))
        let channel = name("presence-cache-a")
        #expect(
            deliveries == [
                Received(0, .join(0, x)), Received(0, .sendPresence(channel, [member("anna")], to: x)), .send(frame("2"), to: x),
                Received(0, .fanOut(ServerMessage.memberAdded(channel, member("anna")), 0, except: x)),
            ])
        #expect(
            hub.apply(publish("2", on: "cache-b"), .subscribe(x, grant("cache-b"))).suffix(3) == [
                .send(succeeded("cache-b"), to: x), .send(frame("2"), to: x),
                Received(0, .fanOut(count(1, "cache-b"), 1, except: nil)),
            ])
    }

    @Test mutating func k3CachedEventOutlivesSubscribersForThirtyMinutes() throws {
        _ = hub.apply(.tick(1_000), publish("1", on: "cache-a"), .tick(1_800_999))
        #expect(try #require(hub.cachedEvent(on: name("cache-a"), app: 0)) == (frame("1"), 1))
        #expect(hub.cachedEvent(on: name("cache-a"), app: 1) == nil)
        _ = hub.apply(.tick(1_801_000))
        #expect(hub.cachedEvent(on: name("cache-a"), app: 0) == nil)
    }

    @Test mutating func k4ClientAndMemberEventsAreNotCached() {
        let event = ClientEvent(name: "client-e", channel: "presence-cache-a", data: Array("null".utf8))
        _ = hub.apply(.opened(x, app: 0), .subscribe(x, grant("presence-cache-a", as: "anna")))
        _ = hub.apply(.clientEvent(x, event, on: name("presence-cache-a")))
        #expect(hub.cachedEvent(on: name("presence-cache-a"), app: 0) == nil)
    }

    @Test mutating func k5EventWithExclusionIsCached() {
        _ = hub.apply(.opened(x, app: 0), .subscribe(x, grant("cache-a")), publish("1", on: "cache-a", except: x))
        #expect(hub.apply(.unsubscribe(x, name("cache-a")), .subscribe(x, grant("cache-a"))).contains(.send(frame("1"), to: x)))
    }

    @Test mutating func otherChannelsAreNotCached() {
        _ = hub.apply(publish("1", on: "news"), publish("1", on: "cachefoo"), publish("1", on: "my-cache-a"))
        for channel in ["news", "cachefoo", "my-cache-a"] { #expect(hub.cachedEvent(on: name(channel), app: 0) == nil) }
    }

    // MARK: Counts

    @Test mutating func n1EveryChangeIsSentToAllSubscribers() {
        _ = hub.apply(.opened(x, app: 0), .opened(y, app: 0))
        #expect(hub.apply(.subscribe(x, grant("news"))).last == Received(0, .fanOut(count(1, "news"), 0, except: nil)))
        #expect(
            hub.apply(.subscribe(y, grant("news"))).suffix(2)
                == [0, 1].map { Received($0, .fanOut(count(2, "news"), 0, except: nil)) })
        #expect(
            hub.apply(.unsubscribe(x, name("news"))) == [
                Received(0, .leave(0, x)), Received(1, .fanOut(count(1, "news"), 0, except: nil)),
            ])
        #expect(hub.apply(.closed(y)) == [Received(1, .leave(0, y))], "no subscriber is left")
    }

    @Test mutating func n1CountsRequireTheAppSetting() {
        _ = hub.apply(.opened(x, app: 1))
        #expect(hub.apply(.subscribe(x, grant("news"))) == [Received(0, .join(0, x)), .send(succeeded("news"), to: x)])
    }

    @Test mutating func n1LargeChannelsGetCountsEveryFiveSeconds() {
        let sockets = crowd(100)
        _ = hub.apply(.tick(1_000))
        let late = [socket("9.200"), socket("9.201")]
        for socket in late {
            #expect(
                hub.apply(.opened(socket, app: 0), .subscribe(socket, grant("news"))).count == 2,
                "join and subscription_succeeded, but no count yet")
        }
        #expect(hub.apply(.tick(4_999)) == [])
        #expect(hub.apply(.tick(6_000)) == [Received(0, .fanOut(count(102, "news"), 0, except: nil))])
        #expect(hub.apply(.tick(20_000)) == [], "each count is sent once")
        _ = hub.apply(.unsubscribe(sockets[0], name("news")))
        #expect(
            hub.apply(.unsubscribe(sockets[1], name("news"))).last == Received(0, .fanOut(count(100, "news"), 0, except: nil)))
        #expect(hub.apply(.tick(30_000)) == [], "immediate counts are not repeated")
    }

    @Test mutating func n1VacatedChannelGetsNoCount() {
        let sockets = crowd(101)
        for socket in sockets { _ = hub.apply(.closed(socket)) }
        _ = hub.apply(.opened(x, app: 0), .subscribe(x, grant("sport")))
        #expect(hub.apply(.tick(60_000)) == [], "the slot of the due count belongs to another channel now")
    }

    // MARK: Quotas

    @Test mutating func c10ClosingFreesQuotaAtOnce() {
        let sockets = crowd(150)
        #expect(!hub.hasRoomForConnection(app: 0) && hub.connectionCount(app: 0) == 150)
        #expect(hub.hasRoomForConnection(app: 1) && hub.connectionCount(app: 1) == 0)
        _ = hub.apply(.closed(sockets[0]), .closed(sockets[0]))
        #expect(hub.hasRoomForConnection(app: 0) && hub.connectionCount(app: 0) == 149)
    }

    // MARK: Queries

    @Test mutating func g1OccupiedChannelsAreSortedByName() {
        _ = hub.apply(.opened(x, app: 1))
        for channel in ["b", "presence-a", "a"] { _ = hub.apply(.subscribe(x, grant(channel, as: "anna"))) }
        #expect(hub.listed(app: 1, "").map(\.name) == ["a", "b", "presence-a"])
        #expect(hub.listed(app: 1, "presence-").map(\.occupancy.users) == [1])
        #expect(hub.listed(app: 1, "b").map(\.occupancy.users) == [nil])
        #expect(hub.listed(app: 0, "").isEmpty)
        _ = hub.apply(.unsubscribe(x, name("a")))
        #expect(hub.listed(app: 1, "").map(\.name) == ["b", "presence-a"])
    }

    private mutating func crowd(_ count: Int) -> [SocketID] {
        (0..<count).map { index in
            let socket = socket("1.\(index)")
            _ = hub.apply(.opened(socket, app: 0), .subscribe(socket, grant("news")))
            return socket
        }
    }
}

/// Connections on the loops 0 and 1: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.1000")
private let y = socket("2.16777216")
