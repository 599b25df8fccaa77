import Access
import FanOut
import HubFixture
import PusherProtocol
import Testing

/// A fleet channel and its `private-` form mirror each other, such as `driver-42` and `private-driver-42`: a client
/// event on one of the two is sent to the subscribers of both. Each subscriber's frame names the channel of its
/// subscription.
@Suite struct HubMirrorTests {
    private var hub = Hub.ofFleet(loopCount: 3, apps: [.fleet, AppRules()])

    /// Opens a connection, signs it in as an admin, and subscribes it to the channels.
    private mutating func join(_ socket: SocketID, _ channels: String..., app: AppIndex = 0) {
        _ = hub.apply(.opened(socket, app: app), .signin(socket, user("admin:1")))
        for channel in channels {
            #expect(hub.apply(.subscribe(socket, grant(channel, as: "admin:1"))).first?.instruction.isJoin == true)
        }
    }

    private func clientEvent(_ socket: SocketID, _ channel: String) -> FleetHubInput {
        .clientEvent(socket, ClientEvent(name: "client-e", channel: channel, data: [0x31]), on: name(channel))
    }

    private func frame(_ channel: String, from userID: String? = nil) -> Frame {
        ServerMessage.clientEvent(
            ClientEvent(name: "client-e", channel: channel, data: [0x31]), channel: name(channel), userID: userID)
    }

    @Test mutating func clientEventGoesToBothMirrorsButNotToItsSender() {
        join(x, "private-driver-42", "driver-42")
        join(y, "driver-42")
        join(z, "private-driver-42")
        #expect(
            hub.apply(clientEvent(x, "private-driver-42")) == [
                Received(0, .fanOut(frame("private-driver-42"), 0, except: x)),
                Received(2, .fanOut(frame("private-driver-42"), 0, except: x)),
                Received(0, .fanOut(frame("driver-42"), 1, except: x)), Received(1, .fanOut(frame("driver-42"), 1, except: x)),
            ])
    }

    // MARK: Published events

    private func event(_ channel: String, name eventName: String = #""e""#, data: String = #""1""#) -> Frame {
        Array(eventName.utf8).withUnsafeBytes { event in
            Array(data.utf8).withUnsafeBytes { ServerMessage.event(name: event, channel: name(channel), data: $0) }
        }
    }

    @Test(arguments: [
        #""e""#, #""a\"b""#, #""\\""#, #""\\\",\"channel\":\"""#, #""é\u0022""#, "\"\(String(repeating: "x", count: 200))\"",
    ])
    func mirroredEventDiffersInTheChannelOnly(eventName: String) {
        for data in [#""1""#, #""driver-42""#, "\"\(String(repeating: "y", count: 70_000))\""] {
            let original = Hub.Publication(channel: name("driver-42"), frame: event("driver-42", name: eventName, data: data))
            let mirrored = Hub.Publication(original, mirroredOn: name("private-driver-42"))
            #expect(mirrored.channel == name("private-driver-42"))
            #expect(mirrored.frame == event("private-driver-42", name: eventName, data: data))
            #expect(Hub.Publication(mirrored, mirroredOn: name("driver-42")).frame == original.frame)
        }
    }

    /// An empty frame cannot be encoded for another channel: the test would crash.
    @Test mutating func mirrorWithoutSubscribersIsNotEncoded() {
        join(x, "driver-42")
        let empty = Frame(joining: [])
        let original = Hub.Publication(channel: name("driver-42"), frame: empty)
        let mirrored = Hub.Publication(original, mirroredOn: name("private-driver-42"))
        #expect(
            hub.apply(.publish([original, mirrored], app: 0, except: nil)) == [Received(0, .fanOut(empty, 0, except: nil))])
    }

    @Test mutating func mirrorWithSubscribersGetsThePublishedEvent() {
        join(x, "private-driver-42")
        let original = Hub.Publication(channel: name("driver-42"), frame: event("driver-42"))
        let mirrored = Hub.Publication(original, mirroredOn: name("private-driver-42"))
        #expect(
            hub.apply(.publish([original, mirrored], app: 0, except: nil))
                == [Received(0, .fanOut(event("private-driver-42"), 0, except: nil))])
    }

    @Test mutating func mirrorWithoutSubscribersGetsNothing() {
        join(x, "private-driver-42")
        join(y, "driver-7")
        #expect(
            hub.apply(clientEvent(x, "private-driver-42")) == [Received(0, .fanOut(frame("private-driver-42"), 0, except: x))])
    }

    @Test mutating func mirrorSubscriptionDoesNotPermitClientEvents() {
        join(x, "driver-42")
        join(y, "private-driver-42")
        let text = "Cannot broadcast client event (connection not subscribed to channel private-driver-42)"
        #expect(hub.apply(clientEvent(x, "private-driver-42")) == [.send(error(text), to: x)])
    }

    @Test(arguments: ["presence-driver-42", "private-cache-driver-42", "private-private-driver-42", "private-news"])
    mutating func otherFormsAreNotMirrored(channel: String) {
        join(x, channel)
        join(y, "driver-42", "cache-driver-42", "private-driver-42", "news", "presence-cache-driver-42")
        let userID = channel.hasPrefix("presence-") ? "admin:1" : nil
        #expect(hub.apply(clientEvent(x, channel)) == [Received(0, .fanOut(frame(channel, from: userID), 0, except: x))])
    }

    @Test mutating func encryptedChannelsAreNotMirrored() {
        join(x, "private-driver-42")
        join(y, "private-encrypted-driver-42", "presence-driver-42", "cache-driver-42")
        #expect(hub.apply(clientEvent(x, "private-driver-42")).count == 1)
    }

    @Test mutating func otherAppsHaveNoMirrors() {
        join(x, "private-driver-42", app: 1)
        join(y, "driver-42", app: 1)
        join(z, "driver-42")
        #expect(
            hub.apply(clientEvent(x, "private-driver-42")) == [Received(0, .fanOut(frame("private-driver-42"), 0, except: x))])
    }

    /// The REST API publishes the events of backends on both channels itself: before it publishes, it must check that
    /// the mailboxes of both channels' loops have room.
    @Test mutating func publishIsNotMirroredByTheHub() {
        join(x, "private-driver-42", "driver-42")
        let publication = Hub.Publication(channel: name("driver-42"), frame: frame("driver-42"))
        #expect(hub.apply(.publish([publication], app: 0, except: nil)).count == 1)
    }
}

extension Instruction {
    fileprivate var isJoin: Bool { if case .join = self { true } else { false } }
}

/// Connections on the loops 0, 1 and 2: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.33554432")
