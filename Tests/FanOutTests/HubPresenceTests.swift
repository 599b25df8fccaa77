import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Presence channels at the hub (protocol section R): the events of each connection, and their order.
@Suite struct HubPresenceTests {
    private var hub = Hub(loopCount: 3, apps: [HubPresenceTests.rules, HubPresenceTests.rules])
    private let room = name("presence-room")

    private static var rules: AppRules {
        var rules = AppRules()
        rules.limits.presenceMembers = 2
        rules.subscriptionCounts = true
        return rules
    }

    private mutating func join(_ socket: SocketID, as id: String, info: String? = nil) -> [Received] {
        hub.apply(.opened(socket, app: 0), .subscribe(socket, grant("presence-room", as: id, info: info)))
    }

    private func added(_ id: String, info: String? = nil) -> Frame { ServerMessage.memberAdded(room, member(id, info: info)) }

    private func removed(_ id: String) -> Frame { ServerMessage.memberRemoved(room, userID: id) }

    @Test mutating func r1MemberListIncludesTheSubscriber() {
        #expect(
            join(x, as: "anna", info: "{}") == [
                Received(0, .join(0, x)), Received(0, .sendPresence(room, [member("anna", info: "{}")], to: x)),
                Received(0, .fanOut(added("anna", info: "{}"), 0, except: x)),
            ], "no subscription_count on presence channels (N1)")
    }

    @Test mutating func r2MemberAddedGoesToOthersOnly() {
        _ = join(x, as: "anna")
        #expect(
            join(y, as: "10") == [
                Received(1, .join(0, y)), Received(1, .sendPresence(room, [member("anna"), member("10")], to: y)),
                Received(0, .fanOut(added("10"), 0, except: y)), Received(1, .fanOut(added("10"), 0, except: y)),
            ])
    }

    @Test mutating func r3UnsubscribeAndCloseRemoveTheMember() {
        _ = join(x, as: "anna")
        _ = join(y, as: "bert")
        #expect(
            hub.apply(.unsubscribe(y, room)) == [
                Received(1, .leave(0, y)), Received(0, .fanOut(removed("bert"), 0, except: nil)),
            ])
        _ = hub.apply(.subscribe(y, grant("presence-room", as: "bert")))
        #expect(hub.apply(.closed(y)) == [Received(1, .leave(0, y)), Received(0, .fanOut(removed("bert"), 0, except: nil))])
        #expect(hub.apply(.closed(x)) == [Received(0, .leave(0, x))], "no subscriber is left for member_removed")
    }

    @Test mutating func r4UserWithSeveralConnectionsIsOneMember() {
        _ = join(x, as: "anna")
        _ = join(y, as: "bert", info: "1")
        #expect(
            join(z, as: "bert", info: "2") == [
                Received(2, .join(0, z)), Received(2, .sendPresence(room, [member("anna"), member("bert", info: "1")], to: z)),
            ], "the first connection's info is kept")
        #expect(hub.occupancy(of: room, app: 0)?.users == 2)
        #expect(hub.occupancy(of: room, app: 0)?.subscriptions == 3)
        #expect(hub.userIDs(on: room, app: 0) == ["anna", "bert"])
        #expect(hub.apply(.closed(y)) == [Received(1, .leave(0, y))])
        #expect(hub.userIDs(on: room, app: 0) == ["anna", "bert"])
        #expect(hub.apply(.closed(z)) == [Received(2, .leave(0, z)), Received(0, .fanOut(removed("bert"), 0, except: nil))])
        #expect(hub.userIDs(on: room, app: 0) == ["anna"])
    }

    @Test mutating func r9FullChannelRejectsOnlyNewMembers() {
        _ = join(x, as: "anna")
        _ = join(y, as: "bert")
        let full = error("Channel presence-room is full: the limit is 2 members", code: 4009)
        #expect(join(z, as: "carl") == [.send(full, to: z)])
        #expect(hub.userIDs(on: room, app: 0) == ["anna", "bert"])
        #expect(hub.apply(.subscribe(z, grant("presence-room", as: "bert"))).first == Received(2, .join(0, z)))
        _ = hub.apply(.closed(x))
        let late = socket("9.0")
        #expect(join(late, as: "carl").first == Received(0, .join(0, late)), "the channel has room again")
        _ = hub.apply(.opened(w, app: 1))
        #expect(
            hub.apply(.subscribe(w, grant("presence-room", as: "dora"))).first == Received(0, .join(1, w)),
            "the other app has its own channel")
    }

    @Test mutating func r10RepeatedSubscriptionAddsNoMember() {
        _ = join(x, as: "anna")
        let again = error("Existing subscription to channel presence-room")
        #expect(hub.apply(.subscribe(x, grant("presence-room", as: "bert"))) == [.send(again, to: x)])
        #expect(hub.userIDs(on: room, app: 0) == ["anna"])
        _ = hub.apply(.closed(x))
        #expect(hub.userIDs(on: room, app: 0) == [])
        #expect(hub.occupancy(of: room, app: 0) == nil)
    }

    // MARK: Client events

    private let wave = ClientEvent(name: "client-wave", channel: "presence-room", data: Array("null".utf8))

    @Test mutating func e2PresenceClientEventNamesItsSender() {
        _ = join(x, as: "10")
        _ = join(y, as: "bert")
        let frame = ServerMessage.clientEvent(wave, channel: room, userID: "10")
        #expect(
            hub.apply(.clientEvent(x, wave, on: room)) == [
                Received(0, .fanOut(frame, 0, except: x)), Received(1, .fanOut(frame, 0, except: x)),
            ])
    }

    @Test mutating func e2PrivateClientEventOmitsItsSender() {
        let event = ClientEvent(name: "client-wave", channel: "private-a", data: Array("null".utf8))
        _ = hub.apply(.opened(x, app: 0), .signin(x, user("anna")), .subscribe(x, grant("private-a")))
        let frame = ServerMessage.clientEvent(event, channel: name("private-a"), userID: nil)
        #expect(hub.apply(.clientEvent(x, event, on: name("private-a"))) == [Received(0, .fanOut(frame, 0, except: x))])
    }

    @Test mutating func e6ClientEventRequiresSubscription() {
        let rejected = error("Cannot broadcast client event (connection not subscribed to channel presence-room)")
        _ = hub.apply(.opened(y, app: 0))
        #expect(hub.apply(.clientEvent(y, wave, on: room)) == [.send(rejected, to: y)], "the channel is vacant")
        _ = join(x, as: "anna")
        #expect(hub.apply(.clientEvent(y, wave, on: room)) == [.send(rejected, to: y)], "only another connection is subscribed")
        _ = hub.apply(.opened(w, app: 1), .subscribe(w, grant("presence-room", as: "bert")))
        _ = hub.apply(.closed(x))
        #expect(
            hub.apply(.clientEvent(y, wave, on: room)) == [.send(rejected, to: y)],
            "only a connection of the other app is subscribed")
    }
}

/// Connections on the loops 0, 1, 2 and 0: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.33554432")
private let w = socket("4.1")
