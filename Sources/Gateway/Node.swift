import FanOut
import HTTPAPI
import Observability
import PusherProtocol
import Server
import Store
import Threads
import Webhooks

/// What one loop's thread owns, and the only place where effects become actions.
///
/// It is built inside that thread and is not Sendable: others reach it through its mailbox.
final class Node: EventLoopDelegate {
    let index: Int
    let shared: SharedHub
    let metrics: NodeMetrics
    let counters: LoopCounters
    private let appsByKey: [String: Application]
    let router: Router
    private let activityTimeout: ActivityTimeout
    let log: Log
    let fleet: FleetService
    let webhooks: WebhookWorker
    let appIDs: [String]

    private(set) var loop: EventLoop?
    private var fanOut = LoopFanOut()
    /// Admitted connections, by slot.
    private var connectionStates: [ConnectionState?] = []
    private var messages: [LoopMessage] = []
    private var nextLoop = 0
    /// Requests that other threads are to answer.
    var waiting: [RequestID: PendingRequest] = [:]
    /// Those of them whose senders' keys have come.
    private var retried: [RequestID] = []
    /// What was refused since the last tick, by the bound that was met.
    private var refusals: [FullQueue: Int] = [:]
    /// Slow consumers and accept pauses that have been logged.
    private var logged = (drops: 0, pauses: 0)
    /// Seconds on the monotonic clock, as of the last tick.
    private var now = Int(Clock.monotonicNanoseconds() / 1_000_000_000)

    /// - Throws: ``StartError`` when the certificate cannot be used.
    init(index: Int, blueprint: Assembly) throws(StartError) {
        self.index = index
        shared = blueprint.hub
        metrics = blueprint.metrics
        counters = blueprint.metrics.counters[index]
        log = blueprint.log
        activityTimeout = ActivityTimeout(activitySeconds: blueprint.settings.server.activitySeconds)
        let apps = blueprint.makeApplications()
        appsByKey = Dictionary(uniqueKeysWithValues: apps.map { ($0.key, $0) })
        fleet = blueprint.fleet
        webhooks = blueprint.webhooks
        appIDs = apps.map(\.id)
        router = Router(
            apps: apps, metricsToken: blueprint.settings.metrics.token, fleet: try blueprint.makeFleetRouter(apps))
        loop = try EventLoop(
            index: index, delegate: self, wakeup: blueprint.wakeups[index], budget: blueprint.budget, counters: counters,
            options: blueprint.loopOptions)
    }

    /// Serves until told to stop. Loop 0 brings the listener.
    func run(listeningOn listener: Listener?) {
        guard let loop else { return }
        if let listener { loop.listen(on: listener) }
        loop.run()
        loop.shutDown()
        logOverload()
    }

    // MARK: WebSockets

    func opened(_ socket: SocketID, _ request: UpgradeRequest) -> Admission {
        switch Handshake(path: request.path, query: { name in request.query.first { $0.name == name }?.value }) {
        case .refused(let code, let reason, let version): return refusal(code, reason, version)
        case .app(let key, let version):
            guard let app = appsByKey[key] else {
                return refusal(.unknownApp, "App key \(key.clipped) does not exist", version)
            }
            guard app.isEnabled else { return refusal(.disabledApp, "Application is disabled", version) }
            guard request.isSecure || !app.isTLSOnly else {
                return refusal(.tlsOnly, "Application only accepts TLS connections: use wss://", version)
            }
            guard app.origins.allow(request.origin) else { return refusal(.notAuthorized, "Origin not allowed", version) }
            guard shared.open(socket, app: app.index) else {
                let isFinal = app.limits.overQuotaClose == .overQuota
                return refusal(isFinal ? .overQuota : .overCapacity, "Application is over its connection quota", version)
            }
            admit(socket, to: app)
            return .admitted(messageBytesMax: app.limits.messageBytes, outboxBytesMax: app.limits.outboxBytes)
        }
    }

    func received(_ text: UnsafeRawBufferPointer, from socket: SocketID) {
        connectionStates[socket.slot]?.heard(at: now)
        guard let client = connectionStates[socket.slot] else { return }
        let app = client.app
        let reaction = MessageAction(to: text, from: socket, key: app.key, rules: app.rules, user: client.user) {
            app.verifies($1, of: $0)
        }
        switch reaction {
        case .reply(let frame): perform(.send(frame, to: socket))
        case .apply(let input): apply(input)
        case .applyRateLimited(let input): applyIfAllowed(input, of: socket)
        case .signIn(let user):
            connectionStates[socket.slot]?.user = user
            apply(.signin(socket, user))
        case .ignore: break
        }
    }

    func ponged(from socket: SocketID) { connectionStates[socket.slot]?.heard(at: now) }

    func closed(_ socket: SocketID) {
        apply(.closed(socket))
        fanOut.close(socket)
        connectionStates[socket.slot] = nil
        counters.add(-1, to: .connected)
        counters.add(to: .connectionsClosed)
    }

    func closing(with code: CloseCode) { metrics.countClose(code) }

    private func admit(_ socket: SocketID, to app: Application) {
        while connectionStates.count <= socket.slot { connectionStates.append(nil) }
        connectionStates[socket.slot] = ConnectionState(app: app, heardAt: now)
        fanOut.open(socket)
        drainMailbox()
        let established = ServerMessage.connectionEstablished(socket, activityTimeoutSeconds: activityTimeout.activitySeconds)
        perform(.send(established, to: socket))
        counters.add(to: .connected)
        counters.add(to: .connectionsOpened)
    }

    private func refusal(_ code: CloseCode, _ reason: String, _ version: Int?) -> Admission {
        // C7: from version 6 on the close code alone carries the error.
        let needsEvent = version.map { $0 < 6 } ?? false
        let event = needsEvent ? ServerMessage.error(ProtocolError(reason, code: Int(code.rawValue))) : nil
        return .refused(code, reason: reason, frame: event)
    }

    private func applyIfAllowed(_ input: Hub.Input, of socket: SocketID) {
        let milliseconds = Clock.monotonicMilliseconds()
        guard connectionStates[socket.slot]?.mayPublish(nowMilliseconds: milliseconds) == true else {
            counters.add(to: .limitedClientEvents)
            let text = "Client event rejected: more than the allowed number per second"
            return perform(.send(ServerMessage.error(ProtocolError(text, code: 4301)), to: socket))
        }
        guard shared.hasRoom else {
            countRejection(.mailbox)
            let text = "Overloaded: the client event was not passed on, try again"
            return perform(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
        apply(input)
    }

    // MARK: The loop

    func accepted(_ connection: Listener.AcceptedSocket) {
        let target = nextLoop
        nextLoop = (nextLoop + 1) % shared.mailboxes.count
        if target == index {
            loop?.adopt(connection)
        } else {
            shared.post(.adopt(connection), to: target)
        }
    }

    func woken() { drainMailbox() }

    /// All loops end together: backends are answered, on whichever loop they are, until the last client has been told.
    func drained() {
        guard metrics.recordDrained() == shared.mailboxes.count else { return }
        for loop in shared.mailboxes.indices { shared.post(.stop, to: loop) }
    }

    func ticked() {
        let nanoseconds = Clock.monotonicNanoseconds()
        now = Int(nanoseconds / 1_000_000_000)
        if index == 0 { apply(.tick(Int64(nanoseconds / 1_000_000))) }
        for slot in connectionStates.indices { checkActivity(slot) }
        for (bound, count) in refusals {
            log.warning("refused", ["loop": .number(index), "count": .number(count), "full": .text(bound.rawValue)])
        }
        refusals.removeAll()
    }

    func turnEnded() {
        if fanOut.isPending { fanOut.flush { loop?.write($1, to: $0) } }
        logOverload()
    }

    /// P4: whoever is silent is asked for life, and given up when nothing comes.
    private func checkActivity(_ slot: Int) {
        guard let client = connectionStates[slot], let socket = fanOut.socket(at: slot) else { return }
        switch activityTimeout.action(silence: now - client.heardAt, hasPinged: client.hasBeenPinged) {
        case .idle: break
        case .ping:
            connectionStates[slot]?.hasBeenPinged = true
            perform(.send(ServerMessage.ping, to: socket))
        case .close: loop?.close(socket, .pongNotReceived, reason: "Pong not received")
        }
    }

    // MARK: Inputs and instructions

    /// The order rule: into the mailboxes under the lock, then one's own at once.
    func apply(_ input: Hub.Input) {
        shared.apply(input, from: index)
        drainMailbox()
    }

    func drainMailbox() {
        shared.mailboxes[index].drain(into: &messages)
        for message in messages {
            switch message {
            case .instruction(let instruction): perform(instruction)
            case .adopt(let connection): loop?.adopt(connection)
            case .answer(let answer, let exchange): self.answer(exchange, with: answer)
            case .keysFetched(let exchange): retried.append(exchange)
            case .drain(let seconds): loop?.drain(over: seconds)
            case .stop: loop?.stop()
            }
        }
        messages.removeAll(keepingCapacity: true)
        // Only now: what they ask may drain the mailbox again, and would overtake what this round still had to do.
        while let exchange = retried.popLast() { retry(exchange) }
    }

    private func perform(_ instruction: Instruction) {
        if case .close(let socket, let code) = instruction {
            loop?.close(socket, code, reason: "Terminated by the application")
        } else {
            fanOut.apply(instruction) { loop?.write($1, to: $0) }
        }
    }

    // MARK: Counting

    /// Something was not taken: a queue is full. It is logged with the next tick, once a second however much it is.
    func countRejection(_ bound: FullQueue) {
        counters.add(to: .rejectedPublishes)
        refusals[bound, default: 0] += 1
    }

    /// Logs connections dropped and accepts paused since the last call.
    private func logOverload() {
        let (drops, pauses) = (counters[.slowConsumers], counters[.acceptPauses])
        if drops > logged.drops {
            log.warning("slow_consumers_dropped", ["loop": .number(index), "count": .number(drops - logged.drops)])
        }
        if pauses > logged.pauses { log.warning("accepting_paused", ["reason": "no descriptors left"]) }
        logged = (drops, pauses)
    }
}
