import FanOut
import HubFixture
import PusherProtocol
import Testing

/// The webhook events that the hub records (protocol section V).
@Suite struct HubWebhookTests {
    private var hub = Hub(
        loopCount: 3, apps: [HubWebhookTests.rules(.all), HubWebhookTests.rules([]), HubWebhookTests.rules(.occupancy)],
        gate: SignInGate(rules: HubWebhookTests.channels))
    private static let channels = PlainRules(patterns: ["driver-*"])

    private static func rules(_ webhooks: WebhookKinds) -> AppRules {
        var rules = AppRules()
        rules.channels = channels
        rules.webhooks = webhooks
        rules.subscriptionCounts = true
        rules.clientEvents = true
        return rules
    }

    /// The webhook events of `inputs`, each with the app to which it belongs.
    private mutating func webhookEvents(_ inputs: Hub.Input...) -> [AppWebhookEvent] {
        var effects: [Hub.Effect] = []
        var recorded: [AppWebhookEvent] = []
        for input in inputs {
            hub.apply(input, &effects)
            hub.drainWebhookEvents { recorded.append($0) }
        }
        #expect(!hub.hasWebhookEvents)
        return recorded
    }

    private mutating func events(_ inputs: Hub.Input...) -> [WebhookEvent] {
        var events: [WebhookEvent] = []
        for input in inputs { events += webhookEvents(input).map(\.event) }
        return events
    }

    /// Connections on the loops 0 and 1: the second number of a socket id is 2^24 times the loop, plus the slot.
    private let x = socket("1.0")
    private let y = socket("2.\(1 << 24)")
    private let room = name("presence-room")

    @Test mutating func v1v4FirstAndLastSubscriberAreRecorded() {
        #expect(events(.opened(x, app: 0), .subscribe(x, grant("lobby-1"))) == [.channelOccupied(name("lobby-1")), count(1)])
        #expect(events(.opened(y, app: 0), .subscribe(y, grant("lobby-1"))) == [count(2)])
        #expect(events(.unsubscribe(x, name("lobby-1"))) == [count(1)])
        #expect(events(.unsubscribe(y, name("lobby-1"))) == [.channelVacated(name("lobby-1"))])
        #expect(events(.subscribe(y, grant("lobby-1"))) == [.channelOccupied(name("lobby-1")), count(1)])
        #expect(events(.closed(y)) == [.channelVacated(name("lobby-1"))], "closing the last connection vacates the channel")
    }

    @Test mutating func v6MembersAreCountedByUser() {
        let anna: (SocketID) -> Hub.Input = { .subscribe($0, grant("presence-room", as: "anna")) }
        #expect(events(.opened(x, app: 0), anna(x)) == [.channelOccupied(room), .memberAdded(room, userID: "anna")])
        #expect(events(.opened(y, app: 0), anna(y)) == [])
        #expect(events(.closed(x)) == [])
        #expect(events(.closed(y)) == [.memberRemoved(room, userID: "anna"), .channelVacated(room)])
    }

    @Test mutating func v7ClientEventIsRecordedAsRelayed() {
        let event = ClientEvent(name: "client-e", channel: "presence-room", data: Array(#""d""#.utf8))
        _ = events(.opened(x, app: 0), .opened(y, app: 0), .subscribe(x, grant("presence-room", as: "anna")))
        #expect(events(.clientEvent(x, event, on: room)) == [.clientEvent(event, on: room, from: x, userID: "anna")])
        #expect(events(.clientEvent(y, event, on: room)) == [], "y is not subscribed")
        #expect(events(.clientEvent(socket("9.\(2 << 24)"), event, on: room)) == [], "the connection is not open")
    }

    @Test mutating func v7MirroredClientEventIsRecordedOnce() {
        let own = name("private-driver-42")
        let event = ClientEvent(name: "client-e", channel: own.text, data: Array(#""d""#.utf8))
        _ = events(.opened(x, app: 0), .opened(y, app: 0), .subscribe(x, grant(own.text)))
        _ = events(.signin(y, user("driver:42")))
        #expect(
            events(.subscribe(y, grant("driver-42")))
                == [.channelOccupied(name("driver-42")), .subscriptionCount(name("driver-42"), 1)], "a mirror has its own events")
        #expect(events(.clientEvent(x, event, on: own)) == [.clientEvent(event, on: own, from: x, userID: nil)])
    }

    @Test mutating func v8EmptyCacheChannelRecordsCacheMiss() {
        let cache = name("cache-lobby")
        let frame = Frame(text: Array(#"{"event":"e","channel":"cache-lobby","data":"d"}"#.utf8))
        _ = events(.opened(x, app: 0), .opened(y, app: 0))
        #expect(
            events(.subscribe(x, grant("cache-lobby")))
                == [.channelOccupied(cache), .cacheMiss(cache), .subscriptionCount(cache, 1)])
        _ = events(.publish([Hub.Publication(channel: cache, frame: frame)], app: 0, except: nil))
        #expect(events(.subscribe(y, grant("cache-lobby"))) == [.subscriptionCount(cache, 2)])
    }

    @Test mutating func v9CountsAreRecordedWhenSentToClients() {
        var rules = Self.rules(.all)
        rules.subscriptionCounts = false
        hub = Hub(loopCount: 3, apps: [rules])
        #expect(events(.opened(x, app: 0), .subscribe(x, grant("lobby-1"))) == [.channelOccupied(name("lobby-1"))])
    }

    @Test mutating func revocationRecordsChannelVacated() {
        let tracking = name("private-tracking-R1")
        _ = events(.opened(x, app: 0))
        #expect(events(.subscribe(x, grant(tracking.text))).first == .channelOccupied(tracking))
        var effects: [Hub.Effect] = []
        hub.endSubscriptions(of: x, because: "it is over", &effects) { $0 == tracking }
        var recorded: [WebhookEvent] = []
        hub.drainWebhookEvents { recorded.append($0.event) }
        #expect(recorded == [.channelVacated(tracking)])
    }

    @Test mutating func unwantedKindsAreNotRecorded() {
        #expect(webhookEvents(.opened(x, app: 1), .subscribe(x, grant("presence-room", as: "anna")), .closed(x)) == [])
        #expect(
            webhookEvents(.opened(x, app: 2), .subscribe(x, grant("presence-room", as: "anna")), .closed(x))
                == [AppWebhookEvent(app: 2, .channelOccupied(room)), AppWebhookEvent(app: 2, .channelVacated(room))])
    }

    @Test mutating func serverToUserChannelsAreNotRecorded() {
        _ = events(.opened(x, app: 0), .signin(x, user("anna")))
        #expect(events(.subscribe(x, grant("#server-to-user-anna", as: "anna")), .closed(x)) == [])
    }

    @Test mutating func rejectedSubscriptionIsNotRecorded() {
        _ = events(.opened(x, app: 0), .subscribe(x, grant("lobby-1")))
        #expect(
            events(.subscribe(x, grant("lobby-1")), .unsubscribe(x, name("lobby-2")), .subscribe(x, grant("driver-42"))) == [])
    }

    private func count(_ count: Int) -> WebhookEvent { .subscriptionCount(name("lobby-1"), count) }
}
