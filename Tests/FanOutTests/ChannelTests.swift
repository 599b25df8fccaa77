import HubFixture
import Testing

@testable import FanOut

/// Channels, presence members, signed-in users, and the throttle of subscription counts.
@Suite struct ChannelTests {
    @Test func channelTracksItsLoops() {
        var channel = Channel(name: name("news"), app: 0)
        channel.add(loop: 2)
        channel.add(loop: 0)
        channel.add(loop: 2)
        #expect(Array(channel.loops) == [0, 2] && channel.subscriberCount == 3)
        channel.remove(loop: 2)
        #expect(Array(channel.loops) == [0, 2] && channel.subscriberCount == 2)
        channel.remove(loop: 2)
        channel.remove(loop: 0)
        #expect(channel.loops.isEmpty && channel.subscriberCount == 0)
    }

    @Test func onlyPresenceChannelsHaveMembers() {
        #expect(Channel(name: name("news"), app: 0).presence == nil)
        #expect(Channel(name: name("presence-cache-news"), app: 0).presence?.count == 0)
    }

    // MARK: Presence

    @Test func r4FirstConnectionJoinsAndLastLeaves() {
        var presence = Presence()
        #expect(presence.join(member("anna", info: "1")).isEdge == true)
        #expect(presence.join(member("bert")).isEdge == true)
        #expect(presence.join(member("anna", info: "2")).isEdge == false)
        #expect(presence.members == [member("anna", info: "1"), member("bert")] && presence.count == 2)
        #expect(presence.leave("anna").isEdge == false)
        #expect(presence.contains("anna"))
        #expect(presence.leave("anna").isEdge == true)
        #expect(!presence.contains("anna") && presence.userIDs == ["bert"])
        #expect(presence.join(member("anna", info: "2")).isEdge == true)
        #expect(presence.members == [member("bert"), member("anna", info: "2")], "members are in the order of joining")
    }

    @Test func leaveWithoutJoinTraps() async {
        await #expect(processExitsWith: .failure) {
            var presence = Presence()
            _ = presence.leave("anna")
        }
    }

    // MARK: Users

    @Test func w2UserIsOnlineWhileAConnectionIsOpen() {
        var users = UserDirectory()
        let (x, y, z) = (socket("1.0"), socket("2.0"), socket("3.0"))
        #expect(users.add(x, for: "anna") == true)
        #expect(users.isOnline("anna") && !users.isOnline("bert"))
        #expect(users.add(y, for: "bert") == true)
        #expect(users.add(z, for: "bert") == false)
        #expect(users.connections(of: "bert") == [y, z] && users.count == 2)
        #expect(users.remove(y, from: "bert") == false)
        #expect(users.remove(z, from: "bert") == true)
        #expect(!users.isOnline("bert") && users.connections(of: "bert") == [])
        #expect(users.add(y, for: "bert") == true)
    }

    // MARK: Counts

    /// `isDue`: whether a channel's count waits to be sent. `starts`: whether it is sent at `now`, in milliseconds. An
    /// interval of five seconds also starts if no count is due, as at 0 and at 30,000.
    @Test func n1CountsAreFiveSecondsApart() {
        var throttle = SubscriptionCountThrottle()
        let times: [(now: Int64, isDue: Bool, starts: Bool)] = [
            (0, false, false), (4_999, true, false), (5_000, true, true), (9_999, true, false), (17_000, true, true),
            (21_999, true, false), (22_000, true, true), (22_001, true, false), (30_000, false, false), (34_999, true, false),
        ]
        for (now, isDue, starts) in times {
            throttle.due = isDue ? [4, 2] : []
            #expect(throttle.startInterval(at: now) == starts, "\(now)")
        }
        #expect(throttle.takeDue() == [4, 2])
        #expect(throttle.takeDue() == [])
    }
}
