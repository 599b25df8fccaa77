import PusherProtocol
import TestSupport

/// Chooses the steps by the scenario's weights.
struct ClusterWorkload {
    let scenario: ClusterScenario

    /// The next step. If the chosen kind has no candidate, time passes instead.
    func next(in world: ClusterWorld, using dice: inout SplitMix) -> ClusterStep {
        step(of: scenario.kind(using: &dice), in: world, using: &dice) ?? .pause(Int64(dice.within(0...50)))
    }

    private func step(
        of kind: ClusterScenario.Kind, in world: ClusterWorld, using dice: inout SplitMix
    ) -> ClusterStep? {
        switch kind {
        case .open:
            guard world.seats.reduce(0, { $0 + $1.sockets.count }) < scenario.connectionsMax,
                let node = dice.pick(world.serving)
            else { return nil }
            let socket = SocketID(loop: 0, slot: world.vacantSlot(on: node), using: &dice)
            return .open(socket, user: dice.chance(percent: 30) ? dice.pick(scenario.users) : nil, on: node)
        case .close: return connection(in: world, using: &dice).map { .close($0.socket, on: $0.node) }
        case .subscribe:
            guard let (node, socket) = connection(in: world, using: &dice) else { return nil }
            let channels = scenario.channels.filter { !world.asks(socket, for: $0) }
            guard let channel = dice.pick(channels) else { return nil }
            return .subscribe(socket, channel, userID: channel.isPresence ? dice.pick(scenario.users) : nil, on: node)
        case .unsubscribe:
            return subscription(in: world, using: &dice).map { .unsubscribe($0.socket, $0.channel, on: $0.node) }
        case .move: return move(in: world, using: &dice)
        case .publish:
            guard let node = dice.pick(world.serving), let channel = dice.pick(scenario.channels) else { return nil }
            let except = dice.chance(percent: 20) ? dice.pick(world.model.subscribers(of: channel))?.socket : nil
            return .publish(channel, except: except, on: node)
        case .clientEvent:
            guard let found = subscription(in: world, using: &dice) else { return nil }
            return .clientEvent(found.socket, found.channel, on: found.node)
        case .terminate:
            guard let node = dice.pick(world.serving), let user = dice.pick(scenario.users) else { return nil }
            return .terminate(user, on: node)
        case .pause: return .pause(Int64(dice.chance(percent: 20) ? dice.within(100...3_000) : dice.within(0...60)))
        case .settle: return .settle
        case .cut: return victim(in: world, using: &dice).map { .cut($0, milliseconds: Int64(dice.within(300...15_000))) }
        case .kill: return victim(in: world, using: &dice).map { .kill($0, milliseconds: Int64(dice.within(10...20_000))) }
        case .freeze:
            let isLong = scenario.hasDeaths && dice.chance(percent: 30)
            // So that nobody misses three heartbeats, of which one may be lost.
            let shortMax = scenario.dropsOneIn == nil ? 3_500 : 1_500
            let time = isLong ? dice.within(6_200...12_000) : dice.within(100...shortMax)
            return victim(in: world, using: &dice).map { .freeze($0, milliseconds: Int64(time)) }
        }
    }

    // MARK: Random choices

    /// A user's connections overlap: there is one on another node before the first one ends.
    private func move(in world: ClusterWorld, using dice: inout SplitMix) -> ClusterStep? {
        let members = world.model.subscriptions.filter { $0.userID != nil && world.serving.contains($0.node) }
        guard let old = dice.pick(members) else { return nil }
        let others = members.filter { $0.channel == old.channel && $0.userID == old.userID && $0.node != old.node }
        if !others.isEmpty { return .unsubscribe(old.socket, old.channel, on: old.node) }
        let places = world.serving.filter { $0 != old.node }.flatMap { node in
            world.seats[node].sockets.filter { !world.asks($0.socket, for: old.channel) }.map { (node, $0.socket) }
        }
        guard let (node, socket) = dice.pick(places) else { return nil }
        return .subscribe(socket, old.channel, userID: old.userID, on: node)
    }

    private func connection(in world: ClusterWorld, using dice: inout SplitMix) -> (node: Int, socket: SocketID)? {
        dice.pick(world.serving.flatMap { node in world.seats[node].sockets.map { (node, $0.socket) } })
    }

    private func subscription(in world: ClusterWorld, using dice: inout SplitMix) -> ClusterModel.Subscription? {
        dice.pick(world.model.subscriptions.filter { world.serving.contains($0.node) })
    }

    /// A node to which something may happen: one at a time, and not before the last one has recovered.
    private func victim(in world: ClusterWorld, using dice: inout SplitMix) -> Int? {
        guard world.now >= world.faultsFrom, world.serving.count == ClusterScenario.nodeCount else { return nil }
        return dice.pick(world.serving)
    }
}
