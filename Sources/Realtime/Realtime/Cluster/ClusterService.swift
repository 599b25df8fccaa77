import Cluster
import FanOut
import NATS
import Observability
import Threads

/// This gateway as a node of a cluster: the connection to NATS, and what its messages cause.
///
/// The hub's lock protects ``ClusterLink`` too (``SharedHub``). The connection's thread brings in what other nodes tell; the
/// thread `cluster` lets time pass.
package final class ClusterService: Sendable {
    /// Milliseconds between two looks for users who have left presence channels.
    private static let settleMilliseconds: Int64 = 10
    /// Milliseconds between two ticks: heartbeats, and subscriptions that wait, are due to a second.
    private static let tickMilliseconds: Int64 = 100
    /// About so many bytes of messages are handled under the hub's lock at once.
    private static let bytesPerLock = 1 << 16

    package let node: ClusterNode
    let life: NodeLife
    /// The applications' ids, by index.
    let apps: [String]
    let hub: SharedHub
    /// Who waits for the answers to a question, by its ticket.
    let asked = Lock<[UInt64: @Sendable (Questions.Result) -> Void]>([:])
    /// Nil until the gateway serves.
    let sources = Lock<Sources?>(nil)
    /// What to add to monotonic times for those since 1970. It does not change, so that a connection stays where it is in
    /// the list of all nodes' connections when the clock is set.
    let unixMinusMonotonic = Clock.unixMilliseconds() - Clock.monotonicMilliseconds()
    /// Answers a question of what runs on top of another node; nil if it is none.
    let answerCustom: @Sendable (_ question: [UInt8]) -> [UInt8]?
    private let log: Log
    private let bus: NATSConnection
    private let observers = Lock<Observers?>(nil)
    private let state = Monitor(State())
    private let thread: Lock<Thread?>
    private let gaps = Counter("cluster_gaps_total", "Losses of messages that were noticed.")
    private let syncSeconds = SharedHistogram(
        "cluster_sync_seconds",
        "Time from asking the other nodes for a presence channel's members to having them, in seconds.",
        bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1])
    /// The messages that the last log line about discarded ones has counted.
    private let discarded = Lock(0)
    private let news = Lock(BusNews())

    private struct State {
        var isUp = false
        var isEnding = false
    }

    /// What the cluster's messages cause in other parts of the gateway.
    package struct Observers: Sendable {
        /// Another node has written an entry to the log of what runs on top.
        var onEntry: @Sendable (_ position: Int64, _ entry: [UInt8]) -> Void
        /// Another node tells something.
        var onNote: @Sendable (ClusterNote) -> Void
        /// Time passes.
        var onTick: @Sendable () -> Void

        package init(
            onEntry: @escaping @Sendable (_ position: Int64, _ entry: [UInt8]) -> Void,
            onNote: @escaping @Sendable (ClusterNote) -> Void, onTick: @escaping @Sendable () -> Void
        ) {
            self.onEntry = onEntry
            self.onNote = onNote
            self.onTick = onTick
        }
    }

    /// What other nodes' questions are answered from.
    struct Sources: Sendable {
        /// Returns the body of `GET /api/ops/stats`.
        let figures: @Sendable () -> [UInt8]
        /// Lists this node's connections.
        let connections: ConnectionList
    }

    /// Gets what the bus reports.
    private struct Receiver {
        weak var service: ClusterService?
    }

    /// Begins to connect.
    /// - Parameter answer: answers a question of what runs on top of another node; nil if it is none.
    init(
        _ settings: RealtimeConfiguration.Cluster, node: ClusterNode, apps: [String], hub: SharedHub, log: Log,
        answer: @escaping @Sendable (_ question: [UInt8]) -> [UInt8]?
    ) {
        self.node = node
        answerCustom = answer
        life = NodeLife(heartbeatSeconds: settings.heartbeatSeconds)
        self.apps = apps
        self.hub = hub
        self.log = log
        let receiver = Lock(Receiver())
        bus = NATSConnection(NATSConnection.Options(settings, node: node)) { events in
            receiver.withLock { $0.service }?.receive(events)
        }
        thread = Lock(nil)
        hub.connect(bus)
        receiver.withLock { $0.service = self }
        // The connection may have been there before the receiver.
        if bus.isUp { receive([.up(payloadMax: 0)]) }
        thread.withLock { $0 = Thread(name: "cluster") { [self] in run() } }
    }

    /// Sets who gets what other nodes tell. Until then it is dropped: the log has it.
    package func observe(_ observers: Observers) { self.observers.withLock { $0 = observers } }

    /// Waits until the connection is there, and the other nodes have had the time to answer the first heartbeat.
    /// - Parameter milliseconds: the longest time to wait for the connection.
    func waitUntilUp(milliseconds: Int64) {
        let isUp = state.wait(milliseconds: milliseconds, until: { $0.isUp }, then: { $0.isUp })
        if isUp { state.wait(milliseconds: Self.tickMilliseconds, until: { _ in false }, then: { _ in }) }
    }

    /// For so many milliseconds after its goodbye a node hands on shares that were under way to it.
    private static let farewell: Int64 = 100

    /// Says goodbye, and disconnects.
    func stop() {
        state.withLock { $0.isEnding = true }
        state.signal()
        thread.withLock { $0 }?.join()
        hub.sayGoodbye()
        state.wait(milliseconds: Self.farewell, until: { _ in false }, then: { _ in })
        bus.close(drainSeconds: 1)
        // Those that they refer to refer to this service.
        observers.withLock { $0 = nil }
        sources.withLock { $0 = nil }
    }

    private func run() {
        var tickedAt: Int64 = 0
        while !state.wait(milliseconds: Self.settleMilliseconds, until: { $0.isEnding }, then: { $0.isEnding }) {
            let now = Clock.monotonicMilliseconds()
            guard life.mayGoOn() else {
                beginLifeIfClosed()
                continue
            }
            hub.settleDepartures(at: now)
            guard now - tickedAt >= Self.tickMilliseconds else { continue }
            tickedAt = now
            perform(hub.tickCluster(at: now))
            life.recordHeartbeat(at: hub.lastHeartbeat)
            tell(news.withLock { $0.tick(at: now) }, wasUp: true)
            reportDiscarded()
            observers.withLock { $0 }?.onTick()
        }
    }

    private func reportDiscarded() {
        let total = bus.publishesDiscarded
        let count = discarded.withLock { discarded in
            defer { discarded = total }
            return total - discarded
        }
        guard count > 0 else { return }
        log.warning(
            "cluster_messages_discarded",
            ["count": .number(count), "hint": "NATS went away, or does not keep up; notifications and members are mended"])
    }

    /// Begins the node's next life, once all loops have closed their connections.
    private func beginLifeIfClosed() {
        // Those that sleep do not know yet.
        for loop in hub.mailboxes.indices { hub.wake(loop: loop) }
        guard life.beginIfClosed(loopCount: hub.mailboxes.count) else { return }
        var random = SystemRandomNumberGenerator()
        let epoch = Epoch(random.next() | 1)
        log.warning(
            "node_was_away",
            [
                "node": .text(node.name), "epoch": .text("\(epoch)"),
                "hint": "the process was stopped for so long that the others gave it up: all its clients connect again",
            ])
        hub.beginEpoch(epoch, at: Clock.monotonicMilliseconds())
        for loop in hub.mailboxes.indices { hub.post(.beginLife, to: loop) }
    }

    private func receive(_ events: [NATSConnection.Event]) {
        let epoch = hub.epoch
        for event in events {
            switch event {
            case .up: setUp(true, reason: nil)
            case .down(let reason): setUp(false, reason: reason)
            case .dropped(let count):
                gaps.add()
                log.warning("cluster_messages_dropped", ["count": .number(count), "hint": "this node is too slow for the bus"])
            case .granted, .message: break
            }
        }
        var start = events.startIndex
        while start != events.endIndex {
            let end = Self.end(of: events, from: start)
            let now = Clock.monotonicMilliseconds()
            // What came before the process was stopped is void. The state of the connection is not.
            perform(hub.receive(events[start..<end], of: life.mayGoOn() ? epoch : nil, at: now))
            start = end
            // Those who wait for the hub need some time to wake up. Without a pause this thread would have it again first.
            guard start != events.endIndex, Clock.monotonicMilliseconds() > now else { continue }
            state.wait(milliseconds: 1, until: { _ in false }, then: { _ in })
        }
    }

    /// The end of the next events that are handled under the hub's lock at once.
    private static func end(of events: [NATSConnection.Event], from start: Int) -> Int {
        var (end, bytes) = (start, 0)
        while end != events.endIndex, bytes < bytesPerLock {
            switch events[end] {
            case .message(_, let payload): bytes += payload.count + 64
            case .granted(let tokens): bytes += tokens.count * 64
            case .up, .down, .dropped: break
            }
            end += 1
        }
        return end
    }

    private func setUp(_ isUp: Bool, reason: String?) {
        let wasUp = state.withLock { state in
            defer { state.isUp = isUp }
            return state.isUp
        }
        // The start of the gateway waits for this, beside the service's own thread.
        state.signalAll()
        let now = Clock.monotonicMilliseconds()
        tell(news.withLock { isUp ? $0.up(at: now) : $0.down(reason ?? "", at: now) }, wasUp: wasUp)
    }

    private func tell(_ line: BusNews.Line?, wasUp: Bool) {
        switch line {
        case nil: break
        case .connected: log.info("nats_connected", ["node": .text(node.name)])
        case .unavailable(let reason):
            log.warning(
                "nats_unavailable",
                [
                    "reason": .text(reason), "was_connected": .text(wasUp ? "yes" : "no"),
                    "hint": "the node serves its own clients until the connection is back",
                ])
        }
    }

    func perform(_ notices: [ClusterLink.Output]) {
        for notice in notices {
            switch notice {
            case .logged(let position, let entry): observers.withLock { $0 }?.onEntry(position, entry)
            case .came(let node):
                log.info("node_came", ["node": .text(node.name), "epoch": .text("\(node.epoch)")])
                guard node.name == self.node.name else { break }
                let hint = "give each node a cluster.node of its own: until then, others take one for the other's next life"
                log.error("cluster_node_is_not_unique", ["node": .text(node.name), "hint": .text(hint)])
            case .went(let node, let isOrderly):
                if isOrderly {
                    log.info("node_left", ["node": .text(node.name), "epoch": .text("\(node.epoch)")])
                } else {
                    log.warning("node_lost", ["node": .text(node.name), "epoch": .text("\(node.epoch)")])
                }
            case .gap(let channel, _):
                gaps.add()
                log.warning("cluster_gap", ["channel": .text(channel.text)])
            case .question(let ticket, let node, let kind, let content): answer(ticket, to: node, kind: kind, content)
            case .answered(let result): complete(result)
            case .synchronized(let milliseconds): syncSeconds.observe(Double(milliseconds) / 1_000)
            case .note(let note): observers.withLock { $0 }?.onNote(note)
            case .subscribe, .unsubscribe, .publish, .hub, .ready, .webhook: break
            }
        }
    }

    // MARK: Metrics

    /// Whether NATS can be reached.
    package var isUp: Bool { bus.isUp }

    var families: [MetricFamily] {
        let (nodes, subscriptions) = hub.clusterFigures
        return [
            MetricFamily("cluster_nodes", .gauge, "Nodes of the cluster that live.", nodes),
            MetricFamily(
                "cluster_messages_total", .counter, "Messages on the bus.", by: "direction",
                [("in", bus.messagesIn), ("out", bus.messagesOut)]),
            MetricFamily(
                "cluster_bytes_total", .counter, "Bytes of the messages on the bus.", by: "direction",
                [("in", bus.bytesIn), ("out", bus.bytesOut)]),
            gaps.family,
            MetricFamily(
                "cluster_discarded_total", .counter,
                "Messages for the bus that were discarded: its queue was full, or the connection was lost.",
                bus.publishesDiscarded),
            MetricFamily(
                "cluster_subscriptions", .gauge, "Channels whose subjects the node is subscribed to.", subscriptions),
            syncSeconds.family,
            MetricFamily("nats_reconnects_total", .counter, "Connections to NATS after the first.", bus.reconnects),
        ]
    }
}

extension NATSConnection.Options {
    init(_ settings: RealtimeConfiguration.Cluster, node: ClusterNode) {
        self.init(servers: settings.nats, name: "fleetwire \(node.name)")
        user = settings.user
        password = settings.password
        token = settings.token
        credentialsFile = settings.credentialsFile
        caFile = settings.caFile
    }
}

extension RealtimeConfiguration.Cluster {
    /// Connects to a NATS server once.
    /// - Returns: what went wrong; nil: nothing.
    package func check() -> String? {
        NATSConnection.check(NATSConnection.Options(self, node: ClusterNode(name: "check-config", epoch: Epoch(1))))
    }
}

extension ClusterNode {
    /// A new life of the node that the settings name.
    init(_ settings: RealtimeConfiguration.Cluster) {
        var random = SystemRandomNumberGenerator()
        let epoch = Epoch(random.next() | 1)
        self.init(name: settings.node.isEmpty ? "node-\(epoch)" : settings.node, epoch: epoch)
    }
}

extension SharedHub.ClusterState {
    /// - Parameter rules: of the applications, by index.
    init(_ node: ClusterNode, _ settings: RealtimeConfiguration, _ rules: [AppRules]) {
        self.init(
            link: ClusterLink(
                name: settings.cluster.name, node: node, apps: zip(settings.apps, rules).map { ClusterLink.App(id: $0.id, $1) },
                heartbeatMilliseconds: Int64(settings.cluster.heartbeatSeconds) * 1_000, now: Clock.monotonicMilliseconds()),
            refusesWhenPartitioned: settings.cluster.onPartition == .refuse)
    }
}
