import Access
import FanOut
import HubFixture
import PusherProtocol
import Testing

private let x = socket("1.0")
private let y = socket("2.16777216")

/// Drivers whose account is not approved: which subscriptions end, and which are refused.
@Suite struct HubRestrictionTests {
    private var hub = Hub.ofFleet(loopCount: 3, apps: [.fleet, .fleet])

    private func ended(_ channel: String) -> Frame {
        error("Your subscription to \(channel) has ended: the driver's account is not approved")
    }

    /// Opens a connection with an identity and subscribes it.
    private mutating func open(_ socket: SocketID, _ identity: Identity, _ channels: String...) {
        _ = hub.apply(.opened(socket, app: 0), .authorized(socket, identity))
        for channel in channels { #expect(hub.join(socket, channel) == .joined) }
    }

    @Test mutating func aSuspensionEndsAllSubscriptionsToFleetChannels() {
        hub.assign("A", "R1", to: "42")
        open(x, driver("42"), "private-driver-42", "private-tracking-R1", "private-drivers-channel", "news")
        open(y, driver("7"), "private-drivers-channel")
        #expect(
            hub.apply(.restrict(driverID: "42", .nothing, app: 0)) == [
                Received(0, .leave(0, x)), .send(ended("private-driver-42"), to: x),
                Received(0, .leave(1, x)), .send(ended("private-tracking-R1"), to: x),
                Received(0, .leave(2, x)), .send(ended("private-drivers-channel"), to: x),
            ])
        #expect(hub.subscriptionCount == 2, "other drivers' subscriptions, and those to other channels, stay")
        for channel in ["private-driver-42", "private-tracking-R1", "private-drivers-channel"] {
            #expect(hub.join(x, channel) == .rejected, "\(channel)")
        }
        _ = hub.apply(.restrict(driverID: "42", nil, app: 0))
        #expect(hub.join(x, "private-drivers-channel") == .joined)
    }

    @Test mutating func aPendingDriverKeepsTheOwnChannel() {
        _ = hub.apply(.restrict(driverID: "42", .ownChannel, app: 0))
        open(x, driver("42"), "private-driver-42")
        _ = hub.apply(.opened(y, app: 0), .signin(y, user("driver:42")))
        #expect(hub.join(y, "driver-42") == .joined)
        for (socket, channel) in [(x, "private-drivers-channel"), (y, "drivers-channel"), (y, "driver-7")] {
            #expect(hub.join(socket, channel) == .rejected, "\(channel)")
        }
        #expect(hub.apply(.restrict(driverID: "42", .ownChannel, app: 0)) == [])
        #expect(hub.mayJoin(driver("42"), name("private-drivers-channel"), app: 1), "each application for itself")
    }

    @Test mutating func anotherIdentityOfTheConnectionKeepsTheSubscription() {
        open(x, driver("42"), "private-drivers-channel")
        _ = hub.apply(.authorized(x, driver("7")))
        #expect(hub.apply(.restrict(driverID: "42", .nothing, app: 0)) == [])
        #expect(!hub.mayJoin(driver("42"), name("private-drivers-channel"), app: 0))
        #expect(hub.mayJoin(driver("7"), name("private-drivers-channel"), app: 0))
    }

    @Test mutating func customersWithTheSameIDAreNotConcerned() {
        open(x, Identity(role: .customer, id: "42"), "private-customer-42")
        #expect(hub.apply(.restrict(driverID: "42", .nothing, app: 0)) == [])
    }
}
