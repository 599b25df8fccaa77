import Addresses
import FanOut
import HTTP
import Observability
import Primitives
import PusherAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// The gateway's part on one loop's thread: handles the loop's events, applies inputs to the hub, and performs the
/// hub's instructions.
///
/// Create it on that thread. It is not Sendable: other threads communicate with it through its mailbox.
package final class Node: EventLoopDelegate {
    package let index: Int
    package let hub: SharedHub
    package let metrics: NodeMetrics
    let readiness: Readiness
    let heartbeat: Heartbeat
    let budget: DescriptorBudget
    package let loopMetrics: LoopMetrics
    private let apps: Applications
    let router: Router
    let registry: MetricsRegistry
    /// What runs on top of the Pusher server, in the process and on this loop; nil if nothing does.
    let service: (any ExtensionService)?
    private(set) var nodeExtension: (any NodeExtension)?
    let activityTimeout: ActivityTimeout
    let log: Log
    let slowRequests: RateLimitedLog
    /// Nil unless the gateway is a node of a cluster.
    package let cluster: ClusterService?
    let webhooks: WebhookWorker
    let channelQueries: ChannelQueryWorker
    let appIDs: [String]

    package private(set) var loop: EventLoop?
    let wakeup: Wakeup
    package var fanOut = LoopFanOut()
    /// Admitted connections, by slot.
    var connections: [ConnectionRates?] = []
    /// What was taken from the mailbox, and how much of it is performed.
    var messages: [LoopMessage] = []
    var performedMessages = 0
    /// Chooses the loop that adopts the next accepted connection.
    var loopChooser: LoopChooser
    /// Requests that wait for a response from another thread.
    package var waiting: [RequestID: PendingRequest] = [:]
    /// Subscriptions that wait for the cluster.
    var waitingSubscriptions = WaitingSubscriptions()
    /// Whether the node's life is over: nothing is read, and nothing written.
    var isVoid = false
    var hasReportedClosed = false
    /// What messages have asked for that waits for the loop's agenda.
    var deferred = FIFO<Deferred>()
    var overloadLog: OverloadLog
    var limitLog = LimitLog()
    /// Publishes whose fan-out on this loop is measured: when they were taken, and the frame before which theirs lie.
    var measuredPublishes: [(takenAt: UInt64, end: Int)] = []
    /// The threads to wake at the end of this turn. Waking them once per turn instead of once per input makes their
    /// batches larger, and so their writes fewer. Another thread that sends them something may wake them earlier.
    var threadsToWake = SharedHub.ThreadsToWake()
    /// The number of ticks, one per second. Unlike a clock it does not run while the process is suspended: clients whose
    /// messages wait in the kernel have not been silent.
    var now = 0
    /// Whether the look at all connections of a tick goes on.
    var isCheckingActivity = false

    /// - Throws: ``StartError`` if a configured key is unusable, or libwebsockets cannot create a context.
    init(index: Int, assembly: Assembly) throws(StartError) {
        self.index = index
        hub = assembly.hub
        metrics = assembly.metrics
        readiness = assembly.readiness
        loopChooser = LoopChooser(count: assembly.wakeups.count)
        heartbeat = assembly.heartbeats[index]
        budget = assembly.budget
        loopMetrics = assembly.metrics.loops[index]
        log = assembly.log
        slowRequests = assembly.slowRequests
        overloadLog = OverloadLog(loop: index, log: assembly.log)
        activityTimeout = ActivityTimeout(activitySeconds: assembly.configuration.server.activitySeconds)
        let apps = assembly.makeApplications()
        self.apps = Applications(apps)
        cluster = assembly.cluster
        webhooks = assembly.webhooks
        channelQueries = assembly.channelQueries
        appIDs = apps.map(\.id)
        wakeup = assembly.wakeups[index]
        service = assembly.service
        let nodeExtension = try assembly.service?.makeNodeExtension(apps, loop: index)
        self.nodeExtension = nodeExtension
        router = Router(
            apps: apps, metricsToken: assembly.configuration.metrics.token, pathPrefix: assembly.configuration.server.pathPrefix,
            replayGuard: assembly.replayGuard, patterns: nodeExtension?.patterns ?? EndpointPatterns(),
            extension: nodeExtension?.router)
        registry = assembly.makeRegistry(patterns: router.patterns)
        loop = try EventLoop(
            index: index, delegate: self, wakeup: assembly.wakeups[index], budget: budget, metrics: loopMetrics,
            requestMetrics: assembly.metrics.requests[index], options: assembly.loopOptions)
        nodeExtension?.start(on: self)
    }

    /// Serves until ``LoopMessage/stop``. Loop 0 also accepts connections.
    func run(listeningOn listener: Listener?) {
        guard let loop else { return }
        if let listener { loop.listen(on: listener) }
        loop.run()
        heartbeat.end()
        loop.shutDown()
        nodeExtension?.turnEnded()
        wakeOtherThreads()
        overloadLog.write(loopMetrics, at: now)
    }

    // MARK: WebSockets

    package func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission {
        guard mayGoOn() else { return .rejected(.restart, reason: "The node was away: connect again", frame: nil) }
        switch Handshake(path: request.http.path, query: { request.http.queryValue($0) }) {
        case .refused(let code, let reason, let version): return rejection(code, reason, version)
        case .app(let key, let version):
            guard let app = apps.withKey(key) else {
                hub.refusals?.record(unknownKey: key, from: request.address)
                return rejection(.unknownApp, "App key \(key.clipped.terminalEscaped) does not exist", version)
            }
            guard app.isEnabled else { return rejection(.disabledApp, "Application is disabled", version) }
            guard request.isSecure || !app.isTLSOnly else {
                return rejection(.tlsOnly, "Application only accepts TLS connections: use wss://", version)
            }
            guard app.origins.allows(request.http.origin) else {
                let explanation = AllowedOrigins.explanation(ofRefusing: request.http.origin).map { ": " + $0 } ?? ""
                return rejection(.notAuthorized, "Origin not allowed" + explanation, version)
            }
            guard hub.open(socket, app: app.index) else {
                metrics.countLimited(.connections)
                // Clients connect again after `.overCapacity` (4100), but not after `.overQuota` (4004).
                let isFinal = app.limits.overQuotaClose == .overQuota
                return rejection(isFinal ? .overQuota : .overCapacity, "Application is over its connection quota", version)
            }
            admit(socket, to: app)
            let established = ServerMessage.connectionEstablished(socket, activityTimeoutSeconds: activityTimeout.activitySeconds)
            return .admitted(app.limits, frame: established)
        }
    }

    package func received(_ text: UnsafeRawBufferPointer, from socket: SocketID) {
        guard mayGoOn(), let connection = connections[socket.slot] else { return }
        let app = connection.app
        let action = MessageAction(
            to: text, from: socket, key: app.key, rules: app.rules, user: connection.user,
            permitsCommand: { permitsCommand(of: socket) }, verify: { app.verifies($1, of: $0) })
        if case .recordPong = action { return recordPong(from: socket) }
        connections[socket.slot]?.recordActivity(at: now)
        switch action {
        case .reply(let frame):
            // A pong stands behind all that was published before its ping was sent, on whichever loop.
            drainMailbox()
            perform(.send(frame, to: socket))
        case .refuse(let frame, let refusal):
            hub.refusals?.record(refusal, app: app.index)
            drainMailbox()
            perform(.send(frame, to: socket))
        case .apply(.subscribe(_, let grant)):
            requestSubscription(socket, isLegacy(grant, socket, app) ? grant.asLegacy : grant, to: app)
        case .apply(.unsubscribe(_, let channel)):
            if !cancelWaiting(socket, channel, app: app.index) { apply(.unsubscribe(socket, channel)) }
        case .apply(let input): apply(input)
        case .applyRateLimited(let input): applyIfAllowed(input, of: socket)
        case .signIn(let user):
            connections[socket.slot]?.user = user
            apply(.signin(socket, user))
        case .recordPong: break  // handled above
        }
    }

    package func pingReceived(from socket: SocketID) { connections[socket.slot]?.recordActivity(at: now) }

    package func pongReceived(from socket: SocketID, _ payload: UnsafeRawBufferPointer) {
        nodeExtension?.pongReceived(from: socket, payload)
        recordPong(from: socket)
    }

    private func recordPong(from socket: SocketID) {
        guard let connection = connections[socket.slot] else { return }
        // Clients answer the event or the frame or both: the first answer counts.
        if let microseconds = connection.microsecondsSincePing(now: Clock.monotonicNanoseconds()) {
            metrics.pings.observe(Double(microseconds) / 1_000_000)
        }
        connections[socket.slot]?.recordActivity(at: now)
    }

    package func closed(_ socket: SocketID) {
        // If the loop closes the connection, its frames go before the close frame; a flush may have left some.
        flush(socket)
        apply(.closed(socket))
        fanOut.close(socket)
        nodeExtension?.closed(socket)
        connections[socket.slot] = nil
        loopMetrics.add(-1, to: .connected)
        loopMetrics.add(to: .connectionsClosed)
    }

    package func closing(with code: CloseCode) { metrics.closes.add(to: code) }

    package func limitReached(_ limit: Limit) { metrics.countLimited(limit) }

    package func proxyHeaderRefused(by peer: IPAddress, _ reason: ProxyHeaderRefusal) { hub.refusals?.record(reason, from: peer) }

    private func admit(_ socket: SocketID, to app: Application) {
        while connections.count <= socket.slot { connections.append(nil) }
        connections[socket.slot] = ConnectionRates(app: app, seenAt: now)
        fanOut.open(socket)
        drainMailbox()
        loopMetrics.add(to: .connected)
        loopMetrics.add(to: .connectionsOpened)
    }

    /// - Parameter version: the client's protocol version; nil if the request has no valid path or version.
    private func rejection(_ code: CloseCode, _ reason: String, _ version: Int?) -> Admission {
        // Protocol point C7: clients of protocol version 6 or later read the error from the close frame.
        let needsEvent = version.map { $0 < 6 } ?? false
        let event = needsEvent ? ServerMessage.error(ProtocolError(reason, code: Int(code.rawValue))) : nil
        return .rejected(code, reason: reason, frame: event)
    }

    /// Counts a command, or its refusal if it is over the limit.
    private func permitsCommand(of socket: SocketID) -> Bool {
        if connections[socket.slot]?.consumeCommand(now: Int64(Clock.monotonicNanoseconds())) == true { return true }
        metrics.countLimited(.commandsPerSecond)
        return false
    }

    private func applyIfAllowed(_ input: Hub.Input, of socket: SocketID) {
        guard connections[socket.slot]?.consumeClientEvent(now: Int64(Clock.monotonicNanoseconds())) == true else {
            loopMetrics.add(to: .limitedClientEvents)
            let text = "Client event rejected: more than the allowed number per second"
            return perform(.send(ServerMessage.error(ProtocolError(text, code: 4301)), to: socket))
        }
        guard hub.hasRoom else {
            countRejection(.mailbox)
            let text = "Overloaded: the client event was not published, try again"
            return perform(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
        apply(input)
    }

    // MARK: Event loop

    package func accepted(_ connection: Listener.AcceptedSocket) {
        let target = loopChooser.choose { metrics.loops[$0][.connected] }
        if target == index {
            loop?.adopt(connection)
        } else {
            hub.post(.adopt(connection), to: target)
        }
    }

    package func performMessages(until end: UInt64) -> Bool {
        _ = mayGoOn()
        return drainMailbox(until: end)
    }

    /// Stops all loops once all have drained. Until then, each loop serves HTTP requests, because backends may be
    /// connected to any of them.
    package func drained() {
        guard readiness.recordDrained() == hub.mailboxes.count else { return }
        for loop in hub.mailboxes.indices { hub.post(.stop, to: loop) }
    }

    // MARK: Counting

    /// Counts a rejection because of a full queue. The next tick logs all of them in one record per queue.
    /// - Parameter command: the name of the command that was rejected; nil for a publish, a client event or a query.
    func countRejection(_ queue: FullQueue, of command: String? = nil) {
        if let command {
            nodeExtension?.countRejection(ofCommand: command)
        } else if let limit = queue.limit {
            metrics.countLimited(limit)
        } else {
            loopMetrics.add(to: .rejectedPublishes)
        }
        overloadLog.addRejection(of: queue)
    }
}
