import FanOut
import Observability
import PusherAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// The hub, protected by a lock, and the loops' mailboxes, to which the hub's effects are appended.
///
/// **The order rule**: while the lock is held, each effect is appended to its loop's mailbox, even for the caller's own
/// loop. After unlocking, the caller drains its own mailbox and wakes the other loops. Performing local effects
/// directly would let them overtake effects that another loop has put into the caller's mailbox.
///
/// **The room rule**: a publish is rejected before it is applied if a mailbox that it needs has reached its high-water
/// mark. Joins, leaves and closes are always applied, with all their effects: if one were lost, clients would stay in a
/// wrong state.
///
/// Webhook events are appended to the webhook worker's inbox under the lock too, so that they keep the hub's order.
package final class SharedHub: Sendable {
    /// Publishes are rejected while a mailbox contains at least this number of messages. A loop performs so many within
    /// tens of milliseconds.
    static let highWater = 16_384

    package struct State {
        package var hub: Hub
        /// Nil unless the gateway is a node of a cluster.
        var cluster: ClusterState?
        /// The effects of the current input. The array is kept to reuse its memory.
        var effects: [Hub.Effect] = []
        /// The loops with effects since it was last emptied.
        package var reached = LoopSet()
        /// The number of publishes so far.
        var publishCount = 0
    }

    /// The fan-out of one in this many publishes is measured, so that measuring costs nothing.
    static let sampledOneIn = 16

    package let state: Lock<State>
    /// Whether the gateway is a node of a cluster.
    package let isClustered: Bool
    package let mailboxes: [Mailbox<LoopMessage>]
    private let wakeups: [Wakeup]
    private let webhookInbox: WebhookInbox?
    /// Receives refused subscriptions.
    package let refusals: ClientRefusals?
    /// The channels on which each node publishes for its own connections only.
    let localChannels: Set<ChannelName>
    /// Gets what the gate has reported, while the hub is locked.
    private let onReport: @Sendable (String) -> Void

    /// - Parameters:
    ///   - webhookInbox: receives webhook events; nil discards them.
    ///   - refusals: receives refused subscriptions; nil discards them.
    ///   - cluster: nil unless the gateway is a node of a cluster.
    ///   - localChannels: the channels on which each node publishes for its own connections only.
    ///   - gate: nil if nothing runs on top of the hub.
    ///   - onReport: gets what the gate has reported, while the hub is locked.
    init(
        wakeups: [Wakeup], apps: [AppRules], webhookInbox: WebhookInbox? = nil, refusals: ClientRefusals? = nil,
        cluster: ClusterState? = nil, localChannels: Set<ChannelName> = [], gate: (any HubGate)? = nil,
        onReport: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        isClustered = cluster != nil
        self.refusals = refusals
        self.wakeups = wakeups
        self.webhookInbox = webhookInbox
        mailboxes = wakeups.map { _ in Mailbox(highWater: Self.highWater) }
        self.onReport = onReport
        self.localChannels = localChannels
        var hub = Hub(loopCount: wakeups.count, apps: apps, isClustered: cluster != nil, gate: gate)
        var effects: [Hub.Effect] = []
        hub.apply(.tick(Clock.monotonicMilliseconds()), &effects)
        state = Lock(State(hub: hub, cluster: cluster, effects: effects))
    }

    /// Applies an input. Call it on a loop's thread and drain that loop's mailbox next.
    /// - Parameter woken: the threads to wake at the end of the turn are added.
    func apply(_ input: Hub.Input, _ woken: inout ThreadsToWake) {
        state.withLock { state in distribute(input, &state, &woken) }
    }

    /// Opens a connection, unless its application has reached its quota.
    /// - Returns: whether the connection was opened.
    func open(_ socket: SocketID, app: AppIndex) -> Bool {
        state.withLock { state in
            guard state.hub.hasRoomForConnection(app: app) else { return false }
            var woken = ThreadsToWake()  // stays empty: opening a connection has no effects
            distribute(.opened(socket, app: app), &state, &woken)
            return true
        }
    }

    /// See ``Hub/takeKeptName(of:)``.
    func takeKeptName(of socket: SocketID) -> SubscriptionGrant? { state.withLock { $0.hub.takeKeptName(of: socket) } }

    /// Publishes all events, or none if a mailbox that they need is full. Any thread may call it; a loop then drains its own
    /// mailbox.
    /// - Parameter woken: gets the threads that the caller wakes: a loop at the end of its turn.
    func publish(_ request: PublishRequest, app: AppIndex, _ woken: inout ThreadsToWake) -> PublishResult {
        let takenAt = Clock.monotonicNanoseconds()
        return state.withLock { state in
            guard hasRoom(request, app, state.hub) else { return .rejected }
            if let cluster = state.cluster, cluster.refusesWhenPartitioned, !cluster.isUp { return .partitioned }
            state.reached = LoopSet()
            for event in request.events {
                // Two inputs, so that no array is allocated under the lock.
                distribute(.publish(event.publications, app: app, except: event.except), &state, &woken)
                guard !event.mirrored.isEmpty else { continue }
                distribute(.publish(event.mirrored, app: app, except: event.except), &state, &woken)
            }
            measure(takenAt, &state, &woken)
            guard request.requestsAttributes else { return .published([]) }
            return .published(request.events.map { $0.publications.map { state.hub.occupancy(of: $0.channel, app: app) } })
        }
    }

    /// Publishes events that need not arrive to one channel, or none if a mailbox is full. Any thread may call it.
    /// - Parameters:
    ///   - scope: whose connections get them.
    ///   - frames: returns the events. Called only if the channel has subscribers, or may have some on other nodes.
    package func publish(
        on channel: ChannelName, app: AppIndex, scope: Scope = .cluster, _ frames: () -> [Frame]
    ) -> LivePublishResult {
        let isOccupied = read { $0.isOccupied(channel, app: app) }
        guard isOccupied || isClustered && scope == .cluster else { return .unheard }
        guard hasRoom else { return .rejected }
        let publications = frames().map { Hub.Publication(channel: channel, frame: $0) }
        var woken = ThreadsToWake()
        state.withLock { distribute(.publish(publications, app: app, except: nil), &$0, &woken, scope: scope) }
        wake(woken)
        return isOccupied ? .published : .unheard
    }

    /// Whose connections an input concerns.
    package enum Scope {
        /// Those of all nodes.
        case cluster
        /// Those of this node: other nodes get it otherwise, or have sent it.
        case node
    }

    /// The result of publishing events that need not arrive.
    package enum LivePublishResult {
        case published
        /// No connection was subscribed to the channel.
        case unheard
        /// A mailbox was full.
        case rejected
    }

    enum PublishResult {
        /// The occupancy of each channel of each event; empty unless the request's `requestsAttributes` is set.
        case published([[Hub.Occupancy?]])
        /// A mailbox was full; nothing was published.
        case rejected
        /// The other nodes of the cluster cannot be reached; nothing was published.
        case partitioned
    }

    // MARK: Reading

    /// Whether all mailboxes have room. Client events and commands require it, because their effects can go to any
    /// loop.
    package var hasRoom: Bool { mailboxes.allSatisfy { $0.hasRoom } }

    /// Reads from the hub, which is locked meanwhile: `body` must be quick.
    package func read<Result>(_ body: (Hub) -> Result) -> Result { state.withLock { body($0.hub) } }

    var families: [MetricFamily] {
        let (channels, subscriptions, evictions, lists) = read {
            ($0.channelCount, $0.subscriptionCount, $0.cacheEvictions, $0.presenceLists)
        }
        return [
            MetricFamily("channels", .gauge, "Occupied channels.", channels),
            MetricFamily("subscriptions", .gauge, "Subscriptions of all connections.", subscriptions),
            MetricFamily("presence_list_bytes", .gauge, "Bytes of the encoded member lists that are kept.", lists.bytes),
            MetricFamily(
                "cache_evicted_total", .counter, "Cached events evicted before expiry: the cache was full.", evictions),
        ]
    }

    /// Posts a message that is not an effect of the hub. Any thread may call it.
    package func post(_ message: LoopMessage, to loop: Int) {
        if mailboxes[loop].append(message) { signal(loop) }
    }

    /// Wakes a loop, unless another thread has since it last drained its mailbox.
    private func signal(_ loop: Int) {
        if mailboxes[loop].takeWakeUp() { wakeups[loop].signal() }
    }

    /// Lets a loop begin a turn.
    func wake(loop: Int) { wakeups[loop].signal() }

    /// The threads to wake after unlocking the hub: those to which the caller owes a wake-up.
    package struct ThreadsToWake {
        fileprivate var loops = LoopSet()
        fileprivate var webhookWorker = false

        package init() {}

        mutating func insert(loop: Int) { loops.insert(loop) }
    }

    /// Wakes threads that have got messages and were not woken by another thread meanwhile.
    /// - Parameter own: the caller's own loop, which drains its mailbox without being woken.
    package func wake(_ woken: ThreadsToWake, except own: Int? = nil) {
        for loop in woken.loops where loop != own { signal(loop) }
        if woken.webhookWorker { webhookInbox?.wake() }
    }

    /// Applies `input`, appends its effects to the mailboxes, and its webhook events to the webhook worker's inbox.
    func distribute(
        _ input: Hub.Input, _ state: inout State, _ woken: inout ThreadsToWake, scope: Scope = .cluster
    ) {
        distribute(&state, &woken) { $0.apply(input, &$1) }
        if isClustered { tellCluster(input, scope, &state, &woken) }
    }

    /// Changes the hub, appends the effects to the mailboxes, and the webhook events to the webhook worker's inbox. In a
    /// cluster, ``tellCluster(_:_:_:_:)`` must follow.
    @inline(__always)
    private func distribute(
        _ state: inout State, _ woken: inout ThreadsToWake, _ body: (inout Hub, inout [Hub.Effect]) -> Void
    ) {
        body(&state.hub, &state.effects)
        for effect in state.effects {
            state.reached.insert(effect.loop)
            if mailboxes[effect.loop].append(.instruction(effect.instruction)) { woken.loops.insert(effect.loop) }
        }
        state.effects.removeAll(keepingCapacity: true)
        passWebhookEvents(&state, &woken)
        if state.hub.hasRefusals { state.hub.drainRefusals { refusals?.record($1, app: $0) } }
        if state.hub.hasReports { state.hub.drainReports(onReport) }
    }

    /// Changes the hub otherwise than by an input of its own. Call it on a loop's thread and drain that loop's mailbox next.
    /// - Parameter woken: the threads to wake at the end of the turn are added.
    package func change(_ woken: inout ThreadsToWake, _ body: (inout Hub, inout [Hub.Effect]) -> Void) {
        state.withLock { change(&$0, &woken, body) }
    }

    /// Changes the hub otherwise than by an input of its own. All that follows is distributed like the effects of an input.
    package func change(
        _ state: inout State, _ woken: inout ThreadsToWake, _ body: (inout Hub, inout [Hub.Effect]) -> Void
    ) {
        distribute(&state, &woken, body)
        if isClustered { tellCluster(nil, .node, &state, &woken) }
    }

    func passWebhookEvents(_ state: inout State, _ woken: inout ThreadsToWake) {
        guard state.hub.hasWebhookEvents else { return }
        state.hub.drainWebhookEvents { if webhookInbox?.append($0) == true { woken.webhookWorker = true } }
    }

    /// Lets the loops that were reached measure a publish, if it is one of the sample.
    package func measure(_ takenAt: UInt64, _ state: inout State, _ woken: inout ThreadsToWake) {
        defer { state.publishCount += 1 }
        guard state.publishCount % Self.sampledOneIn == 0 else { return }
        for loop in state.reached where mailboxes[loop].append(.publishTaken(at: takenAt)) { woken.loops.insert(loop) }
    }

    private func hasRoom(_ request: PublishRequest, _ app: AppIndex, _ hub: Hub) -> Bool {
        // Usually no mailbox is full, so the loops of the subscribers need not be looked up.
        if hasRoom { return true }
        let fits = { (publication: Hub.Publication) in
            hub.loops(of: publication.channel, app: app).allSatisfy { self.mailboxes[$0].hasRoom }
        }
        return request.events.allSatisfy { $0.publications.allSatisfy(fits) && $0.mirrored.allSatisfy(fits) }
    }
}
