import Addresses
import CLibev
import HTTP
import Observability
import Primitives
import PusherProtocol
import Threads
import WebSocketFraming

/// One thread's event loop: its connections, their requests and WebSockets, and their outboxes.
///
/// In a turn (one iteration), the loop calls the delegate for each ready socket, and the delegate collects what to
/// send. Before the loop sleeps again, it calls `turnEnded`, and the delegate writes. What a turn has no time for waits in
/// the ``Agenda``. So do closes, until the end of the turn at least: closing frees the connection, and a callback of the
/// transport may still be using it.
package final class EventLoop: TransportDelegate {
    let index: Int
    unowned let delegate: any EventLoopDelegate
    let options: Options
    let budget: DescriptorBudget
    let metrics: LoopMetrics
    let wakeup: Wakeup
    /// The sockets. Set at the end of `init` and never changed.
    private(set) var transport: Transport!
    var listener: Listener?
    /// Nil unless the loop is draining or has drained.
    private(set) var drain: DrainWaves?
    /// Whether ``EventLoopDelegate/drained()`` was called.
    private var hasDrained = false

    var connections = ConnectionTable()
    var deadlines = Deadlines()
    var outboxes = Outboxes()
    /// The buffer in which an outbox joins what it sends next; reused to avoid allocations.
    var scratch: [UInt8] = []

    /// What waits for its turn.
    var agenda = Agenda<Work>()
    /// Nanoseconds of a monotonic clock.
    let clock: () -> UInt64
    /// When the connection that is being read has to wait for its next turn.
    var visitEnd: UInt64 = 0
    /// Whether ``Work/accept`` is on the agenda.
    var awaitsAccept = false
    /// Whether ``Work/expire`` is on the agenda.
    var awaitsExpiry = false
    /// Whether messages of other threads wait for which the turn had no time. Until they are performed, the loop does nothing
    /// else: what clients have sent comes after them.
    private var hasMessages = false
    /// Whether the loop has ended: no connection is read any more.
    private(set) var isStopping = false

    // HTTP
    /// Requests that are being read or wait for their responses, by slot.
    var readings: [Int: RequestReading] = [:]
    /// Requests without a response yet.
    var pendingResponses = PendingResponses()
    var correlationIDs = CorrelationIDs()
    /// The responses of this turn, to send at its end.
    var replies = Replies()
    /// What is measured of these.
    var unsentResponses: [SentResponse] = []
    /// Responses that wait in an outbox, by slot.
    var queuedResponses: [Int: [SentResponse]] = [:]
    let requestMetrics: RequestMetrics

    // WebSocket
    /// The number of WebSockets, those that are closing included.
    var webSocketCount = 0
    /// The answer to the last ping of the connection that is being read.
    var pong: Frame?
    /// The decoders of connections in the middle of a message, by slot.
    var decoders: [Int: FrameDecoder] = [:]
    /// What WebSockets have sent that is not decoded, because they wait for a turn or for their rate, by slot.
    var unreadFrames: [Int: UnreadFrames] = [:]
    /// WebSockets that are not read because of their rate, until the next tick.
    var throttled: [SocketID] = []

    /// Headers of the PROXY protocol that are incomplete, by slot.
    var proxyParsers: [Int: ProxyProtocolParser] = [:]

    /// Bytes of incomplete requests and messages that the loop has buffered.
    var bufferedBytes = 0

    /// Code and reason of a WebSocket close frame (RFC 6455 section 5.5.1).
    struct CloseFrame {
        let code: CloseCode
        let reason: String
    }

    // libev's watchers. libev keeps their addresses, so they must not move.
    private let turnBeginWatcher = UnsafeMutablePointer<ev_check>.allocate(capacity: 1)
    private let turnEndWatcher = UnsafeMutablePointer<ev_prepare>.allocate(capacity: 1)
    let acceptWatcher = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
    let acceptRetryTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let drainTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let tickTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)

    /// - Parameters:
    ///   - delegate: must outlive the loop.
    ///   - clock: nanoseconds of a monotonic clock.
    /// - Throws: ``StartError`` if the transport cannot be created.
    package init(
        index: Int, delegate: any EventLoopDelegate, wakeup: Wakeup, budget: DescriptorBudget, metrics: LoopMetrics,
        requestMetrics: RequestMetrics, options: Options, clock: @escaping () -> UInt64 = Clock.monotonicNanoseconds
    ) throws(StartError) {
        self.index = index
        self.delegate = delegate
        self.wakeup = wakeup
        self.budget = budget
        self.metrics = metrics
        self.requestMetrics = requestMetrics
        self.options = options
        self.clock = clock
        metrics.add(options.outboxBytesMax, to: .outboxBytesMax)
        let this = Unmanaged.passUnretained(self).toOpaque()
        transport = try Transport(on: wakeup.loop, certificates: options.certificates, delegate: self)
        clibev_check_init_first(turnBeginWatcher, Self.turnBeginCallback, this)
        ev_check_start(wakeup.loop, turnBeginWatcher)
        clibev_prepare_init(turnEndWatcher, Self.turnEndCallback, this)
        ev_prepare_start(wakeup.loop, turnEndWatcher)
        clibev_timer_init(acceptRetryTimer, Self.acceptRetryCallback, 0, Double(Timing.acceptRetry) / 1_000, this)
        clibev_timer_init(drainTimer, Self.drainCallback, 0, Double(Timing.drainTick) / 1_000, this)
        let tick = Double(Timing.deadlineTick) / 1_000
        clibev_timer_init(tickTimer, Self.tickCallback, tick, tick, this)
        ev_timer_start(wakeup.loop, tickTimer)
        wakeup.start(Self.wokenCallback, data: this)
        agenda.beginTurn(at: clock())
    }

    deinit {
        turnBeginWatcher.deallocate()
        turnEndWatcher.deallocate()
        acceptWatcher.deallocate()
        acceptRetryTimer.deallocate()
        drainTimer.deallocate()
        tickTimer.deallocate()
    }

    /// Closes the remaining connections and calls ``EventLoopDelegate/closed(_:)`` for each. Call it after ``run()``,
    /// on the loop's thread.
    package func shutDown() {
        isStopping = true
        performMessages(until: .max)
        // `stop` has ended the last turn before its end, and one turn may not send all that is left.
        repeat {
            agenda.beginTurn(at: clock())
            turnEnd()
        } while !agenda.isEmpty
        stopListening()
        wakeup.stop()
        ev_check_stop(wakeup.loop, turnBeginWatcher)
        ev_prepare_stop(wakeup.loop, turnEndWatcher)
        ev_timer_stop(wakeup.loop, drainTimer)
        ev_timer_stop(wakeup.loop, tickTimer)
        transport.shutDown()
    }

    /// Runs the loop until ``stop()``.
    package func run() {
        agenda.beginTurn(at: clock())  // the turn of what has happened before
        ev_run(wakeup.loop, 0)
    }

    /// Runs one turn, without waiting for anything. For tests.
    func runOnce() {
        ev_run(wakeup.loop, Int32(EVRUN_NOWAIT))
        turnEnd()
    }

    /// Ends ``run()`` after the current turn.
    package func stop() { ev_break(wakeup.loop, Int32(EVBREAK_ALL)) }

    // MARK: Transport

    func received(_ bytes: UnsafeMutableRawBufferPointer, on slot: Int) -> Bool {
        guard connections.isOccupied(slot) else { return false }
        handle(bytes, slot)
        return !mustPause(slot)
    }

    /// Handles bytes as the connection's phase requires.
    func handle(_ bytes: UnsafeMutableRawBufferPointer, _ slot: Int) {
        switch connections[slot].phase {
        case .proxyHeader: proxyBytesReceived(bytes, slot)
        case .http: requestBytesReceived(bytes, slot)
        case .webSocket, .closePending: framesReceived(bytes, slot)
        case .closing: if discard(bytes.count, slot) { framesReceived(bytes, slot) }
        case .lingering: _ = discard(bytes.count, slot)
        case .dropped: break
        }
    }

    func ended(_ slot: Int) {
        guard connections.isOccupied(slot) else { return }
        // A client may have sent the last request and its end together: it gets all of the response.
        let wasFull = connections[slot].isFull
        if connections[slot].phase == .http { sendReplies() }
        if connections[slot].isFull, !wasFull { linger(slot) } else { drop(slot) }
    }

    func closed(_ slot: Int) {
        guard connections.isOccupied(slot) else { return }
        connections[slot].phase = .dropped
        discardOutbox(slot)
        leave(slot)
        if connections[slot].isWebSocket { webSocketCount -= 1 }
        countQueuedResponses(slot)
        if let reading = takeReading(slot) { abandon(reading, slot) }
        forgetFrames(slot)
        deadlines.cancel(slot, &connections)
        proxyParsers[slot] = nil
        let (peer, isCounted) = (connections[slot].peer, connections[slot].isCounted)
        connections.remove(slot: slot)
        release(peer, isCounted)
    }

    func release(_ address: IPAddress, _ isCounted: Bool) {
        budget.release()
        if isCounted { options.clientLimits.closed(address) }
    }

    // MARK: Turns

    private func turnBegin() {
        agenda.beginTurn(at: clock())
        if hasMessages { performMessages(until: agenda.stepsEnd) }
    }

    private func performMessages(until end: UInt64) {
        // At most once in a turn whose time they use up.
        guard !hasMessages || clock() < end else { return }
        hasMessages = !delegate.performMessages(until: end)
    }

    /// A tick applies an input, too: it comes after the messages.
    private func tickReady() { if hasMessages { agenda.add(.tick, .step) } else { tick() } }

    private func turnEnd() {
        transport.turnEnded()
        if !hasMessages { performAgenda() }
        sendReplies()
        delegate.turnEnded(begunAt: agenda.beganAt)
        if !agenda.isEmpty || hasMessages { wakeup.signal() }  // so that the loop does not sleep before the next turn
        metrics.turns.observe(nanoseconds: clock() - agenda.beganAt)
        if let drain, !hasDrained, isIdle || drain.isOver(hasRequests: awaitsResponses) {
            hasDrained = true
            delegate.drained()
        }
    }

    /// Whether there are no WebSockets and no requests.
    private var isIdle: Bool { webSocketCount == 0 && readings.isEmpty && pendingResponses.count == 0 }

    /// Whether other threads have requests to answer. Those whose bodies are not complete do not count.
    private var awaitsResponses: Bool { pendingResponses.slots.contains { connections[$0].awaitsResponse } }

    // MARK: Draining

    /// Stops accepting and closes all WebSockets, spread over `seconds` so that the clients do not all reconnect at the
    /// same time. Then calls ``EventLoopDelegate/drained()``. The loop serves HTTP requests until ``stop()``, also after
    /// it has drained: a backend connected to it may still publish to clients of other loops.
    /// - Parameters:
    ///   - requestSeconds: the time in which requests that are under way may still be answered.
    ///   - code: tells the clients when to connect again.
    package func drain(over seconds: Int, requestSeconds: Int, closingWith code: CloseCode) {
        stopListening()
        var random = BlockRandom()
        drain = DrainWaves(
            connections.webSockets.shuffled(using: &random), seconds: seconds, requestSeconds: requestSeconds, closingWith: code)
        ev_timer_start(wakeup.loop, drainTimer)
    }

    private func drainTick() {
        performMessages(until: .max)  // so that their frames are sent before the close frames
        guard let code = drain?.code else { return }
        for socket in drain?.nextWave() ?? [] { close(socket, code, reason: DrainWaves.reason) }
    }

    // MARK: C callbacks

    // The callbacks are static members of a nonisolated type. A closure literal in a main-actor context would inherit
    // that isolation, and its runtime check would crash on any other thread.
    private static let turnBeginCallback: clibev_check_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.turnBegin() }
    }
    private static let turnEndCallback: clibev_prepare_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.turnEnd() }
    }
    static let acceptCallback: clibev_io_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.acceptReady() }
    }
    private static let wokenCallback: clibev_async_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.performMessages(until: $0.agenda.stepsEnd) }
    }
    private static let acceptRetryCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.retryAccepting() }
    }
    private static let tickCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.tickReady() }
    }
    private static let drainCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.drainTick() }
    }

    private static func withEventLoop(_ pointer: UnsafeMutableRawPointer?, _ body: (EventLoop) -> Void) {
        guard let pointer else { preconditionFailure("libev watcher without an event loop") }
        Unmanaged<EventLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }
}
