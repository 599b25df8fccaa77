import Access
import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Jobs that change drivers: which subscriptions end, which stay, and the events that follow.
@Suite struct HubRevocationTests {
    private var hub = Hub.ofFleet(loopCount: 3, apps: [.fleet, .fleet])

    /// Opens a connection, identifies it, and subscribes it to the channels.
    private mutating func identified(_ socket: SocketID, _ identities: Identity..., on channels: [String]) {
        _ = hub.apply(.opened(socket, app: 0))
        for identity in identities { _ = hub.apply(.authorized(socket, identity)) }
        for channel in channels { #expect(hub.join(socket, channel) == .joined) }
    }

    // MARK: Ended subscriptions

    @Test mutating func losingAJobEndsPlainAndPrivateSubscriptions() {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("driver:42")))
        for channel in ["tracking-R1", "news", "private-booking-R1", "driver-42"] { #expect(hub.join(x, channel) == .joined) }
        #expect(
            hub.assign("A", "R1", to: "7") == [
                Received(0, .leave(0, x)), .send(ended("tracking-R1"), to: x),
                Received(0, .leave(2, x)), .send(ended("private-booking-R1"), to: x),
            ], "in the order of subscribing; other subscriptions stay")
        #expect(hub.subscriptionCount == 2)
        #expect(hub.join(x, "tracking-R1") == .rejected)
        #expect(hub.assign("A", "R1", to: nil) == [], "the error is sent once")
    }

    @Test(arguments: ["private-tracking-R1", "private-booking-R1", "private-encrypted-tracking-R1"])
    mutating func losingAJobEndsEveryFormOfItsChannels(channel: String) {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: [channel])
        #expect(hub.assign("A", "R1", to: nil) == [Received(0, .leave(0, x)), .send(ended(channel), to: x)])
        #expect(hub.subscriptionCount == 0 && hub.channelCount == 0)
        #expect(hub.apply(.publish([Hub.Publication(channel: name(channel), frame: event)], app: 0, except: nil)) == [])
        let none = error("No current subscription to channel \(channel), or subscription in progress")
        #expect(hub.apply(.unsubscribe(x, name(channel))) == [.send(none, to: x)])
    }

    @Test mutating func allConnectionsOfTheFormerDriverAreUnsubscribed() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        _ = hub.apply(.opened(y, app: 0), .signin(y, user("driver:42")), .authorized(y, driver("42")))
        #expect(hub.join(y, "private-tracking-R1") == .joined)
        #expect(
            hub.assign("A", "R1", to: "7") == [
                Received(1, .leave(0, y)), .send(ended("private-tracking-R1"), to: y),
                Received(0, .leave(0, x)), .send(ended("private-tracking-R1"), to: x),
            ])
    }

    @Test mutating func changedReferenceEndsOldSubscriptions() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        #expect(hub.assign("A", "R2", to: "42") == [Received(0, .leave(0, x)), .send(ended("private-tracking-R1"), to: x)])
        #expect(hub.join(x, "private-tracking-R1") == .rejected)
        #expect(hub.join(x, "private-tracking-R2") == .joined)
    }

    @Test mutating func referenceAndDriverChangeTogether() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        identified(y, driver("7"), on: [])
        #expect(hub.assign("A", "R2", to: "7").count == 2)
        #expect(hub.join(x, "private-tracking-R2") == .rejected)
        #expect(hub.join(y, "private-tracking-R1") == .rejected)
        #expect(hub.join(y, "private-tracking-R2") == .joined)
    }

    /// The hub does not record whose signature permitted the subscription. It ends the subscription, because the user
    /// signed in on the connection is the driver who lost the job.
    @Test mutating func revocationSendsMemberRemoved() {
        hub.assign("A", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("driver:42")), .opened(y, app: 0))
        _ = hub.apply(.subscribe(y, grant("presence-tracking-R1", as: "admin:1")))
        _ = hub.apply(.subscribe(x, grant("presence-tracking-R1", as: "driver:42")))
        let removed = ServerMessage.memberRemoved(name("presence-tracking-R1"), userID: "driver:42")
        #expect(
            hub.assign("A", "R1", to: nil) == [
                Received(0, .leave(0, x)), Received(1, .fanOut(removed, 0, except: nil)),
                .send(ended("presence-tracking-R1"), to: x),
            ])
        #expect(hub.userIDs(on: name("presence-tracking-R1"), app: 0) == ["admin:1"])
    }

    @Test mutating func revocationSendsSubscriptionCount() {
        var rules = AppRules.fleet
        rules.subscriptionCounts = true
        hub = Hub.ofFleet(loopCount: 3, apps: [rules])
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        identified(y, Identity(role: .customer, id: "9", bookings: ["R1"]), on: ["private-tracking-R1"])
        let one = ServerMessage.subscriptionCount(name("private-tracking-R1"), 1)
        #expect(
            hub.assign("A", "R1", to: nil) == [
                Received(0, .leave(0, x)), Received(1, .fanOut(one, 0, except: nil)), .send(ended("private-tracking-R1"), to: x),
            ])
        #expect(hub.occupancy(of: name("private-tracking-R1"), app: 0)?.subscriptions == 1)
        #expect(hub.statistics(app: 0).subscriptions == 1)
    }

    // MARK: Kept subscriptions

    @Test mutating func reassigningTheSameDriverRevokesNothing() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        #expect(hub.assign("A", "R1", to: "42") == [])
        #expect(hub.assign("A", "R1", to: "7").count == 2, "the repetition added no second job")
    }

    @Test mutating func endedJobRevokesItsChannels() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        let revoked = [Received(0, .leave(0, x)), .send(ended("private-tracking-R1"), to: x)]
        #expect(hub.apply(.end("A", "R1"), .end("A", "R1"), .end("unknown", "R1")) == revoked)
        #expect(hub.subscriptionCount == 0)
        #expect(hub.join(x, "private-tracking-R1") == .rejected, "new subscriptions are rejected")
        #expect(hub.assign("A", "R1", to: nil) == [])
    }

    @Test mutating func twoOrdersCanShareAReference() {
        hub.assign("A", "R1", to: "42")
        hub.assign("B", "R1", to: "42")
        hub.assign("C", "R1", to: "7")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        identified(y, driver("7"), on: ["private-tracking-R1"])
        #expect(hub.assign("A", "R1", to: "7") == [], "driver 42 still has order B")
        #expect(hub.apply(.end("C", "R1")) == [], "driver 7 still has order A")
        #expect(hub.assign("A", "R1", to: nil) == [Received(1, .leave(0, y)), .send(ended("private-tracking-R1"), to: y)])
        #expect(hub.assign("B", "R9", to: "42") == [Received(0, .leave(0, x)), .send(ended("private-tracking-R1"), to: x)])
    }

    /// The policy denies drivers a presence channel, but a backend signed this subscription. It stays as long as the
    /// driver has one of the two orders, because the driver has lost no access until then.
    @Test mutating func keepingOneOfTwoOrdersKeepsAccess() {
        hub.assign("A", "R1", to: "42")
        hub.assign("B", "R1", to: "42")
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("driver:42")))
        _ = hub.apply(.subscribe(x, grant("presence-tracking-R1", as: "driver:42")))
        #expect(hub.assign("A", "R1", to: "7") == [])
        #expect(hub.assign("B", "R1", to: "7") == [Received(0, .leave(0, x)), .send(ended("presence-tracking-R1"), to: x)])
    }

    @Test mutating func anotherPermittedIdentityKeepsAccess() {
        hub.assign("A", "R1", to: "42")
        let customer = Identity(role: .customer, id: "9", bookings: ["R1"])
        identified(x, driver("42"), customer, on: ["private-tracking-R1"])
        identified(y, driver("42"), Identity(role: .admin, id: "1"), on: ["private-tracking-R1"])
        identified(z, driver("42"), driver("7"), on: ["private-tracking-R1"])
        #expect(hub.assign("A", "R1", to: "7") == [])
        #expect(hub.assign("A", "R1", to: nil) == [Received(2, .leave(0, z)), .send(ended("private-tracking-R1"), to: z)])
    }

    @Test mutating func permittedSignedInUserKeepsAccess() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        _ = hub.apply(.signin(x, user("customer:9", bookings: ["R1"])))
        identified(y, driver("42"), on: ["private-tracking-R1"])
        _ = hub.apply(.signin(y, user("customer:9", bookings: ["R2"])))
        #expect(hub.assign("A", "R1", to: nil) == [Received(1, .leave(0, y)), .send(ended("private-tracking-R1"), to: y)])
    }

    @Test mutating func otherSubscribersAreUnaffected() {
        hub.assign("A", "R1", to: "42")
        hub.assign("B", "R2", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R2", "private-driver-42", "private-drivers-channel"])
        identified(y, Identity(role: .customer, id: "42", bookings: ["R1"]), on: ["private-tracking-R1"])
        #expect(hub.join(z, "private-tracking-R1") == .joined, "a backend signed the subscription")
        _ = hub.apply(.opened(w, app: 1), .signin(w, user("driver:42")), .authorized(w, driver("42")))
        hub.assign("A", "R1", to: "42", app: 1)
        #expect(hub.join(w, "private-tracking-R1", app: 1) == .joined)
        #expect(hub.assign("A", "R1", to: nil) == [])
        #expect(hub.subscriptionCount == 6)
        #expect(hub.assign("A", "R1", to: nil, app: 1).count == 2, "each application has its own orders")
    }

    @Test mutating func appWithoutPolicyRevokesNothing() {
        hub = Hub.ofFleet(loopCount: 3, apps: [AppRules()])
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1", "tracking-R1"])
        #expect(hub.assign("A", "R1", to: nil) == [])
        #expect(hub.subscriptionCount == 2)
    }

    // MARK: Identifying

    @Test mutating func identifyingHasNoEffects() {
        #expect(hub.apply(.authorized(x, driver("42"))) == [], "the connection is not open")
        #expect(hub.apply(.opened(x, app: 0), .authorized(x, driver("42")), .authorized(x, driver("42"))) == [])
        #expect(hub.apply(.authorized(socket("5.4294967295"), driver("42"))) == [])
    }

    @Test mutating func closingForgetsTheIdentity() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), on: ["private-tracking-R1"])
        _ = hub.apply(.closed(x))
        let successor = socket("77.0")
        #expect(hub.join(successor, "private-tracking-R1") == .joined)
        #expect(hub.assign("A", "R1", to: nil) == [], "the connection that now has the slot has no identity")
        #expect(hub.join(successor, "private-booking-R1") == .joined, "a backend signed the subscription")
        #expect(hub.apply(.authorized(x, driver("42"))) == [])
        #expect(hub.join(successor, "private-tracking-R2") == .joined)
    }

    @Test mutating func closingForgetsAllIdentities() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), driver("42", name: "Anna"), driver("7"), on: ["private-tracking-R1"])
        _ = hub.apply(.closed(x), .opened(socket("77.0"), app: 0))
        #expect(hub.assign("A", "R1", to: "7") == [])
        #expect(hub.assign("A", "R1", to: nil) == [])
    }

    /// Two tokens of one driver can differ in the name. Their identities count as two, but are the same driver.
    @Test mutating func driverCanBeIdentifiedTwice() {
        hub.assign("A", "R1", to: "42")
        identified(x, driver("42"), driver("42", name: "Anna"), driver("1"), driver("2"), on: ["private-tracking-R1"])
        #expect(hub.apply(.authorized(x, driver("3"))) == [], "the first identity is removed; the second one is the same driver")
        #expect(hub.assign("A", "R1", to: "7") == [Received(0, .leave(0, x)), .send(ended("private-tracking-R1"), to: x)])
    }

    /// If the hub kept the subscriptions that a removed identity permitted, it could not end them when that driver
    /// loses the job later. So these subscriptions end together with the identity.
    @Test mutating func removedIdentityLosesItsSubscriptions() {
        hub.assign("A", "R1", to: "42")
        hub.assign("B", "R2", to: "1")
        let channels = ["private-tracking-R1", "private-tracking-R2", "private-driver-42", "private-booking-R1"]
        identified(x, driver("42"), driver("1"), driver("2"), driver("3"), on: channels)
        let replaced = { (channel: String) in
            error("Your subscription to \(channel) has ended: more than 4 identities were authorized on this connection")
        }
        #expect(
            hub.apply(.authorized(x, driver("4"))) == [
                Received(0, .leave(0, x)), .send(replaced("private-tracking-R1"), to: x),
                Received(0, .leave(3, x)), .send(replaced("private-booking-R1"), to: x),
            ])
        #expect(hub.join(x, "private-tracking-R1") == .rejected)
        #expect(hub.assign("A", "R1", to: "7") == [])
        #expect(hub.assign("B", "R2", to: "7").count == 2)
    }

    @Test mutating func removedIdentityKeepsSubscriptionsThatOthersPermit() {
        hub.assign("A", "R1", to: "42")
        let others = (1...3).map { Identity(role: .customer, id: "\($0)", bookings: ["R\($0)"]) }
        identified(x, driver("42"), others[0], others[1], others[2], on: ["private-tracking-R1", "private-tracking-R2"])
        #expect(hub.apply(.authorized(x, driver("4"))) == [])
        identified(y, others[1], others[0], others[2], driver("1"), on: ["private-tracking-R2"])
        #expect(hub.apply(.authorized(y, driver("4"))) == [], "a customer cannot lose access, so the subscription stays")
        _ = hub.apply(.opened(z, app: 0), .authorized(z, driver("42")), .authorized(z, driver("1")), .authorized(z, driver("2")))
        #expect(hub.join(z, "private-booking-R1") == .joined)
        _ = hub.apply(.end("A", "R1"))
        #expect(
            hub.apply(.authorized(z, driver("3")), .authorized(z, driver("4"))) == [], "an ended job has no subscriptions to end")
    }
}

/// Connections on the loops 0, 1 and 2: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.33554432")
/// A connection on the same loop as `x`.
private let w = socket("4.1")
private let event = Frame(text: Array("event".utf8))
