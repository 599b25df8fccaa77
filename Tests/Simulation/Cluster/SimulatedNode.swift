import Cluster
import FanOut
import PusherProtocol

/// A node without sockets and threads: a hub with one loop, and the link beside it, composed as the gateway composes them
/// under the hub's lock (`SharedHub+Cluster`).
struct SimulatedNode {
    /// What a node's clients, and the backends, notice.
    enum Effect {
        /// The success of a subscription to a presence channel.
        case joined(SocketID, ChannelName, [PresenceMember])
        case frame(Frame, SocketID)
        case closed(SocketID)
        case webhook(WebhookEvent)
        case came(ClusterNode)
        case went(ClusterNode)
    }

    private struct Waiting {
        let socket: SocketID
        let grant: SubscriptionGrant
    }

    let epoch: Epoch
    private let fault: ClusterFault?
    private let refuses: Bool
    private(set) var hub: Hub
    private var link: ClusterLink
    private var outputs: [ClusterLink.Output] = []
    private var isPerforming = false
    private var waiting: [ChannelName: [Waiting]] = [:]
    private var released: [Waiting] = []
    /// The loop's subscribers of each channel.
    private var subscribers: [ChannelSlot: [SocketID]] = [:]
    /// The answers to the question that was asked last.
    private(set) var answers: Questions.Result?
    /// Whether the connection to the bus is there, as far as the node knows.
    private(set) var isUp = false
    /// What the node sends to the bus, in order.
    var commands: [BusCommand] = []
    var effects: [Effect] = []

    init(_ node: ClusterNode, _ scenario: ClusterScenario, _ fault: ClusterFault?, at now: Int64) {
        epoch = node.epoch
        self.fault = fault
        refuses = scenario.refusesWhenPartitioned
        hub = Hub(loopCount: 1, apps: [scenario.rules], isClustered: true)
        link = ClusterLink(
            name: "sim", node: node, apps: [ClusterLink.App(id: "app", scenario.rules)],
            heartbeatMilliseconds: ClusterScenario.heartbeat, now: now)
        link.start(&outputs)
        distribute(.tick(now), scope: .node)
        perform()
    }

    // MARK: What happens to it

    mutating func report(_ event: BusEvent, at now: Int64) {
        switch event {
        case .up:
            isUp = true
            link.connected(at: now, &outputs)
        case .down:
            isUp = false
            if fault != .judgesWhileDisconnected { link.disconnected(&outputs) }
        case .granted(let tokens): link.granted(tokens, at: now, &outputs)
        case .message(let token, let payload):
            if fault == .ignoresMembers, case .members? = ClusterMessage(payload)?.body { return }
            link.received(payload, token: token, at: now, &outputs)
        }
        perform()
    }

    mutating func tick(at now: Int64) {
        if fault == .neverJudges, isUp, now / 100 % 50 == 0 { link.connected(at: now, &outputs) }
        link.tick(at: now, &outputs)
        outputs.append(.hub(.tick(now)))
        perform()
    }

    mutating func apply(_ input: Hub.Input) { distribute(input, scope: .cluster) }

    /// A client subscribes: at once, or when the link is ready.
    mutating func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant, at now: Int64) {
        var isReady = link.want(grant.channel, app: 0, loop: 0, at: now, &outputs)
        perform()
        if fault == .successBeforeGrant { isReady = true }
        if isReady { return apply(.subscribe(socket, grant)) }
        guard waiting[grant.channel]?.contains(where: { $0.socket == socket }) != true else { return }
        waiting[grant.channel, default: []].append(Waiting(socket: socket, grant: grant))
    }

    mutating func unsubscribe(_ socket: SocketID, from channel: ChannelName) {
        if let index = waiting[channel]?.firstIndex(where: { $0.socket == socket }) {
            waiting[channel]?.remove(at: index)
        } else {
            apply(.unsubscribe(socket, channel))
        }
    }

    /// A backend publishes.
    /// - Returns: false if the node refuses it.
    mutating func publish(_ frame: Frame, on channel: ChannelName, except: SocketID?) -> Bool {
        guard isUp || !refuses else { return false }
        apply(.publish([Hub.Publication(channel: channel, frame: frame)], app: 0, except: except))
        return true
    }

    /// Whether subscriptions need not wait any longer.
    var needsTurn: Bool { !released.isEmpty }

    /// The loop has its turn: it opens the subscriptions that need not wait any longer.
    mutating func turn() {
        while !released.isEmpty {
            let next = released.removeFirst()
            apply(.subscribe(next.socket, next.grant))
        }
    }

    /// Asks the others for all channels. The answers are in ``answers`` soon.
    mutating func ask(at now: Int64) {
        answers = nil
        _ = link.ask(.channels(app: "app", prefix: ""), at: now, &outputs)
        perform()
    }

    /// This node's share of all channels.
    var shares: [ChannelShare] {
        Hub.occupiedChannels(app: 0, prefix: "") { $0(hub) }.map { entry in
            let channel = ChannelName(entry.name, lengthMax: .max)
            let users = channel.flatMap { $0.isPresence ? hub.userIDs(on: $0, app: 0) : nil }
            return ChannelShare(name: entry.name, subscriptions: entry.occupancy.subscriptions, users: users)
        }
    }

    // MARK: As SharedHub does

    private enum Scope { case cluster, node }

    private mutating func distribute(_ input: Hub.Input, scope: Scope) {
        var instructions: [Hub.Effect] = []
        hub.apply(input, &instructions)
        for effect in instructions { perform(effect.instruction) }
        hub.drainWebhookEvents { effects.append(.webhook($0.event)) }
        if scope == .cluster {
            switch input {
            case .publish(let publications, let app, let sender):
                for publication in publications {
                    link.published(publication.frame, on: publication.channel, app: app, except: sender, &outputs)
                }
            case .terminate(let userID, let app): link.terminated(userID, app: app, &outputs)
            default: break
            }
        }
        var changes: [Hub.ClusterChange] = []
        hub.drainClusterChanges { changes.append($1) }
        for change in changes {
            link.changed(change, app: 0, &outputs)
            if fault == .decidesEdgesItself, let event = Self.edge(change) { effects.append(.webhook(event)) }
        }
        perform()
    }

    /// The edge that a node sees which knows its own clients only.
    private static func edge(_ change: Hub.ClusterChange) -> WebhookEvent? {
        switch change {
        case .occupied(let channel): .channelOccupied(channel)
        case .vacated(let channel): .channelVacated(channel)
        default: nil
        }
    }

    private mutating func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while true {
            link.flush(&outputs)
            guard !outputs.isEmpty else { return }
            let current = outputs
            outputs = []
            for output in current { perform(output) }
        }
    }

    private mutating func perform(_ output: ClusterLink.Output) {
        switch output {
        case .subscribe(let subject, let token): commands.append(.subscribe(subject: subject, token: token))
        case .unsubscribe(let token): commands.append(.unsubscribe(token: token))
        case .publish(let subject, let payload): commands.append(.publish(subject: subject, payload))
        case .hub(let input): distribute(input, scope: .node)
        case .ready(let channel, _, _): released += waiting.removeValue(forKey: channel) ?? []
        case .webhook(let event): if fault != .decidesEdgesItself { effects.append(.webhook(event.event)) }
        case .question(let ticket, let node, _, _): link.answer(ticket, to: node, ChannelShare.parts(of: shares))
        case .answered(let result): answers = result
        case .came(let node): effects.append(.came(node))
        case .went(let node, _): effects.append(.went(node))
        case .logged, .gap, .note, .synchronized: break
        }
    }

    // MARK: The loop

    private mutating func perform(_ instruction: Instruction) {
        switch instruction {
        case .join(let slot, let socket): subscribers[slot, default: []].append(socket)
        case .leave(let slot, let socket): subscribers[slot]?.removeAll { $0 == socket }
        case .fanOut(let frame, let slot, let except): deliver(frame, slot, except)
        case .fanOutHiding(let names, let frame, let channel, let slot, let except):
            deliver(ServerMessage.event(frame, on: channel, hiding: names), slot, except)
        case .relay(let event, let channel, let slot, let sender, let userID, _):
            deliver(ServerMessage.clientEvent(event, channel: channel, userID: userID), slot, sender)
        case .send(let frame, let socket): effects.append(.frame(frame, socket))
        case .sendPresence(let list, let socket): effects.append(.joined(socket, list.channel, list.members))
        case .close(let socket, _): effects.append(.closed(socket))
        case .notify, .sendSigninSuccess, .sendWatchlist, .openKeptNames: break
        }
    }

    private mutating func deliver(_ frame: Frame, _ slot: ChannelSlot, _ except: SocketID?) {
        for socket in subscribers[slot] ?? [] where socket != except { effects.append(.frame(frame, socket)) }
    }
}
