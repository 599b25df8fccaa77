import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Users who leave a presence channel of a cluster: they stay members for a moment, because the news of two nodes may come
/// in any order.
@Suite struct HubDeparturesTests {
    private var hub = Hub(loopCount: 1, apps: [AppRules()], isClustered: true)
    private let room = name("presence-room")
    private let watcher = socket("1.0")

    init() { _ = hub.apply(.tick(1_000), .opened(watcher, app: 0), .subscribe(watcher, grant("presence-room", as: "watcher"))) }

    private var anna: [Received] { [Received(0, .fanOut(ServerMessage.memberRemoved(room, userID: "anna"), 0, except: nil))] }

    private mutating func join() -> [Received] { hub.apply(.remoteMemberJoined(member("anna"), on: room, app: 0)) }

    private mutating func leave() -> [Received] { hub.apply(.remoteMemberLeft(userID: "anna", on: room, app: 0)) }

    /// The hub's time is that of its last tick, up to 100 ms ago: the user may have left just now.
    @Test mutating func memberStaysFromTheNextTickOn() {
        _ = join()
        #expect(leave() == [])
        #expect(hub.apply(.tick(1_100)) == [])
        #expect(hub.apply(.tick(1_119)) == [])
        #expect(hub.apply(.tick(1_120)) == anna)
        #expect(hub.apply(.tick(1_300)) == [])
    }

    @Test mutating func memberWhoComesBackWasNeverAway() {
        _ = join()
        _ = leave()
        #expect(hub.apply(.tick(1_100)) == [])
        #expect(join() == [])
        #expect(hub.apply(.tick(1_200), .tick(2_000)) == [])
    }

    @Test mutating func lastDepartureCounts() {
        _ = join()
        _ = leave()
        _ = join()
        #expect(hub.apply(.tick(1_110)) == [])
        #expect(leave() == [])
        #expect(hub.apply(.tick(1_125), .tick(1_140)) == [])
        #expect(hub.apply(.tick(1_145)) == anna)
    }

    @Test mutating func vacatedChannelForgetsThoseWhoHaveLeft() {
        _ = join()
        _ = leave()
        _ = hub.apply(.closed(watcher))
        let other = socket("2.0")
        let effects = hub.apply(.opened(other, app: 0), .subscribe(other, grant("presence-room", as: "other")))
        #expect(effects.contains(Received(0, .sendPresence(room, [member("other")], to: other))))
        #expect(hub.apply(.tick(2_000)) == [])
    }
}
