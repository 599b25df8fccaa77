import Access
import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Plain names that a connection wants before it has signed in.
@Suite struct HubKeptNamesTests {
    private let anna = socket("1.0")
    private var hub = Hub.ofFleet(loopCount: 1, apps: [.fleet])

    init() { _ = hub.apply(.opened(anna, app: 0)) }

    private mutating func subscribe(_ channels: String...) {
        for channel in channels { _ = hub.apply(.subscribe(anna, grant(channel))) }
    }

    /// Takes the kept names and subscribes to them, as the connection's loop does.
    private mutating func open() -> [String] {
        var opened: [String] = []
        while let grant = hub.takeKeptName(of: anna) {
            let effects = hub.apply(.subscribe(anna, grant))
            if effects.contains(.send(succeeded(grant.channel.text), to: anna)) { opened.append(grant.channel.text) }
        }
        return opened
    }

    private mutating func refusals() -> [RefusalReason] {
        var reasons: [RefusalReason] = []
        hub.drainRefusals { reasons.append($1.reason) }
        return reasons
    }

    @Test mutating func namesAreRefusedAndOpenedAfterTheSignInInTheirOrder() {
        let text = "Subscribing to driver-1 needs a signed-in user: sign in, or subscribe to private-driver-1"
        #expect(hub.apply(.subscribe(anna, grant("driver-1"))) == [.send(error(text), to: anna)])
        subscribe("drivers-channel", "driver-2", "lobby-1")
        #expect(hub.takeKeptName(of: anna) == nil, "not signed in yet")
        #expect(
            hub.apply(.signin(anna, user("driver:1"))).map(\.instruction) == [
                .sendSigninSuccess(user("driver:1"), to: anna), .openKeptNames(anna),
            ])
        #expect(open() == ["driver-1", "drivers-channel"], "driver-2 is another driver's")
        #expect(refusals() == [.forbidden])
        #expect(open() == [])
    }

    @Test mutating func signInWithoutKeptNamesOpensNothing() {
        #expect(hub.apply(.signin(anna, user("driver:1"))).map(\.instruction) == [.sendSigninSuccess(user("driver:1"), to: anna)])
    }

    @Test mutating func nameThatIsAskedForTwiceIsKeptOnce() {
        subscribe("driver-1", "drivers-channel", "driver-1")
        _ = hub.apply(.signin(anna, user("driver:1")))
        #expect(open() == ["driver-1", "drivers-channel"])
    }

    @Test mutating func unsubscribingRemovesAKeptName() {
        subscribe("driver-1", "drivers-channel")
        #expect(hub.apply(.unsubscribe(anna, name("driver-1"))) == [], "there is no reply to an unsubscribe")
        let none = "No current subscription to channel driver-1, or subscription in progress"
        #expect(hub.apply(.unsubscribe(anna, name("driver-1"))) == [.send(error(none), to: anna)])
        _ = hub.apply(.signin(anna, user("driver:1")))
        _ = hub.apply(.unsubscribe(anna, name("drivers-channel")))
        #expect(open() == [])
    }

    @Test mutating func clientThatRepeatsItsSubscriptionGetsIt() {
        subscribe("driver-1")
        _ = hub.apply(.signin(anna, user("driver:1")))
        #expect(hub.apply(.subscribe(anna, grant("driver-1"))).contains(.send(succeeded("driver-1"), to: anna)))
        #expect(open() == [], "not a second time, which would be an error")
    }

    /// A name that nobody can get by signing in: one without a rule is open, and others need a signature.
    @Test mutating func otherNamesAreNotKept() {
        subscribe("lobby-1", "other", "private-driver-1")
        #expect(hub.apply(.signin(anna, user("driver:1"))).count == 1)
    }

    // MARK: Bounds

    @Test mutating func connectionKeepsALimitedNumber() {
        for number in 0..<Hub.keptNamesMax + 3 { subscribe("driver-\(number)") }
        #expect(hub.refusedSubscriptions.keptNames == 3)
        #expect(refusals() == [.notSignedIn, .notSignedIn, .notSignedIn], "those that are not kept are refused for good")
        subscribe("driver-0")
        #expect(hub.refusedSubscriptions.keptNames == 3, "it is kept already")
        _ = hub.apply(.signin(anna, user("admin:ann")))
        #expect(open().count == Hub.keptNamesMax)
    }

    @Test mutating func keptNamesCountAsSubscriptionsOfTheApplication() {
        var rules = AppRules.fleet
        rules.limits.appSubscriptions = 2
        hub = Hub.ofFleet(loopCount: 1, apps: [rules])
        _ = hub.apply(.opened(anna, app: 0), .opened(socket("1.1"), app: 0))
        subscribe("driver-1", "driver-2", "driver-3")
        #expect(hub.refusedSubscriptions.keptNames == 1)
        let full = "Cannot subscribe to channel lobby-1: the application has reached its limit of 2 subscriptions"
        #expect(hub.apply(.subscribe(socket("1.1"), grant("lobby-1"))) == [.send(error(full), to: socket("1.1"))])
        _ = hub.apply(.closed(anna))
        #expect(hub.join(socket("1.1"), "lobby-1") == .joined)
        #expect(hub.join(socket("1.1"), "lobby-2") == .joined)
    }

    // MARK: Operators

    @Test mutating func namesCountAsRefusedWhenNoSignInFollows() {
        _ = hub.apply(.tick(1_000))
        subscribe("driver-1", "drivers-channel")
        _ = hub.apply(.tick(1_000 + Hub.signInGrace - 1))
        #expect(refusals() == [])
        _ = hub.apply(.tick(1_000 + Hub.signInGrace))
        #expect(refusals() == [.notSignedIn, .notSignedIn])
        _ = hub.apply(.tick(1_000 + 2 * Hub.signInGrace), .closed(anna))
        #expect(refusals() == [], "once")
    }

    @Test mutating func namesCountAsRefusedWhenTheConnectionClosesBefore() {
        subscribe("driver-1", "drivers-channel")
        _ = hub.apply(.closed(anna))
        #expect(refusals() == [.notSignedIn, .notSignedIn])
    }

    @Test mutating func signInInTimeIsNoRefusal() {
        subscribe("driver-1")
        _ = hub.apply(.signin(anna, user("driver:1")))
        #expect(open() == ["driver-1"])
        _ = hub.apply(.tick(2 * Hub.signInGrace), .closed(anna))
        #expect(refusals() == [])
    }

    /// Whose time is not watched is told to operators at once.
    @Test mutating func watchedTimesAreLimited() {
        hub = Hub.ofFleet(loopCount: 1, apps: [.fleet])
        for slot in 0...Hub.gracesMax {
            _ = hub.apply(.opened(socket("1.\(slot)"), app: 0), .subscribe(socket("1.\(slot)"), grant("driver-1")))
        }
        #expect(refusals() == [.notSignedIn])
        _ = hub.apply(.signin(socket("1.\(Hub.gracesMax)"), user("driver:1")))
        #expect(hub.takeKeptName(of: socket("1.\(Hub.gracesMax)")) == grant("driver-1"))
    }
}

/// What operators are told of refused subscriptions.
@Suite struct HubRefusalsTests {
    private static func rules(_ change: (inout Limits) -> Void) -> AppRules {
        var rules = AppRules.fleet
        change(&rules.limits)
        return rules
    }

    private func refusals(_ rules: AppRules, _ inputs: (SocketID) -> [FleetHubInput]) -> [SubscriptionRefusal] {
        var hub = Hub.ofFleet(loopCount: 1, apps: [AppRules(), rules])
        let anna = socket("1.0")
        var found: [SubscriptionRefusal] = []
        _ = hub.apply(.opened(anna, app: 1))
        for input in inputs(anna) { _ = hub.apply(input) }
        hub.drainRefusals { app, refusal in
            #expect(app == 1)
            found.append(refusal)
        }
        #expect(!hub.hasRefusals)
        return found
    }

    @Test func reasonAndPatternOfTheRule() {
        let found = refusals(.fleet) { anna in
            [
                .signin(anna, user("driver:1")), .subscribe(anna, grant("driver-2")), .subscribe(anna, grant("admin-channel")),
                .authorized(anna, driver("1")), .subscribe(anna, grant("private-tracking-R")),
            ]
        }
        #expect(
            found == [
                .init(pattern: "driver-*", reason: .forbidden), .init(pattern: "admin-channel", reason: .forbidden),
                .init(pattern: "tracking-*", reason: .ended),
            ])
    }

    @Test func limitsAndFullChannels() {
        let members = refusals(Self.rules { $0.presenceMembers = 1 }) { anna in
            [
                .opened(socket("1.1"), app: 1), .subscribe(socket("1.1"), grant("presence-x", as: "1")),
                .subscribe(anna, grant("presence-x", as: "2")),
            ]
        }
        #expect(members == [.init(pattern: nil, reason: .members)])
        let limit = SubscriptionRefusal(pattern: "lobby-*", reason: .limit)
        let two = { (anna: SocketID) in [FleetHubInput.subscribe(anna, grant("lobby-1")), .subscribe(anna, grant("lobby-2"))] }
        #expect(refusals(Self.rules { $0.subscriptions = 1 }, two) == [limit])
        #expect(refusals(Self.rules { $0.channels = 1 }, two) == [limit])
        #expect(refusals(Self.rules { $0.appSubscriptions = 1 }, two) == [limit])
    }

    @Test func existingSubscriptionIsNoRefusal() {
        #expect(refusals(.fleet) { anna in [.subscribe(anna, grant("lobby-1")), .subscribe(anna, grant("lobby-1"))] } == [])
    }
}
