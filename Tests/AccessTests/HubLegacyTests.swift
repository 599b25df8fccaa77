import Access
import HubFixture
import PusherProtocol
import TestSupport
import Testing

@testable import FanOut

/// Subscriptions of apps that never sign (`legacy`), and what is hidden from them.
@Suite struct HubLegacyTests {
    private var hub = Hub.ofFleet(loopCount: 3, apps: [Self.rules(hiding: []), Self.rules(hiding: ["customerName"])])

    private static func rules(hiding names: [String]) -> AppRules {
        var rules = AppRules()
        rules.channels = ChannelPolicy([
            .init("driver-*", .ownDriver, legacy: .init(until: nil, keys: ["key"], hiddenMembers: names)),
            .init("tracking-*", .booking, legacy: .init(until: nil, keys: ["key"])),
        ])
        return rules
    }

    /// Subscribes without a signature. Opens the connection first if it is not open.
    private mutating func join(_ socket: SocketID, _ channel: String, app: AppIndex, isOpen: Bool = false) -> [Received] {
        if !isOpen { _ = hub.apply(.opened(socket, app: app)) }
        return hub.apply(.subscribe(socket, grant(channel).asLegacy))
    }

    private static func event(_ data: String, on channel: String = "driver-42") -> Frame {
        ServerMessage.event("job-assigned", name(channel), data: Array(data.utf8))
    }

    private func publish(_ data: String) -> FleetHubInput {
        .publish([Hub.Publication(channel: name("driver-42"), frame: Self.event(data))], app: 1, except: nil)
    }

    private func count(_ open: Int, _ connections: Int, _ total: Int) -> Hub.LegacyCount {
        var count = Hub.LegacyCount()
        (count.open, count.connections, count.total) = (open, connections, total)
        return count
    }

    @Test("an unsigned subscription counts for its rule until it ends")
    mutating func counts() {
        #expect(hub.apply(.opened(x, app: 0), .subscribe(x, grant("driver-42"))).count == 1, "without legacy, an error")
        #expect(join(x, "driver-42", app: 0, isOpen: true).contains(.send(succeeded("driver-42"), to: x)))
        _ = join(x, "driver-43", app: 0, isOpen: true)
        _ = join(y, "driver-42", app: 0)
        _ = join(y, "tracking-R1", app: 0, isOpen: true)
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(3, 2, 3))
        #expect(hub.legacyCounts(app: 0)["tracking-*"] == count(1, 1, 1))
        _ = hub.apply(.unsubscribe(x, name("driver-42")))
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(2, 2, 3))
        _ = hub.apply(.closed(x), .closed(y))
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(0, 0, 3))
        #expect(hub.subscriptionCount == 0 && hub.channelCount == 0)
    }

    @Test("who signed in gets the whole event, who never signs gets null for what is hidden, each encoded once")
    mutating func hides() {
        _ = hub.apply(.opened(x, app: 1), .signin(x, user("driver:42")), .subscribe(x, grant("driver-42")))
        _ = join(y, "driver-42", app: 1)
        let data = #"{"code":"A","customerName":"Cleo"}"#
        #expect(
            hub.apply(publish(data)) == [
                Received(0, .fanOut(Self.event(data), 0, except: nil)), Received(1, .fanOut(Self.event(data), 0, except: nil)),
                Received(1, .fanOut(Self.event(#"{"code":"A","customerName":null}"#), 1, except: nil)),
            ])
    }

    /// An event may be large, and all loops wait for the hub.
    @Test("the loops hide the members, not the hub, and only those with such subscribers")
    mutating func hidesOutsideTheHub() {
        _ = hub.apply(.opened(x, app: 1), .signin(x, user("driver:42")), .subscribe(x, grant("driver-42")))
        _ = join(y, "driver-42", app: 1)
        let frame = Self.event(#"{"customerName":"Cleo"}"#)
        var effects: [Hub.Effect] = []
        hub.apply(publish(#"{"customerName":"Cleo"}"#), &effects)
        #expect(effects.filter { $0.loop == 0 }.map(\.instruction) == [.fanOut(frame, 0, except: nil)])
        #expect(
            effects.filter { $0.loop == 1 }.map(\.instruction)
                == [
                    .fanOut(frame, 0, except: nil),
                    .fanOutHiding(["customerName"], in: frame, name("driver-42"), 1, except: nil),
                ])
    }

    @Test("client events on the signed channel are hidden in part by the loops, too")
    mutating func hidesInClientEvents() {
        _ = hub.apply(.opened(x, app: 1), .subscribe(x, grant("private-driver-42")))
        _ = join(y, "driver-42", app: 1)
        let data = #""{\"customerName\":\"Cleo\"}""#
        let event = ClientEvent(name: "client-a", channel: "private-driver-42", data: Array(data.utf8))
        var effects: [Hub.Effect] = []
        hub.apply(Hub.Input.clientEvent(x, event, on: name("private-driver-42")), &effects)
        let hidden = Instruction.relay(event, name("driver-42"), 2, from: x, userID: nil, hiding: ["customerName"])
        #expect(effects.filter { $0.instruction == hidden }.map(\.loop) == [1])
        var loop = LoopFanOut()
        loop.open(y)
        var frames: [String] = []
        for instruction in [.join(2, y), hidden] { loop.apply(instruction) }
        _ = loop.flush(writesMax: 10) { frames.append(String(decoding: $1.bytes, as: UTF8.self)) }
        #expect(frames.count == 1 && frames[0].contains(#"\"customerName\":null"#))
    }

    @Test("data that is no JSON goes to all as it is")
    mutating func plainText() {
        _ = join(y, "driver-42", app: 1)
        #expect(hub.apply(publish("Cleo")).last == Received(1, .fanOut(Self.event("Cleo"), 1, except: nil)))
    }

    @Test("a sign-in makes it an ordinary subscription, if its user may have it")
    mutating func promotes() {
        _ = join(x, "driver-42", app: 1)
        _ = join(x, "driver-43", app: 1, isOpen: true)
        let effects = hub.apply(.signin(x, user("driver:42")))
        #expect(effects.filter(\.instruction.isMove) == [Received(0, .leave(1, x)), Received(0, .join(0, x))])
        #expect(hub.legacyCounts(app: 1)["driver-*"]?.open == 1, "driver-43 stays, as it was")
        #expect(hub.hiddenMembers(from: x, on: name("driver-42")) == [])
        #expect(hub.hiddenMembers(from: x, on: name("driver-43")) == ["customerName"])
    }

    @Test("when the time is over, the subscriptions end, with an error without a code")
    mutating func ends() {
        _ = join(x, "driver-42", app: 1)
        _ = join(x, "tracking-R1", app: 1, isOpen: true)
        let text = "Your subscription to driver-42 has ended: apps must sign in by now"
        #expect(
            hub.apply(.endLegacy(pattern: "driver-*", app: 1)) == [Received(0, .leave(1, x)), .send(error(text), to: x)])
        #expect(hub.apply(.endLegacy(pattern: "driver-*", app: 1)) == [])
        #expect(hub.legacyCounts(app: 1)["tracking-*"]?.open == 1)
    }

    /// All loops wait for the hub meanwhile.
    @Test("the 5,000 subscriptions of a connection end in slices, in linear time")
    mutating func endsManyNamesInSlices() {
        _ = join(x, "tracking-R1", app: 0)
        for number in 1..<5_000 { _ = join(x, "driver-\(number)", app: 0, isOpen: true) }
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(4_999, 1, 4_999))
        var slices = 0
        repeat {
            let effects = hub.apply(.endLegacy(pattern: "driver-*", app: 0))
            #expect((1...2 * Hub.legacySliceMax).contains(effects.count))
            slices += 1
        } while hub.isEndingLegacy("driver-*", app: 0)
        #expect(slices == (4_999 + Hub.legacySliceMax - 1) / Hub.legacySliceMax)
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(0, 0, 4_999) && hub.subscriptionCount == 1)
        #expect(hub.hiddenMembers(from: x, on: name("tracking-R1")) == [] && hub.channelCount == 1)
    }

    @Test("a slice looks at a bounded number of connections, also at those without such subscriptions")
    mutating func endsManyConnectionsInSlices() {
        var dice = SplitMix(seed: 1)
        let sockets = (0..<900).map { SocketID(loop: $0 % 3, slot: $0 / 3, using: &dice) }
        for (number, socket) in sockets.enumerated() {
            _ = join(socket, number.isMultiple(of: 10) ? "driver-42" : "tracking-R\(number)", app: 0)
        }
        var (slices, ended) = (0, 0)
        repeat {
            ended += hub.apply(.endLegacy(pattern: "driver-*", app: 0)).count / 2
            slices += 1
            #expect(ended <= slices * Hub.legacySliceMax)
        } while hub.isEndingLegacy("driver-*", app: 0)
        #expect(slices == (900 + Hub.legacySliceMax - 1) / Hub.legacySliceMax && ended == 90)
        #expect(hub.legacyCounts(app: 0)["driver-*"] == count(0, 0, 90))
        #expect(hub.legacyCounts(app: 0)["tracking-*"] == count(810, 810, 810))
    }

    @Test("a subscription that opens behind the slices is ended the next time")
    mutating func endsWhatOpensMeanwhile() {
        var dice = SplitMix(seed: 1)
        for slot in 0..<300 { _ = join(SocketID(loop: 0, slot: slot, using: &dice), "driver-42", app: 0) }
        _ = hub.apply(.endLegacy(pattern: "driver-*", app: 0))
        #expect(hub.isEndingLegacy("driver-*", app: 0))
        _ = hub.apply(.endLegacy(pattern: "driver-*", app: 0))
        #expect(!hub.isEndingLegacy("driver-*", app: 0) && hub.legacyCounts(app: 0)["driver-*"]?.open == 0)
        _ = join(y, "driver-42", app: 0)
        let effects = hub.apply(.endLegacy(pattern: "driver-*", app: 0), .endLegacy(pattern: "driver-*", app: 0))
        #expect(effects.count == 2 && hub.legacyCounts(app: 0)["driver-*"]?.open == 0)
    }

    @Test("what the connection's user may have anyway does not end")
    mutating func keepsWhatIsPermitted() {
        _ = join(x, "driver-42", app: 1)
        _ = hub.apply(.authorized(x, Identity(role: .driver, id: "42")))
        #expect(
            hub.apply(.endLegacy(pattern: "driver-*", app: 1)) == [Received(0, .leave(1, x)), Received(0, .join(0, x))])
        #expect(hub.legacyCounts(app: 1)["driver-*"]?.open == 0 && hub.subscriptionCount == 1)
    }

    /// Random subscriptions, sign-ins, ends and events on three loops, compared with what each connection must get.
    @Test(arguments: 1...40)
    func everyConnectionGetsItsForm(seed: Int) {
        var world = World(Hub.ofFleet(loopCount: 3, apps: [Self.rules(hiding: ["customerName"])]), seed: UInt64(seed))
        for _ in 0..<300 { world.step() }
    }

    /// A hub, its loops, and for each open connection whether its subscription to the channel is whole or not.
    private struct World {
        var hub: Hub
        var dice: SplitMix
        var loops = [LoopFanOut(), LoopFanOut(), LoopFanOut()]
        var slots: [SocketID?] = Array(repeating: nil, count: 9)
        var isWhole: [SocketID: Bool] = [:]
        var signedIn: Set<SocketID> = []
        let channel = name("driver-42")

        init(_ hub: Hub, seed: UInt64) {
            self.hub = hub
            dice = SplitMix(seed: seed)
        }

        mutating func step() {
            let place = dice.below(slots.count)
            guard let socket = slots[place] else { return open(place) }
            switch dice.below(8) {
            case 0: close(socket, place)
            case 1 where isWhole[socket] == nil:
                let isSignedIn = signedIn.contains(socket)
                apply(.subscribe(socket, isSignedIn ? grant("driver-42") : grant("driver-42").asLegacy))
                isWhole[socket] = isSignedIn
            case 2 where isWhole[socket] != nil:
                apply(.unsubscribe(socket, channel))
                isWhole[socket] = nil
            case 3:
                apply(.signin(socket, user("driver:42")))
                signedIn.insert(socket)
                if isWhole[socket] != nil { isWhole[socket] = true }
            case 4 where dice.chance(percent: 10):
                apply(.endLegacy(pattern: "driver-*", app: 0))
                isWhole = isWhole.filter(\.value)
            default: publish()
            }
        }

        private mutating func open(_ place: Int) {
            let socket = SocketID(loop: place % 3, slot: place / 3, using: &dice)
            slots[place] = socket
            loops[socket.loop].open(socket)
            apply(.opened(socket, app: 0))
        }

        private mutating func close(_ socket: SocketID, _ place: Int) {
            apply(.closed(socket))
            loops[socket.loop].close(socket)
            (slots[place], isWhole[socket]) = (nil, nil)
        }

        private mutating func publish() {
            let whole = HubLegacyTests.event(#"{"customerName":"Cleo"}"#)
            apply(
                .publish([Hub.Publication(channel: channel, frame: whole)], app: 0, except: nil),
                expecting: [
                    true: whole, false: HubLegacyTests.event(#"{"customerName":null}"#),
                ])
        }

        private mutating func apply(_ input: FleetHubInput, expecting frames: [Bool: Frame] = [:]) {
            var effects: [Hub.Effect] = []
            hub.apply(input, &effects)
            for effect in effects { loops[effect.loop].apply(effect.instruction) }
            var got: [SocketID: Frame] = [:]
            for loop in loops.indices { while loops[loop].flush(writesMax: 100, { got[$0] = $1 }) {} }
            guard !frames.isEmpty else { return }
            #expect(got == isWhole.compactMapValues { frames[$0] })
        }
    }
}

extension Instruction {
    /// Whether a subscriber comes or goes.
    fileprivate var isMove: Bool {
        switch self {
        case .join, .leave: true
        default: false
        }
    }
}

private let x = socket("1.0")
private let y = socket("2.16777216")
