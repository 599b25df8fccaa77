import Access
import FanOut
import HubFixture
import PusherProtocol
import Testing

private let x = socket("1.0")
private let y = socket("2.1")
private let z = socket("3.2")

/// Notifications of an earlier process that wait for a subscriber.
@Suite struct HubRecoveryTests {
    private var hub = Hub.ofFleet(loopCount: 2, apps: [.fleet, AppRules()])

    private func event(_ channel: String, _ text: String) -> Frame {
        Array("\"\(text)\"".utf8).withUnsafeBytes { ServerMessage.event(name: $0, channel: name(channel), data: $0) }
    }

    /// Holds a notification for a channel and its mirror.
    private mutating func hold(_ id: String, on channel: String, until expiresAt: Int64 = 10) {
        let publication = Hub.Publication(channel: name(channel), frame: event(channel, id))
        let mirror = Hub.Publication(publication, mirroredOn: name("private-" + channel))
        _ = hub.apply(.hold(FleetAccess.Notification(id: id, publications: [publication, mirror], expiresAt: expiresAt), app: 0))
    }

    /// Subscribes a connection, which it opens first.
    /// - Returns: the events that follow the confirmation.
    private mutating func subscribe(_ socket: SocketID, _ channel: String, app: AppIndex = 0) -> [Received] {
        _ = hub.apply(.opened(socket, app: app), .signin(socket, user("admin:1")))
        let effects = hub.apply(.subscribe(socket, grant(channel, as: "admin:1")))
        #expect(effects.contains(.send(succeeded(channel), to: socket)))
        return Array(effects.drop { $0 != .send(succeeded(channel), to: socket) }.dropFirst())
    }

    private mutating func published() -> [String] {
        var ids: [String] = []
        hub.drainReports { ids.append($0) }
        #expect(!hub.hasReports)
        return ids
    }

    @Test mutating func firstSubscriberGetsThemInOrderBehindItsConfirmation() {
        for (id, channel) in [("1", "driver-42"), ("2", "driver-7"), ("3", "driver-42")] { hold(id, on: channel) }
        #expect(!hub.hasReports)
        #expect(
            subscribe(x, "driver-42") == [
                Received(0, .fanOut(event("driver-42", "1"), 0, except: nil)),
                Received(0, .fanOut(event("driver-42", "3"), 0, except: nil)),
            ])
        #expect(published() == ["1", "3"])
        #expect(subscribe(y, "driver-42") == [])
        #expect(published() == [])
    }

    @Test mutating func subscriberOfTheMirrorGetsThem() {
        hold("1", on: "driver-42")
        #expect(
            subscribe(x, "private-driver-42") == [Received(0, .fanOut(event("private-driver-42", "1"), 0, except: nil))])
        #expect(subscribe(y, "driver-42") == [])
        #expect(published() == ["1"])
    }

    @Test mutating func expiredOnesAreNotPublished() {
        hold("1", on: "driver-42", until: 10)
        hold("2", on: "driver-42", until: 11)
        _ = hub.apply(.tick(10))
        #expect(subscribe(x, "driver-42") == [Received(0, .fanOut(event("driver-42", "2"), 0, except: nil))])
        #expect(published() == ["1", "2"])
    }

    /// Publishes a committed notification.
    private mutating func publish(_ id: String, on channel: String) -> [Received] {
        let publication = Hub.Publication(channel: name(channel), frame: event(channel, id))
        let mirror = Hub.Publication(publication, mirroredOn: name("private-" + channel))
        return hub.apply(.notify([FleetAccess.Notification(id: id, publications: [publication, mirror], expiresAt: 10)], app: 0))
    }

    /// The subscriber would take the older one for the present state.
    @Test mutating func newerNotificationsOfTheSameChannelWaitBehindThem() {
        hold("1", on: "driver-42")
        #expect(publish("2", on: "driver-42") == [])
        #expect(publish("3", on: "driver-7") == [])
        #expect(
            subscribe(x, "driver-42") == [
                Received(0, .fanOut(event("driver-42", "1"), 0, except: nil)),
                Received(0, .fanOut(event("driver-42", "2"), 0, except: nil)),
            ])
        #expect(published() == ["1", "2"])
        #expect(publish("4", on: "driver-42") == [Received(0, .fanOut(event("driver-42", "4"), 0, except: nil))])
        #expect(subscribe(y, "driver-7") == [], "nothing waited for this channel")
    }

    @Test mutating func atMostAThousandWaitForAChannel() {
        hold("1", on: "driver-42")
        for id in 2...1_002 { #expect(publish("\(id)", on: "driver-42") == []) }
        #expect(hub.fleet?.droppedRecovered == 2)
        #expect(published() == ["1", "2"], "dropped")
        #expect(subscribe(x, "driver-42").count == 1_000)
        #expect(published() == (3...1_002).map(String.init))
    }

    @Test mutating func otherChannelsAndApplicationsDoNotGetThem() {
        hold("1", on: "driver-42")
        #expect(subscribe(x, "driver-42", app: 1) == [])
        #expect(subscribe(y, "driver-4") == [])
        #expect(subscribe(z, "driver-420") == [])
        #expect(published() == [])
    }

    @Test mutating func refusedSubscriberGetsNothing() {
        hold("1", on: "driver-42")
        _ = hub.apply(.opened(x, app: 0))
        let effects = hub.apply(.subscribe(x, grant("driver-42")))
        #expect(effects.count == 1 && !hub.hasReports)
    }
}
