import Cluster
import FanOut
import NATS
import PusherProtocol
import Threads

/// The hub as that of a node of a cluster. All of it happens under the hub's lock, so the bus sees the hub's order.
extension SharedHub {
    /// What is needed of a cluster beside the hub.
    struct ClusterState {
        var link: ClusterLink
        /// Nil until the connection is made.
        var bus: NATSConnection?
        /// Whether backends' publishes are refused while NATS is away.
        let refusesWhenPartitioned: Bool
        /// The outputs of the current input.
        var outputs: [ClusterLink.Output] = []
        /// Whether outputs are being carried out: those that they cause follow them.
        var isPerforming = false

        /// Whether other nodes can be reached.
        var isUp: Bool { bus?.isUp ?? false }
    }

    /// Sets the connection to the bus, and subscribes to the subjects of the nodes.
    func connect(_ bus: NATSConnection) {
        withCluster { cluster in
            cluster.bus = bus
            cluster.link.start(&cluster.outputs)
        }
    }

    /// Removes the users who have left presence channels, and not come back. Call it often.
    func settleDepartures(at now: Int64) {
        var woken = ThreadsToWake()
        state.withLock { state in
            guard state.hub.hasDepartures else { return }
            distribute(.tick(now), &state, &woken, scope: .node)
        }
        wake(woken)
    }

    /// Begins the node's next life, with another epoch and without interest in any channel. No connection is open.
    func beginEpoch(_ epoch: Epoch, at now: Int64) {
        withCluster { cluster in cluster.link.begin(epoch, at: now, &cluster.outputs) }
    }

    /// Lets time pass.
    /// - Returns: what other parts of the gateway have to do.
    func tickCluster(at now: Int64) -> [ClusterLink.Output] {
        withCluster { cluster in
            cluster.link.tick(at: now, &cluster.outputs)
            cluster.outputs.append(.hub(.tick(now)))
        }
    }

    /// The node's present life; nil without a cluster.
    var epoch: Epoch? { state.withLock { $0.cluster?.link.node.epoch } }

    /// Handles what the bus has reported.
    /// - Parameter epoch: the node's life in which messages have come. Those of another life are dropped; nil: all of them.
    /// - Returns: what other parts of the gateway have to do, in order.
    func receive(_ events: some Sequence<NATSConnection.Event>, of epoch: Epoch?, at now: Int64) -> [ClusterLink.Output] {
        withCluster { cluster in
            for event in events {
                switch event {
                case .up: cluster.link.connected(at: now, &cluster.outputs)
                case .down: cluster.link.disconnected(&cluster.outputs)
                case .granted(let tokens): cluster.link.granted(tokens, at: now, &cluster.outputs)
                case .message(let token, let payload):
                    guard epoch == cluster.link.node.epoch else { continue }
                    cluster.link.received(payload, token: token, at: now, &cluster.outputs)
                case .dropped: break
                }
            }
        }
    }

    /// Asks all other nodes.
    /// - Returns: the question's ticket, and what other parts of the gateway have to do.
    func ask(_ question: ClusterQuestion, at now: Int64) -> (ticket: UInt64, notices: [ClusterLink.Output]) {
        var ticket: UInt64 = 0
        let notices = withCluster { cluster in ticket = cluster.link.ask(question, at: now, &cluster.outputs) }
        return (ticket, notices)
    }

    /// This node's copy of a cache channel's last event; nil if it has none, or perhaps an old one.
    func currentCopy(of channel: ChannelName, app: AppIndex) -> CachedCopy? {
        state.withLock { state in
            guard state.cluster?.link.hasCurrentCache(of: channel, app: app) == true else { return nil }
            return state.hub.cachedCopy(on: channel, app: app).map {
                CachedCopy(frame: $0.frame, millisecondsLeft: $0.millisecondsLeft)
            }
        }
    }

    /// Gives other nodes the cached events that they keep from now on.
    /// - Parameters:
    ///   - node: the one that has come or gone.
    private func handOverCache(_ node: Epoch, hasCome: Bool, _ state: inout State) {
        state.withCluster { cluster, hub in
            let events = cluster.link.rules.indices.flatMap { app in
                hub.cachedChannels(app: app).compactMap { channel in
                    hub.cachedCopy(on: channel, app: app).map {
                        (channel, app, CachedCopy(frame: $0.frame, millisecondsLeft: $0.millisecondsLeft))
                    }
                }
            }
            let present = cluster.link.nodes
            cluster.link.handOverCache(earlier: hasCome ? present.filter { $0 != node } : present + [node], events)
        }
    }

    /// Answers another node's question.
    func answer(_ ticket: UInt64, to node: Epoch, _ parts: [[UInt8]]) {
        withCluster { cluster in cluster.link.answer(ticket, to: node, parts) }
    }

    /// Tells all other nodes something.
    package func tell(_ note: ClusterNote) { withCluster { cluster in cluster.link.tell(note, &cluster.outputs) } }

    func sayGoodbye() {
        withCluster { cluster in cluster.link.end(&cluster.outputs) }
    }

    /// Tells other nodes what this one has written to the log of what runs on top.
    package func announce(_ entry: [UInt8], position: Int64) {
        // NATS takes messages of up to a mebibyte. The others read larger entries from the log.
        let entry = entry.count > Self.entryBytesMax ? [] : entry
        withCluster { cluster in cluster.link.logged(entry, position: position, &cluster.outputs) }
    }

    private static let entryBytesMax = 1_000_000

    /// Whether subscriptions to a channel may be opened at once. If not, the loop gets ``LoopMessage/subscribable(_:app:)``
    /// when they may: in a cluster, events that other nodes publish must reach this one first.
    func isSubscribable(_ channel: ChannelName, app: AppIndex, loop: Int, _ woken: inout ThreadsToWake) -> Bool {
        guard isClustered, !localChannels.contains(channel) else { return true }
        let now = Clock.monotonicMilliseconds()
        return state.withLock { state in
            let isReady = state.withCluster { cluster, _ in
                cluster.link.want(channel, app: app, loop: loop, at: now, &cluster.outputs)
            }
            performOutputs(&state, &woken)
            return isReady ?? true
        }
    }

    /// When the last heartbeat was sent, in milliseconds of the monotonic clock.
    var lastHeartbeat: Int64 { state.withLock { $0.cluster?.link.heartbeatAt ?? 0 } }

    /// The number of live nodes with this one, and of the channels that are subscribed to.
    var clusterFigures: (nodes: Int, subscriptions: Int) {
        state.withLock { state in
            (1 + (state.cluster?.link.others.count ?? 0), state.cluster?.link.subscriptionCount ?? 0)
        }
    }

    // MARK: Outputs

    @discardableResult
    private func withCluster(
        _ body: (inout ClusterState) -> Void
    ) -> [ClusterLink.Output] {
        var woken = ThreadsToWake()
        let notices = state.withLock { state in
            state.withCluster { cluster, _ in body(&cluster) }
            return performOutputs(&state, &woken)
        }
        wake(woken)
        return notices
    }

    /// Tells other nodes what an input has changed; nil: no input of the hub's own.
    func tellCluster(_ input: Hub.Input?, _ scope: Scope, _ state: inout State, _ woken: inout ThreadsToWake) {
        state.withCluster { cluster, hub in
            if scope == .cluster {
                switch input {
                case .publish(let publications, let app, let sender)?:
                    for publication in publications {
                        cluster.link.published(
                            publication.frame, on: publication.channel, app: app, except: sender, &cluster.outputs)
                    }
                case .terminate(let userID, let app)?: cluster.link.terminated(userID, app: app, &cluster.outputs)
                default: break
                }
            }
            hub.drainClusterChanges { cluster.link.changed($1, app: $0, &cluster.outputs) }
        }
        performOutputs(&state, &woken)
    }

    /// Carries out what the link has decided: its inputs to the hub, its messages to the bus.
    /// - Returns: the rest, for other parts of the gateway.
    @discardableResult
    private func performOutputs(_ state: inout State, _ woken: inout ThreadsToWake) -> [ClusterLink.Output] {
        guard state.cluster?.isPerforming == false else { return [] }
        state.cluster?.isPerforming = true
        defer { state.cluster?.isPerforming = false }
        var notices: [ClusterLink.Output] = []
        // An input to the hub may have further outputs.
        while let outputs = state.cluster?.takeOutputs(), !outputs.isEmpty {
            var commands: [NATSConnection.Command] = []
            for output in outputs {
                switch output {
                case .subscribe(let subject, let token): commands.append(.subscribe(subject: subject, token: token))
                case .unsubscribe(let token): commands.append(.unsubscribe(token: token))
                case .publish(let subject, let payload): commands.append(.publish(subject: subject, payload: payload))
                case .hub(let input): distribute(input, &state, &woken, scope: .node)
                case .ready(let channel, let app, let loop):
                    if mailboxes[loop].append(.subscribable(channel, app: app)) { woken.insert(loop: loop) }
                case .webhook(let event): state.hub.recordWebhookEvent(event)
                case .came(let node):
                    handOverCache(node.epoch, hasCome: true, &state)
                    notices.append(output)
                case .went(let node, _):
                    handOverCache(node.epoch, hasCome: false, &state)
                    notices.append(output)
                case .logged, .question, .answered, .note, .gap, .synchronized: notices.append(output)
                }
            }
            if !commands.isEmpty { _ = state.cluster?.bus?.post(commands) }
        }
        passWebhookEvents(&state, &woken)
        return notices
    }
}

extension SharedHub.State {
    /// Changes what belongs to the cluster. It is moved out and back: while there is a copy, each change of the link copies a
    /// whole table.
    /// - Returns: nil without a cluster.
    @discardableResult
    fileprivate mutating func withCluster<Result>(
        _ body: (inout SharedHub.ClusterState, inout Hub) -> Result
    ) -> Result? {
        guard var cluster = cluster.take() else { return nil }
        let result = body(&cluster, &hub)
        self.cluster = consume cluster
        return result
    }
}

extension SharedHub.ClusterState {
    fileprivate mutating func takeOutputs() -> [ClusterLink.Output] {
        link.flush(&outputs)
        guard !outputs.isEmpty else { return [] }
        defer { outputs = [] }
        return outputs
    }
}
