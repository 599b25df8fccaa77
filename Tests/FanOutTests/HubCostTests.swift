import HubFixture
import PusherProtocol
import TestSupport
import Testing

@testable import FanOut

/// What an input costs while the hub is locked must not depend on how many connections, subscriptions or channels there
/// are. The tests compare the CPU time of equal work in a small and a large hub, with a wide margin.
@Suite(.serialized) struct HubCostTests {
    @Test func closingAWatcherDoesNotSearchTheOtherWatchers() {
        let watcher = user("watcher", watching: (0..<20).map { "u\($0)" })
        let fewOthers = ThreadTime.fastest { Self.closingTime(of: watcher, others: 250) }
        #expect(
            ThreadTime.isEver(below: fewOthers * 5) { Self.closingTime(of: watcher, others: 4_000) },
            "16 times as many connections")
    }

    @Test func watchedUserIsOneEffectPerLoop() {
        var hub = Hub(loopCount: 3, apps: [AppRules()])
        let watcher = user("watcher", watching: ["anna"])
        for index in 0..<300 {
            let socket = Self.socket(loop: index % 3, slot: index / 3)
            _ = hub.apply(.opened(socket, app: 0), .signin(socket, watcher))
        }
        let anna = Self.socket(loop: 0, slot: 1_000)
        #expect(hub.apply(.opened(anna, app: 0), .signin(anna, user("anna"))).count == 1 + 3)
        #expect(hub.apply(.closed(anna)).count == 3)
        #expect(hub.channelCount == 0 && hub.subscriptionCount == 0, "watchers are not counted")
    }

    @Test func subscribingDoesNotSearchTheOtherSubscriptions() {
        let few = Self.subscribingTime(others: 20)
        let many = Self.subscribingTime(others: 4_900)
        #expect(many < few * 4, "245 times as many subscriptions")
    }

    @Test(arguments: [false, true]) func leavingAPresenceChannelDoesNotSearchTheOtherMembers(isClustered: Bool) {
        let few = ThreadTime.fastest { Self.leavingTime(members: 500, isClustered: isClustered) }
        #expect(
            ThreadTime.isEver(below: few * 16 * 4) { Self.leavingTime(members: 8_000, isClustered: isClustered) },
            "16 times as many members leave")
    }

    @Test func channelsAreListedSliceBySlice() {
        var hub = Hub(loopCount: 1, apps: [AppRules(), AppRules()])
        let (x, y) = (Self.socket(loop: 0, slot: 0), Self.socket(loop: 0, slot: 1))
        _ = hub.apply(.opened(x, app: 0), .opened(y, app: 0))
        let names = (0..<9_000).map { "c\(10_000 + $0)" }
        for name in names { _ = hub.apply(.subscribe(name < "c14000" ? x : y, grant(name))) }
        var reads = 0
        let list = Hub.occupiedChannels(app: 0, prefix: "c") { body in
            reads += 1
            body(hub)
            guard reads == 1 else { return }
            // Between two slices, a channel of the first slice moves to a slot of the last, and the other way round.
            _ = hub.apply(.unsubscribe(x, name("c10000")), .unsubscribe(y, name("c18998")))
            _ = hub.apply(.subscribe(x, grant("c10000")), .subscribe(x, grant("c18998")))
        }
        #expect(reads == 3)
        let expected = names.filter { $0 != "c18998" }
        #expect(list.map(\.name) == expected, "the channel that moved to an earlier slot is missed, none is doubled")
        #expect(hub.statistics(app: 0).subscriptions == 9_000 && hub.statistics(app: 1).subscriptions == 0)
    }

    // MARK: Measuring

    private static func closingTime(of watcher: SignedInUser, others: Int) -> Duration {
        var hub = Hub(loopCount: 1, apps: [AppRules()])
        var effects: [Hub.Effect] = []
        for slot in 0..<others + 100 {
            hub.apply(.opened(socket(loop: 0, slot: slot), app: 0), &effects)
            hub.apply(.signin(socket(loop: 0, slot: slot), watcher), &effects)
            effects.removeAll(keepingCapacity: true)
        }
        return ThreadTime.of {
            for slot in others / 2..<others / 2 + 100 { hub.apply(.closed(socket(loop: 0, slot: slot)), &effects) }
        }
    }

    /// The time that it takes all members to leave.
    private static func leavingTime(members: Int, isClustered: Bool) -> Duration {
        var rules = AppRules()
        rules.limits.presenceMembers = members
        let sockets = (0..<members).map { socket(loop: 0, slot: $0) }
        var hub = Hub(loopCount: 1, apps: [rules], isClustered: isClustered)
        var effects: [Hub.Effect] = []
        for (index, socket) in sockets.enumerated() {
            hub.apply(.opened(socket, app: 0), &effects)
            hub.apply(.subscribe(socket, grant("presence-room", as: "user-\(index)")), &effects)
            effects.removeAll(keepingCapacity: true)
        }
        return ThreadTime.of {
            for socket in sockets.dropLast() { hub.apply(.closed(socket), &effects) }
            for time: Int64 in [1_000, 2_000] { hub.apply(.tick(time), &effects) }
        }
    }

    private static func subscribingTime(others: Int) -> Duration {
        let x = socket(loop: 0, slot: 0)
        var hub = Hub(loopCount: 1, apps: [AppRules()])
        _ = hub.apply(.opened(x, app: 0))
        for index in 0..<others { _ = hub.apply(.subscribe(x, grant("c\(index)"))) }
        let inputs = (0..<50).flatMap { [Hub.Input.subscribe(x, grant("d\($0)")), .unsubscribe(x, name("d\($0)"))] }
        var effects: [Hub.Effect] = []
        return ThreadTime.fastest {
            ThreadTime.of {
                for input in inputs { hub.apply(input, &effects) }
            }
        }
    }

    private static func socket(loop: Int, slot: Int) -> SocketID {
        HubFixture.socket("\(slot + 1).\(loop << 24 + slot)")
    }
}
