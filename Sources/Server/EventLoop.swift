import CLibev
import CLibwebsockets
import HTTP
import Observability
import PusherProtocol

/// One thread's event loop: a libwebsockets context, its WebSockets and their outboxes.
///
/// In a turn (one iteration), the loop calls the delegate for each ready socket, and the delegate collects what to
/// send. Before the loop sleeps again, it calls `turnEnded`, and the delegate writes. The loop also delays closes until
/// the end of the turn: closing frees the connection, and a callback of libwebsockets may still be using it.
package final class EventLoop {
    let index: Int
    unowned let delegate: any EventLoopDelegate
    let options: Options
    let budget: DescriptorBudget
    let metrics: LoopMetrics
    private let wakeup: Wakeup
    private var context: LibwebsocketsContext?
    /// libwebsockets' virtual host for accepted connections; nil once the loop shuts down.
    private var vhost: OpaquePointer?
    private var listener: Listener?
    /// The time after which a loop that has stopped accepting for lack of descriptors checks for free ones.
    private static let acceptRetrySeconds = 0.1
    /// Nil unless the loop is draining or has drained.
    private(set) var drain: Drain?
    /// Whether ``EventLoopDelegate/drained()`` was called.
    private var hasDrained = false

    var connections = ConnectionTable()
    var outboxes: [Int: Outbox] = [:]
    /// Connections to close at the end of this turn: with the close frame, or dropped if it is nil.
    var pendingCloses: [(socket: SocketID, frame: CloseFrame?)] = []
    /// Closes that wait until the connection's buffered bytes are sent, by slot.
    var delayedCloses: [Int: DelayedClose] = [:]
    /// Slots in `delayedCloses` whose buffered bytes were sent in this turn.
    var readyToClose: [Int] = []
    /// The bytes received so far of messages that arrive in several chunks, by slot.
    var partialMessages: [Int: [UInt8]] = [:]
    var incomingRequests = IncomingRequests()
    /// Requests whose responses come from other threads.
    var pendingResponses = PendingResponses()
    /// Responses from other threads, to write at the end of this turn.
    var responses: [(id: RequestID, response: HTTPResponse)] = []
    var correlationIDs = CorrelationIDs()
    /// The buffer in which responses are encoded, one after the other; reused to avoid allocations.
    var responseBytes: [UInt8] = []

    /// Code and reason of a WebSocket close frame (RFC 6455 section 5.5.1).
    struct CloseFrame {
        let code: CloseCode
        let reason: String
    }

    /// A close frame that waits behind buffered bytes.
    struct DelayedClose {
        let frame: CloseFrame
        /// At 0, the connection is closed without the close frame.
        var secondsLeft = 10
    }

    // libev's watchers. libev keeps their addresses, so they must not move.
    private let turnEndWatcher = UnsafeMutablePointer<ev_prepare>.allocate(capacity: 1)
    private let acceptWatcher = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
    private let acceptRetryTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let drainTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let tickTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)

    /// Settings that all loops share.
    package struct Options: Sendable {
        /// The largest request body in bytes. A larger one is not read, and the response is 413.
        package let requestBodyBytesMax: Int
        /// Nil for unencrypted connections.
        package let tls: TLSFiles?
        /// Whether all connections come from a reverse proxy. Its `X-Forwarded-Proto` header is then trusted.
        package let isBehindProxy: Bool

        /// - Parameter tls: nil for unencrypted connections.
        package init(requestBodyBytesMax: Int, tls: TLSFiles?, isBehindProxy: Bool) {
            self.requestBodyBytesMax = requestBodyBytesMax
            self.tls = tls
            self.isBehindProxy = isBehindProxy
        }
    }

    /// - Parameter delegate: must outlive the loop.
    /// - Throws: ``StartError`` if the certificate or its key is unusable.
    package init(
        index: Int, delegate: any EventLoopDelegate, wakeup: Wakeup, budget: DescriptorBudget, metrics: LoopMetrics,
        options: Options
    ) throws(StartError) {
        self.index = index
        self.delegate = delegate
        self.wakeup = wakeup
        self.budget = budget
        self.metrics = metrics
        self.options = options
        let this = Unmanaged.passUnretained(self).toOpaque()
        let context = try LibwebsocketsContext(on: wakeup.loop, tls: options.tls, callback: Self.libraryCallback, user: this)
        vhost = context.vhost
        self.context = consume context
        clibev_prepare_init(turnEndWatcher, Self.turnEndCallback, this)
        ev_prepare_start(wakeup.loop, turnEndWatcher)
        clibev_timer_init(acceptRetryTimer, Self.acceptRetryCallback, 0, Self.acceptRetrySeconds, this)
        clibev_timer_init(drainTimer, Self.drainCallback, 0, Drain.tickSeconds, this)
        clibev_timer_init(tickTimer, Self.tickCallback, 1, 1, this)
        ev_timer_start(wakeup.loop, tickTimer)
        wakeup.start(Self.wokenCallback, data: this)
    }

    deinit {
        turnEndWatcher.deallocate()
        acceptWatcher.deallocate()
        acceptRetryTimer.deallocate()
        drainTimer.deallocate()
        tickTimer.deallocate()
    }

    /// Closes the remaining connections and calls ``EventLoopDelegate/closed(_:)`` for each. Call it after ``run()``,
    /// on the loop's thread.
    package func shutDown() {
        stopListening()
        wakeup.stop()
        ev_prepare_stop(wakeup.loop, turnEndWatcher)
        ev_timer_stop(wakeup.loop, drainTimer)
        ev_timer_stop(wakeup.loop, tickTimer)
        vhost = nil  // from here on `adopt` rejects connections
        _ = context.take()
    }

    /// Runs the loop until ``stop()``.
    package func run() { ev_run(wakeup.loop, 0) }

    /// Ends ``run()`` after the current turn.
    package func stop() { ev_break(wakeup.loop, Int32(EVBREAK_ALL)) }

    // MARK: Accepting

    /// Starts accepting connections. The delegate distributes them over the loops.
    package func listen(on listener: Listener) {
        self.listener = listener
        let this = Unmanaged.passUnretained(self).toOpaque()
        clibev_io_init(acceptWatcher, Self.acceptCallback, listener.descriptor, Int32(EV_READ), this)
        ev_io_start(wakeup.loop, acceptWatcher)
    }

    /// Stops accepting and frees the port.
    package func stopListening() {
        guard let listener else { return }
        ev_io_stop(wakeup.loop, acceptWatcher)
        ev_timer_stop(wakeup.loop, acceptRetryTimer)
        listener.stop()
        self.listener = nil
    }

    private func acceptReady() {
        guard let listener else { return }
        // At most 64 per turn, so that a burst of new connections does not delay open ones.
        for _ in 0..<64 {
            guard !budget.isExhausted else { return pauseAccepting() }
            switch listener.accept() {
            case .wouldBlock: return
            case .exhausted: return pauseAccepting()
            case .accepted(let connection):
                budget.reserve()
                delegate.accepted(connection)
            }
        }
    }

    /// Stops accepting until ``retryAccepting()`` finds free descriptors.
    private func pauseAccepting() {
        ev_io_stop(wakeup.loop, acceptWatcher)
        ev_timer_again(wakeup.loop, acceptRetryTimer)
        metrics.add(to: .acceptPauses)
    }

    /// Resumes accepting if the budget allows it. A timer calls this. The alternative, that each loop notifies the
    /// accepting loop when it closes a connection, would be more complex and no better.
    private func retryAccepting() {
        guard !budget.isExhausted else { return }
        ev_timer_stop(wakeup.loop, acceptRetryTimer)
        ev_io_start(wakeup.loop, acceptWatcher)
    }

    /// Serves an accepted connection on this loop.
    package func adopt(_ connection: Listener.AcceptedSocket) {
        guard let vhost else {
            connection.drop()
            return budget.release()
        }
        guard let wsi = lws_adopt_socket_vhost(vhost, connection.descriptor) else {
            return budget.release()  // libwebsockets has closed the descriptor
        }
        SocketTag(isLoopback: connection.isLoopback, .none).store(in: wsi)
    }

    // MARK: Turns

    private func turnEnd() {
        delegate.turnEnded()
        // Closing a connection calls the delegate, which may write more frames and close more connections. So repeat
        // until nothing is left.
        while !pendingCloses.isEmpty || !readyToClose.isEmpty || !responses.isEmpty {
            writeResponses()
            closePending()
            delegate.turnEnded()
        }
        if let drain, !hasDrained, isIdle || (drain.isOver && delayedCloses.isEmpty) {
            hasDrained = true
            delegate.drained()
        }
    }

    /// Whether there are no connections and no requests.
    private var isIdle: Bool { connections.count == 0 && incomingRequests.count == 0 && pendingResponses.count == 0 }

    /// Closes the connections whose close is pending. If a connection has buffered bytes, its close frame waits for
    /// them.
    private func closePending() {
        let closes = pendingCloses
        pendingCloses.removeAll(keepingCapacity: true)
        for (socket, frame) in closes {
            let slot = socket.slot
            switch connections.state(of: socket) {
            case .closePending: break
            case .dropped:
                connections[slot].state = .closing
                end(slot, nil)
                continue
            case .open, .closing, nil: continue
            }
            connections[slot].state = .closing
            if connections[slot].isBackedUp, let frame {
                delayedCloses[slot] = DelayedClose(frame: frame)  // a close frame cannot overtake buffered bytes
            } else {
                end(slot, frame)
            }
        }
        for slot in readyToClose {
            if let close = delayedCloses.removeValue(forKey: slot) { end(slot, close.frame) }
        }
        readyToClose.removeAll(keepingCapacity: true)
    }

    /// Called once a second.
    private func tick() {
        delegate.ticked()
        for slot in delayedCloses.keys {
            delayedCloses[slot]?.secondsLeft -= 1
            if delayedCloses[slot]?.secondsLeft == 0 { end(slot, nil) }
        }
    }

    // MARK: Draining

    /// Stops accepting and closes all WebSockets with 4200, spread over `seconds` so that the clients do not all
    /// reconnect at the same time. Then calls ``EventLoopDelegate/drained()``. The loop serves HTTP requests until
    /// ``stop()``, also after it has drained: a backend connected to it may still publish to clients of other loops.
    package func drain(over seconds: Int) {
        stopListening()
        drain = Drain(connections.open.shuffled(), seconds: seconds)
        ev_timer_start(wakeup.loop, drainTimer)
    }

    private func drainTick() {
        delegate.woken()  // drains the mailbox, so that its frames are sent before the close frames
        for socket in drain?.nextWave() ?? [] {
            close(socket, Self.restart.code, reason: Self.restart.reason)
        }
    }

    /// The close frame for all WebSockets of a draining loop, including those whose upgrade
    /// request arrives during the drain.
    static let restart = CloseFrame(code: .restart, reason: "Server is restarting: connect again")

    // MARK: C callbacks

    // The callbacks are static members of a nonisolated type. A closure literal in a main-actor context would inherit
    // that isolation, and its runtime check would crash on any other thread.
    private static let turnEndCallback: clibev_prepare_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.turnEnd() }
    }
    private static let acceptCallback: clibev_io_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.acceptReady() }
    }
    private static let wokenCallback: clibev_async_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.delegate.woken() }
    }
    private static let acceptRetryCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.retryAccepting() }
    }
    private static let tickCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.tick() }
    }
    private static let drainCallback: clibev_timer_callback = { _, watcher, _ in
        withEventLoop(watcher?.pointee.data) { $0.drainTick() }
    }

    private static func withEventLoop(_ pointer: UnsafeMutableRawPointer?, _ body: (EventLoop) -> Void) {
        guard let pointer else { preconditionFailure("libev watcher without an event loop") }
        Unmanaged<EventLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }
}
