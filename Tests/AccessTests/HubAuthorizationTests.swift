import Access
import FanOut
import HubFixture
import Testing

/// Permission to subscribe to the fleet channels (`channels:` in the configuration).
@Suite struct HubAuthorizationTests {
    private var hub = Hub.ofFleet(loopCount: 3, apps: [.fleet, AppRules()])

    // MARK: Plain channels

    /// Users, and the plain channels to which each may subscribe after signing in. Driver 42 has the job R1.
    private static let plainRights: [(id: String, bookings: [String], channels: Set<String>)] = [
        ("driver:42", [], ["driver-42", "drivers-channel", "tracking-R1", "booking-R1"]),
        ("driver:7", ["R1"], ["driver-7", "drivers-channel"]),
        ("customer:42", ["R2"], ["customer-42", "tracking-R2", "booking-R2"]),
        ("admin:42", [], Set(fleetChannels)),
        ("ops:42", ["R1"], []), ("anna", ["R1"], []), ("root:42", [], []), ("driver", [], []), (":42", [], []),
    ]
    private static let fleetChannels = [
        "driver-42", "driver-7", "drivers-channel", "admin-channel", "tracking-R1", "tracking-R2", "booking-R1", "booking-R2",
        "customer-42", "customer-7",
    ]

    @Test(arguments: plainRights.indices) mutating func onlyPermittedUsersMaySubscribeToPlainChannels(index: Int) {
        let (id, bookings, allowed) = Self.plainRights[index]
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .signin(x, user(id, bookings: bookings)))
        for channel in Self.fleetChannels {
            let denied = error("\(id) may not subscribe to \(channel)")
            let deliveries = hub.apply(.subscribe(x, grant(channel)))
            #expect(deliveries.last == .send(allowed.contains(channel) ? succeeded(channel) : denied, to: x), "\(id) \(channel)")
        }
        #expect(hub.subscriptionCount == allowed.count)
        #expect(hub.channelCount == allowed.count, "a denied subscription creates no channel")
    }

    /// The identity of an admin, recorded when `/pusher/auth` signed a channel, does not replace the sign-in.
    @Test(arguments: fleetChannels) mutating func plainChannelsRequireASignIn(channel: String) {
        let text = "Subscribing to \(channel) needs a signed-in user: sign in, or subscribe to private-\(channel)"
        _ = hub.apply(.opened(x, app: 0), .authorized(x, Identity(role: .admin, id: "1")))
        #expect(hub.apply(.subscribe(x, grant(channel))) == [.send(error(text), to: x)])
        #expect(hub.subscriptionCount == 0)
    }

    @Test(arguments: ["news", "cache-driver-42", "Driver-42", "driver-", "lobby-1"])
    mutating func openChannelsRequireNoUser(channel: String) {
        #expect(hub.join(x, channel) == .joined)
        _ = hub.apply(.opened(y, app: 0), .signin(y, user("ops:1")))
        #expect(hub.apply(.subscribe(y, grant(channel))).contains(.send(succeeded(channel), to: y)))
    }

    @Test mutating func serverToUserChannelIgnoresThePolicy() {
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("ops:1")))
        let own = grant("#server-to-user-ops:1", as: "ops:1")
        #expect(hub.apply(.subscribe(x, own)).contains(.send(succeeded("#server-to-user-ops:1"), to: x)))
    }

    @Test mutating func otherAppsAreNotRestricted() {
        for channel in Self.fleetChannels { #expect(hub.join(x, channel, app: 1) == .joined) }
        #expect(!hub.mayJoin(Identity(role: .admin, id: "1"), name("driver-42"), app: 1))
    }

    /// User ids are compared as bytes, so a driver whose id is the Kelvin sign is not the driver K. A user id with
    /// nothing after `driver:` gives no permissions, although the pattern `own` has no `*`, so that the part of the
    /// name that must equal the id is empty, too.
    @Test mutating func canonicallyEquivalentIdIsAnotherUser() {
        var rules = AppRules()
        rules.channels = ChannelPolicy([.init("own", .ownDriver), .init("tracking-*", .booking)])
        hub = Hub.ofFleet(loopCount: 3, apps: [rules])
        hub.assign("A", "R1", to: "K")
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("driver:\u{212A}")), .opened(y, app: 0), .signin(y, user("driver:")))
        let kelvin = error("driver:\u{212A} may not subscribe to tracking-R1")
        #expect(hub.apply(.subscribe(x, grant("tracking-R1"))) == [.send(kelvin, to: x)])
        let denied = error("driver: may not subscribe to own")
        #expect(hub.apply(.subscribe(y, grant("own"))) == [.send(denied, to: y)])
    }

    // MARK: Signed channels

    /// Signed channels of the job with the reference R1.
    private static let signedJobChannels = ["private-tracking-R1", "private-booking-R1", "private-encrypted-tracking-R1"]

    @Test(arguments: signedJobChannels) mutating func identifiedDriverMaySubscribeWhileAssigned(channel: String) {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .authorized(x, driver("42")))
        #expect(hub.join(x, channel) == .joined)
    }

    @Test(arguments: signedJobChannels) mutating func signatureIsRejectedAfterReassignment(channel: String) {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .authorized(x, driver("42")))
        #expect(hub.assign("A", "R1", to: "7") == [])
        let ended = error("Access to \(channel) has ended: the job is no longer assigned to you", code: 4009)
        #expect(hub.apply(.subscribe(x, grant(channel))) == [.send(ended, to: x)])
        #expect(hub.subscriptionCount == 0)
        hub.assign("A", "R1", to: "42")
        #expect(hub.join(x, channel) == .joined, "accepted again after the job was assigned back")
    }

    @Test mutating func signatureIsRejectedAfterTheJobEnded() {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .authorized(x, driver("42")), .end("A", "R1"))
        #expect(hub.join(x, "private-tracking-R1") == .rejected)
    }

    @Test mutating func onePermittedIdentityIsEnough() {
        _ = hub.apply(.opened(x, app: 0), .authorized(x, driver("42")))
        #expect(hub.join(x, "private-tracking-R1") == .rejected)
        _ = hub.apply(.authorized(x, Identity(role: .customer, id: "9", bookings: ["R1"])))
        #expect(hub.join(x, "private-tracking-R1") == .joined)
        #expect(hub.join(x, "private-tracking-R2") == .rejected)
        _ = hub.apply(.signin(x, user("admin:1")))
        #expect(hub.join(x, "private-tracking-R2") == .joined, "the signed-in user counts as well")
    }

    /// A connection without an identity got its signature from a backend, which decides by its own rules.
    @Test mutating func policyDoesNotApplyToBackendSignatures() {
        for channel in Self.signedJobChannels + ["private-driver-42", "private-news", "private-admin-channel"] {
            #expect(hub.join(x, channel) == .joined)
        }
        _ = hub.apply(.opened(y, app: 0), .authorized(y, driver("42")))
        #expect(hub.join(y, "private-driver-7") == .joined, "for an identified driver, only channels of jobs are checked")
        #expect(hub.join(y, "private-admin-channel") == .joined)
    }

    @Test mutating func presenceChannelsOfJobsRequireAdmin() {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(
            .opened(x, app: 0), .authorized(x, driver("42")), .opened(y, app: 0), .authorized(y, Identity(role: .admin, id: "1")))
        #expect(hub.apply(.subscribe(x, grant("presence-tracking-R1", as: "driver:42"))).count == 1)
        #expect(hub.userIDs(on: name("presence-tracking-R1"), app: 0) == [])
        _ = hub.apply(.subscribe(y, grant("presence-tracking-R1", as: "admin:1")))
        #expect(hub.userIDs(on: name("presence-tracking-R1"), app: 0) == ["admin:1"])
    }

    @Test mutating func permittedSubscriptionCanStillFail() {
        var rules = AppRules.fleet
        rules.limits.subscriptions = 1
        hub = Hub.ofFleet(loopCount: 3, apps: [rules, rules])
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .authorized(x, driver("42")))
        #expect(hub.join(x, "private-tracking-R1") == .joined)
        let full = error("Cannot subscribe to channel private-booking-R1: the limit is 1 channels per connection")
        #expect(hub.apply(.subscribe(x, grant("private-booking-R1"))) == [.send(full, to: x)])
        let again = error("Existing subscription to channel private-tracking-R1")
        #expect(hub.apply(.subscribe(x, grant("private-tracking-R1"))) == [.send(again, to: x)])
    }

    // MARK: Queries

    @Test mutating func mayJoinFollowsPolicyAndAssignments() {
        hub.assign("A", "R1", to: "42")
        let customer = Identity(role: .customer, id: "9", bookings: ["R2"])
        for form in ["private-", "private-encrypted-", ""] {
            #expect(hub.mayJoin(driver("42"), name(form + "tracking-R1"), app: 0))
            #expect(!hub.mayJoin(driver("7"), name(form + "tracking-R1"), app: 0))
            #expect(!hub.mayJoin(driver("42"), name(form + "tracking-R2"), app: 0))
            #expect(hub.mayJoin(customer, name(form + "booking-R2"), app: 0))
            #expect(!hub.mayJoin(customer, name(form + "booking-R1"), app: 0))
            #expect(hub.mayJoin(Identity(role: .admin, id: "1"), name(form + "admin-channel"), app: 0))
            #expect(!hub.mayJoin(Identity(role: .ops, id: "1"), name(form + "drivers-channel"), app: 0))
        }
        _ = hub.apply(.end("A", "R1"))
        #expect(!hub.mayJoin(driver("42"), name("tracking-R1"), app: 0))
    }

    @Test mutating func statisticsAreScopedToOneApp() {
        #expect(hub.statistics(app: 0) == hub.statistics(app: 1))
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("driver:42")), .opened(y, app: 0), .signin(y, user("driver:42")))
        _ = hub.apply(.opened(z, app: 1))
        for channel in ["news", "private-sport"] { for socket in [x, y] { #expect(hub.join(socket, channel) == .joined) } }
        #expect(hub.join(z, "news", app: 1) == .joined)
        let statistics = hub.statistics(app: 0)
        #expect((statistics.connections, statistics.channels, statistics.subscriptions, statistics.users) == (2, 2, 4, 1))
        let other = hub.statistics(app: 1)
        #expect((other.connections, other.channels, other.subscriptions, other.users) == (1, 1, 1, 0))
        _ = hub.apply(.closed(x), .closed(y))
        #expect(hub.statistics(app: 0).subscriptions == 0 && hub.statistics(app: 0).users == 0)
    }
}

/// Connections on the loops 0, 1 and 2: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.33554432")
