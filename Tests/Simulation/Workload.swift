import FanOut
import PusherProtocol
import TestSupport

/// Chooses the steps by the scenario's weights.
struct Workload {
    let scenario: Scenario
    private var published = 0

    init(_ scenario: Scenario) { self.scenario = scenario }

    /// The next step for `world`. If the chosen kind has no candidate, ends a turn instead.
    mutating func next(in world: World, using dice: inout SplitMix) -> Step {
        step(of: scenario.kind(using: &dice), in: world, using: &dice) ?? .flush(loop: loop(using: &dice))
    }

    private mutating func step(of kind: Scenario.Kind, in world: World, using dice: inout SplitMix) -> Step? {
        switch kind {
        case .open: return newConnection(in: world, using: &dice).map { .open($0, app: app(using: &dice)) }
        case .close: return dice.pick(world.open).map(Step.close)
        case .replace: return dice.pick(world.open).map { replace($0, using: &dice) }
        case .arrive: return arrive(in: world, using: &dice)
        case .subscribe: return dice.pick(world.open).flatMap { subscribe($0, channel(using: &dice), in: world, using: &dice) }
        case .subscribeAgain:
            return subscriber(in: world, using: &dice).flatMap { subscribe($0.socket, $0.channel, in: world, using: &dice) }
        case .unsubscribe: return subscriber(in: world, using: &dice).map { unsubscribe($0.socket, from: $0.channel) }
        case .unsubscribeWithoutSubscription:
            return nonSubscriber(in: world, using: &dice).map { unsubscribe($0.socket, from: $0.channel) }
        case .publish: return publish(to: 1, using: &dice)
        case .publishToMany: return publish(to: dice.within(2...4), using: &dice)
        case .publishExcept: return publishExcept(in: world, using: &dice)
        case .clientEvent: return subscriber(in: world, using: &dice).flatMap { sendClientEvent($0.socket, on: $0.channel) }
        case .clientEventWithoutSubscription:
            return nonSubscriber(in: world, using: &dice).flatMap { sendClientEvent($0.socket, on: $0.channel) }
        case .signin: return dice.pick(world.open).flatMap { signin($0, using: &dice) }
        case .signinAgain:
            return dice.pick(world.open.filter { world.model.user(of: $0) != nil }).flatMap { signin($0, using: &dice) }
        case .terminate:
            return dice.pick(scenario.users.users).map {
                .input(.hub(.terminate(userID: $0, app: app(using: &dice))), on: loop(using: &dice))
            }
        case .tick: return tick(dice.within(1...6_000), in: world)
        case .tickFar: return tick(dice.within(10...31) * 60_000, in: world)
        case .authorize, .subscribeAuthorized, .authorizeDriver, .assign, .endJob, .publishToMirrors:
            return fleetStep(of: kind, in: world, using: &dice)
        case .sendAfterClose: return sendAfterClose(in: world, using: &dice)
        case .drain: return .drain(loop: loop(using: &dice), most: .max)
        case .drainPartly: return .drain(loop: loop(using: &dice), most: dice.within(1...4))
        case .flush: return .flush(loop: loop(using: &dice))
        case .settle: return .settle
        }
    }
}

// MARK: Random choices

extension Workload {
    func loop(using dice: inout SplitMix) -> Int { dice.below(scenario.loopCount) }

    func app(using dice: inout SplitMix) -> AppIndex { dice.below(scenario.apps.count) }

    private func channel(using dice: inout SplitMix) -> ChannelName {
        // The lower of two random numbers, so that the first channels have many subscribers and the last ones often
        // none.
        scenario.channels[min(dice.below(scenario.channels.count), dice.below(scenario.channels.count))]
    }

    /// A subscriber, and one of its channels.
    private func subscriber(in world: World, using dice: inout SplitMix) -> (socket: SocketID, channel: ChannelName)? {
        guard let socket = dice.pick(world.open), let channel = dice.pick(world.model.channels(of: socket)) else { return nil }
        return (socket, channel)
    }

    /// A connection, and a channel that it is not subscribed to.
    private func nonSubscriber(in world: World, using dice: inout SplitMix) -> (socket: SocketID, channel: ChannelName)? {
        guard let socket = dice.pick(world.open) else { return nil }
        let others = scenario.channels.filter { !world.model.channels(of: socket).contains($0) }
        return dice.pick(others).map { (socket, $0) }
    }

    // MARK: Opening and subscribing

    private func newConnection(in world: World, using dice: inout SplitMix) -> SocketID? {
        guard world.open.count < scenario.connectionsMax else { return nil }
        let loop = loop(using: &dice)
        let slot = world.vacantSlot(on: loop, using: &dice)
        return SocketID(loop: loop, slot: slot, using: &dice)
    }

    private func replace(_ socket: SocketID, using dice: inout SplitMix) -> Step {
        let successor = SocketID(loop: socket.loop, slot: socket.slot, using: &dice)
        return .replace(socket, by: successor, app: app(using: &dice))
    }

    private func arrive(in world: World, using dice: inout SplitMix) -> Step? {
        guard let socket = newConnection(in: world, using: &dice),
            let grant = scenario.users.grant(scenario.channels[0], to: socket, signedInAs: nil, using: &dice)
        else { return nil }
        return .arrive(socket, app: app(using: &dice), grant)
    }

    func subscribe(_ socket: SocketID, _ channel: ChannelName, in world: World, using dice: inout SplitMix) -> Step? {
        scenario.users.grant(channel, to: socket, signedInAs: world.model.user(of: socket), using: &dice)
            .map { .input(.hub(.subscribe(socket, $0)), on: socket.loop) }
    }

    private func unsubscribe(_ socket: SocketID, from channel: ChannelName) -> Step {
        .input(.hub(.unsubscribe(socket, channel)), on: socket.loop)
    }

    private func signin(_ socket: SocketID, using dice: inout SplitMix) -> Step? {
        scenario.users.user(on: socket, using: &dice).map { .input(.hub(.signin(socket, $0)), on: socket.loop) }
    }

    private func tick(_ milliseconds: Int, in world: World) -> Step {
        .input(.hub(.tick(world.model.now + Int64(milliseconds))), on: 0)
    }

    // MARK: Publishing

    private mutating func publish(to count: Int, except sender: SocketID? = nil, using dice: inout SplitMix) -> Step {
        let channels = (0..<count).map { _ in channel(using: &dice) }
        return publish(to: channels, app: app(using: &dice), except: sender, on: loop(using: &dice))
    }

    mutating func publish(
        to channels: [ChannelName], app: AppIndex, except sender: SocketID?, on loop: Int
    ) -> Step {
        let publications = channels.map { Hub.Publication(channel: $0, frame: event(on: $0)) }
        return .input(.hub(.publish(publications, app: app, except: sender)), on: loop)
    }

    /// A publish that excludes a connection: a subscriber, a connection that need not be one, or a closed connection,
    /// whose slot may be reused.
    private mutating func publishExcept(in world: World, using dice: inout SplitMix) -> Step? {
        if dice.chance(percent: 60), let (sender, own) = subscriber(in: world, using: &dice) {
            let app = world.model.connections[sender]?.app ?? 0
            return publish(to: [own, channel(using: &dice)], app: app, except: sender, on: loop(using: &dice))
        }
        let sender = dice.chance(percent: 50) ? dice.pick(world.open) : dice.pick(world.recentlyClosed)
        return sender.map { publish(to: dice.within(1...2), except: $0, using: &dice) }
    }

    /// A client event; nil if clients may not send events on the channel, because such an event never reaches the hub.
    private mutating func sendClientEvent(_ socket: SocketID, on channel: ChannelName) -> Step? {
        guard channel.access == .signed || channel.access == .presence else { return nil }
        published += 1
        let event = ClientEvent(name: "client-e", channel: channel.text, data: Array(#""\#(published)""#.utf8))
        return .input(.hub(.clientEvent(socket, event, on: channel)), on: socket.loop)
    }

    /// An input of a closed connection: a message may reach the hub after its connection has closed.
    private mutating func sendAfterClose(in world: World, using dice: inout SplitMix) -> Step? {
        guard let socket = dice.pick(world.recentlyClosed) else { return nil }
        let channel = channel(using: &dice)
        switch dice.below(6) {
        case 0: return subscribe(socket, channel, in: world, using: &dice)
        case 1: return unsubscribe(socket, from: channel)
        case 2: return sendClientEvent(socket, on: channel)
        case 3: return signin(socket, using: &dice)
        case 4: return authorize(SimulatedFleet.identity(using: &dice), at: socket, using: &dice)
        default: return .input(.hub(.closed(socket)), on: socket.loop)
        }
    }

    /// A unique event. Every eighth event is so long that its frame has a larger header.
    private mutating func event(on channel: ChannelName) -> Frame {
        published += 1
        let padding = published.isMultiple(of: 8) ? String(repeating: ".", count: 100) : ""
        var data = #""\#(published)\#(padding)""#
        return data.withUTF8 { data in
            Self.eventName.withUTF8Buffer { name in
                ServerMessage.event(
                    name: UnsafeRawBufferPointer(name), channel: channel, data: UnsafeRawBufferPointer(data))
            }
        }
    }

    private static let eventName: StaticString = #""e""#
}
