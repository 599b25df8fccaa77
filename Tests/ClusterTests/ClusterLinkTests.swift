import FanOut
import PusherProtocol
import Testing

@testable import Cluster

@Suite("When subscriptions may go on")
struct ClusterLinkTests {
    // MARK: Waiting

    @Test("not before the server's acknowledgement")
    func waitsForTheGrant() {
        var fixture = LinkFixture.up()
        let isReady = fixture.want("room", loop: 2, at: 0)
        #expect(!isReady)
        #expect(fixture.take().subscribed == [LinkFixture.first])
        fixture.tick(from: 0, to: 900)
        #expect(fixture.take().ready == [])
        fixture.link.granted([LinkFixture.first], at: 950, &fixture.outputs)
        #expect(fixture.take().ready == [2])
        let again = fixture.want("room", at: 951)
        #expect(again)
        #expect(fixture.take().subscribed == [])
    }

    @Test("all loops that wait, each once")
    func manyLoops() {
        var fixture = LinkFixture.up()
        for loop in [3, 1, 3] {
            let isReady = fixture.want("room", loop: loop, at: 0)
            #expect(!isReady)
        }
        #expect(fixture.take().subscribed.count == 1)
        fixture.link.granted([LinkFixture.first], at: 5, &fixture.outputs)
        #expect(fixture.take().ready == [1, 3])
    }

    @Test("after a second without the acknowledgement")
    func goesOnWithoutTheGrant() {
        var fixture = LinkFixture.up()
        _ = fixture.want("room", at: 500)
        fixture.tick(1_499)
        #expect(fixture.take().ready == [])
        fixture.tick(1_500)
        #expect(fixture.take().ready == [0])
    }

    @Test("at once while the bus is away")
    func atOnceWhileAway() {
        var fixture = LinkFixture.up()
        fixture.link.disconnected(&fixture.outputs)
        let isReady = fixture.want("room", at: 10)
        #expect(isReady)
        // The bus gets the subscription when it is back.
        #expect(fixture.take().subscribed == [LinkFixture.first])
    }

    @Test("at once when the bus goes away meanwhile")
    func releasedByDisconnect() {
        var fixture = LinkFixture.up([2])
        _ = fixture.want("room", at: 0)
        _ = fixture.want("presence-room", loop: 1, at: 0)
        fixture.link.granted([2], at: 10, &fixture.outputs)
        #expect(fixture.take().ready == [])
        fixture.link.disconnected(&fixture.outputs)
        #expect(fixture.take().ready == [0, 1])
    }

    @Test("after a reconnect, not before the subject is acknowledged again")
    func waitsAfterReconnect() {
        var fixture = LinkFixture.up()
        _ = fixture.want("room", at: 0)
        fixture.link.granted([LinkFixture.first], at: 10, &fixture.outputs)
        fixture.link.disconnected(&fixture.outputs)
        fixture.link.connected(at: 1_000, &fixture.outputs)
        _ = fixture.take()
        let early = fixture.want("room", at: 1_001)
        #expect(!early)
        fixture.link.granted([LinkFixture.first], at: 1_002, &fixture.outputs)
        #expect(fixture.take().ready == [0])
    }

    // MARK: Idle channels

    @Test("the subject is left 5 s after the last subscriber, and then only once")
    func leaves() {
        var fixture = occupied("room")
        fixture.tick(from: 100, to: 10_000)
        #expect(fixture.take().unsubscribed == [])
        fixture.changed(.vacated(name("room")))
        fixture.tick(from: 10_000, to: 14_900)
        #expect(fixture.take().unsubscribed == [])
        fixture.tick(15_000)
        #expect(fixture.take().unsubscribed == [LinkFixture.first])
        fixture.tick(from: 15_100, to: 25_000)
        #expect(fixture.take().unsubscribed == [])
        #expect(fixture.link.subscriptionCount == 0)
    }

    @Test("a subscription within these 5 s does not subscribe again, and starts them anew")
    func comesBack() {
        var fixture = occupied("room")
        fixture.changed(.vacated(name("room")))
        fixture.tick(4_900)
        let isReady = fixture.want("room", at: 4_950)
        #expect(isReady)
        fixture.tick(from: 5_000, to: 9_900)
        #expect(fixture.take().subscribed == [])
        fixture.changed(.occupied(name("room")))
        fixture.tick(from: 10_000, to: 30_000)
        let outputs = fixture.take()
        #expect(outputs.subscribed == [] && outputs.unsubscribed == [])
    }

    @Test("a wish that no subscription follows is forgotten after 5 s")
    func unused() {
        var fixture = LinkFixture.up()
        _ = fixture.want("room", at: 0)
        fixture.link.granted([LinkFixture.first], at: 900, &fixture.outputs)
        fixture.tick(from: 1_000, to: 5_800)
        #expect(fixture.take().unsubscribed == [])
        fixture.tick(5_900)
        #expect(fixture.take().unsubscribed == [LinkFixture.first])
    }

    @Test("events between are dropped after the subject was left, and so are grants")
    func lateMessages() {
        var fixture = occupied("room")
        fixture.hear(2, .event(frame: [1], except: nil), token: LinkFixture.first, at: 10)
        #expect(fixture.take().events == 1)
        fixture.changed(.vacated(name("room")))
        fixture.tick(6_000)
        _ = fixture.take()
        fixture.hear(2, .event(frame: [2], except: nil), token: LinkFixture.first, at: 6_001)
        fixture.link.granted([LinkFixture.first], at: 6_002, &fixture.outputs)
        #expect(fixture.take().isEmpty)
    }

    /// A link with a channel that has a local subscriber.
    private func occupied(_ channel: String) -> LinkFixture {
        var fixture = LinkFixture.up([2])
        _ = fixture.want(channel, at: 0)
        fixture.link.granted([LinkFixture.first], at: 0, &fixture.outputs)
        fixture.changed(.occupied(name(channel)))
        _ = fixture.take()
        return fixture
    }

    // MARK: Messages

    @Test("messages of this node, of an ended node and of another version are dropped")
    func voidMessages() {
        var fixture = occupied("room")
        fixture.hear(1, .event(frame: [1], except: nil), token: LinkFixture.first, at: 1)
        fixture.hear(2, .goodbye, at: 2)
        #expect(fixture.take().went == ["n2"])
        fixture.hear(2, .event(frame: [1], except: nil), token: LinkFixture.first, at: 3)
        fixture.link.received([9, 9], token: LinkFixture.first, at: 4, &fixture.outputs)
        #expect(fixture.take().isEmpty)
        #expect(fixture.link.unreadableMessages == 1)
    }

    @Test("a gap is reported and its event delivered, a repeated event is not")
    func numbers() {
        var fixture = occupied("room")
        var message = ClusterMessage(sender: Epoch(2), .event(frame: [1], except: nil))
        for (number, before) in [(5, 0), (8, 5), (8, 5), (6, 5), (12, 9)] as [(UInt64, UInt64)] {
            (message.number, message.numberBefore) = (number, before)
            fixture.link.received(message.bytes, token: LinkFixture.first, at: 1, &fixture.outputs)
        }
        let outputs = fixture.take()
        #expect(outputs.events == 3)
        #expect(outputs.gaps == 1)
    }

    @Test("nothing is published while the bus is away")
    func publishesNothing() {
        var fixture = LinkFixture.up([2])
        fixture.link.disconnected(&fixture.outputs)
        fixture.changed(.memberJoined(name("presence-room"), PresenceMember(id: "ann")))
        fixture.link.published(Frame(encoded: [1]), on: name("room"), app: 0, except: nil, &fixture.outputs)
        fixture.tick(from: 100, to: 20_000)
        let outputs = fixture.take()
        #expect(outputs.published.isEmpty)
        #expect(outputs.went == [])
    }

    @Test("after a freeze, the others have the whole time again")
    func freeze() {
        var fixture = LinkFixture.up([2])
        fixture.tick(from: 100, to: 1_000)
        fixture.tick(7_000)
        #expect(fixture.take().went == [])
        fixture.hear(2, .heartbeat(name: "n2", []), at: 7_000)
        fixture.tick(from: 7_100, to: 13_000)
        #expect(fixture.take().went == [])
        fixture.tick(13_100)
        #expect(fixture.take().went == ["n2"])
    }
}
