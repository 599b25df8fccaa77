import HubFixture
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

    // MARK: Watchlists

    private func cut(_ limit: String, to count: Int) -> Frame {
        let text = "The application has reached its limit of \(limit): of the watchlist, the first \(count) users are watched"
        return error(text, code: 4302)
    }

    @Test func watchedUsersCountAsChannels() {
        var hub = Self.hub { $0.channels = 4 }
        _ = hub.apply(.subscribe(x, grant("a")))
        let anna = user("anna", watching: ["1", "2", "3", "4", "5"])
        let deliveries = hub.apply(.signin(x, anna))
        #expect(deliveries[1] == .send(cut("4 channels", to: 3), to: x))
        #expect(deliveries[2] == Received(0, .sendWatchlist(online: [], offline: ["1", "2", "3"], to: x)))
        #expect(deliveries.count == 6 && hub.refusedSubscriptions.channels == 1)
        #expect(hub.apply(.subscribe(y, grant("b"))) == [.send(refusal("b", "4 channels"), to: y)])
        #expect(hub.apply(.signin(y, user("bert", watching: ["3", "1"]))).count == 4, "others watch them already")
        #expect(hub.channelCount == 1 && hub.subscriptionCount == 1, "but they are no channels of clients")
        _ = hub.apply(.closed(x), .closed(y))
        #expect(hub.apps[0].users.watchers.isEmpty && hub.apps[0].watchCount == 0)
    }

    @Test func watchingCountsAsSubscribing() {
        var hub = Self.hub { $0.appSubscriptions = 3 }
        _ = hub.apply(.subscribe(x, grant("a")), .signin(x, user("anna", watching: ["1"])))
        let deliveries = hub.apply(.signin(y, user("bert", watching: ["1", "2"])))
        #expect(deliveries[1] == .send(cut("3 subscriptions", to: 1), to: y) && deliveries.count == 4)
        #expect(hub.apply(.subscribe(y, grant("a"))) == [.send(refusal("a", "3 subscriptions"), to: y)])
        _ = hub.apply(.closed(x))
        #expect(hub.apply(.subscribe(y, grant("a"))).count == 2, "there is room again")
        #expect(hub.apps[0].watchCount == 1)
    }

    @Test func aWatchlistForWhichThereIsNoRoomIsNotWatched() {
        var hub = Self.hub { $0.appSubscriptions = 1 }
        _ = hub.apply(.subscribe(x, grant("a")))
        let bert = user("bert", watching: ["1"])
        let success = Received(0, .sendSigninSuccess(bert, to: y))
        #expect(hub.apply(.signin(y, bert)) == [success, .send(cut("1 subscriptions", to: 0), to: y)])
        #expect(hub.apply(.closed(y)) == [])
    }

    // MARK: Memory

    @Test func slotsOfChannelsAreGivenBack() {
        var hub = Self.hub { $0.subscriptions = 100_000 }
        for index in 0..<20_000 { _ = hub.apply(.subscribe(x, grant("c\(index)"))) }
        _ = hub.apply(.subscribe(y, grant("last")))
        for index in (0..<20_000).shuffled() { _ = hub.apply(.unsubscribe(x, name("c\(index)"))) }
        #expect(hub.channels.count == 20_001, "the last one is still in use")
        _ = hub.apply(.subscribe(x, grant("new")), .unsubscribe(y, name("last")))
        #expect(hub.channels.count < 20_001)
        _ = hub.apply(.unsubscribe(x, name("new")))
        #expect(hub.channels.isEmpty)
        for second in 1...5 { _ = hub.apply(.tick(Int64(second) * 1_000)) }
        #expect(hub.channels.capacity < 20_000 && hub.apps[0].slots.capacity < 20_000)
        for index in 0..<100 { _ = hub.apply(.subscribe(x, grant("c\(index)"))) }
        #expect(hub.channels.count == 100 && hub.listed(app: 0, "").count == 100, "no slot is used twice")
    }

    /// The list is read slice by slice, and meanwhile the hub may have fewer slots.
    @Test func listsBearThatChannelsGo() {
        var hub = Self.hub { $0.subscriptions = 100_000 }
        let count = Hub.slotsPerSlice * 2 + 1
        for index in 0..<count { _ = hub.apply(.subscribe(x, grant("c\(index)"))) }
        var full = hub
        func read(_ body: (Hub) -> Void) {
            body(full)
            _ = full.apply(.closed(x))
        }
        #expect(Hub.occupiedChannels(app: 0, prefix: "", read: read).count == Hub.slotsPerSlice)
        full = hub
        #expect(Hub.busiestChannels(prefix: "", limit: .max / 8, read: read).count == Hub.slotsPerSlice)
    }

    @Test func aCountThatIsDueForAGoneChannelIsNotSent() {
        var rules = AppRules()
        rules.subscriptionCounts = true
        var hub = Hub(loopCount: 1, apps: [rules])
        let sockets = (1...150).map { socket("\($0).\($0)") }
        _ = hub.apply(.tick(1))
        for socket in sockets { _ = hub.apply(.opened(socket, app: 0), .subscribe(socket, grant("a"))) }
        for socket in sockets { _ = hub.apply(.closed(socket)) }
        let deliveries = hub.apply(.tick(10_000))
        #expect(hub.channels.isEmpty && deliveries == [])
    }

    @Test func expiredEventsOfAllApplicationsAreRemovedOverSeveralTicks() {
        var hub = Hub(loopCount: 1, apps: [AppRules(), AppRules()])
        for app in 0..<2 {
            for index in 0..<3_000 {
                let channel = name("cache-\(index)")
                _ = hub.apply(.publish([Hub.Publication(channel: channel, frame: Frame(text: [65]))], app: app, except: nil))
            }
        }
        func cached() -> [Int] { hub.apps.map(\.cache.channels.count) }
        _ = hub.apply(.tick(EventCache.lifetime))
        #expect(cached() == [0, 2_000])
        for app in 0..<2 { #expect(hub.cachedEvent(on: name("cache-2999"), app: app) == nil) }
        _ = hub.apply(.tick(EventCache.lifetime + 1_000))
        #expect(cached() == [0, 0])
    }

    @Test func aLoopGivesBackThePlacesOfChannels() {
        var loop = LoopFanOut(x, y, z)
        loop.apply([.join(20_000, x), .join(3, y), .fanOut(succeeded("a"), 20_000, except: nil)])
        loop.releaseMemory()
        #expect(loop.channelPlaces == 20_001)
        _ = loop.flush(writesMax: 100) { _, _ in }
        loop.apply([.leave(20_000, x)])
        loop.releaseMemory()
        #expect(loop.channelPlaces == 4)
        loop.apply([.join(5, x), .fanOut(succeeded("a"), 5, except: nil)])
        var written: [SocketID] = []
        _ = loop.flush(writesMax: 100) { socket, _ in written.append(socket) }
        #expect(written == [x])
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
