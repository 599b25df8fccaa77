import CLibev
import CLibwebsockets
import HTTP
import Observability
import PusherProtocol

/// One thread's event loop: a library context, its WebSockets and their outboxes.
///
/// A turn of the loop: whatever is ready calls the owner, which notes what to send; before the loop sleeps again,
/// `turnEnded` sends it. Connections to be closed wait for that moment too, so that no callback of the library finds its
/// own connection freed under it.
package final class EventLoop {
    let index: Int
    unowned let delegate: any EventLoopDelegate
    let options: Options
    let budget: DescriptorBudget
    let counters: LoopCounters
    private let wakeup: Wakeup
    private var context: LibwebsocketsContext?
    /// What connections are adopted into; nil once the loop shuts down.
    private var vhost: OpaquePointer?
    private static let acceptRetrySeconds = 0.1
    private var listener: Listener?
    private(set) var drain: Drain?
    private var hasDrained = false

    var connections = ConnectionTable()
    var outboxes: [Int: Outbox] = [:]
    /// Connections to be closed at the end of this turn.
    var closePending: [(socket: SocketID, goodbye: CloseFrame?)] = []
    /// Those with bytes still buffered, by slot, until these are gone.
    var delayedCloses: [Int: DelayedClose] = [:]
    /// Those of them whose bytes went in this turn.
    var drained: [Int] = []
    /// Messages that come in several chunks, until they are whole.
    var chunks: [Int: [UInt8]] = [:]
    var incomingRequests = IncomingRequests()
    /// Requests whose answers come from other threads.
    var pendingResponses = PendingResponses()
    /// Answers that have come in this turn.
    var answers: [(id: RequestID, response: HTTPResponse)] = []
    var correlationIDs = CorrelationIDs()
    var responseBytes: [UInt8] = []

    /// What a connection is told as it is closed.
    struct CloseFrame {
        let code: CloseCode
        let reason: String
    }

    /// A goodbye that cannot be said yet, and how long it is worth waiting for.
    struct DelayedClose {
        let frame: CloseFrame
        var secondsLeft = 10
    }

    /// libev's handles, in memory that does not move, for libev keeps their addresses.
    private let prepare = UnsafeMutablePointer<ev_prepare>.allocate(capacity: 1)
    private let accept = UnsafeMutablePointer<ev_io>.allocate(capacity: 1)
    private let acceptRetry = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let draining = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    private let ticking = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)

    /// What all loops of a server have in common.
    package struct Options: Sendable {
        /// Beyond it a request is refused with 413 before its body is read.
        package let requestBodyBytesMax: Int
        /// Nil: plain.
        package let tls: TLSFiles?
        /// Whether the `X-Forwarded-Proto` of a proxy in front is believed.
        package let isBehindProxy: Bool

        package init(requestBodyBytesMax: Int, tls: TLSFiles?, isBehindProxy: Bool) {
            self.requestBodyBytesMax = requestBodyBytesMax
            self.tls = tls
            self.isBehindProxy = isBehindProxy
        }
    }

    /// - Parameter delegate: must outlive the loop.
    /// - Throws: ``StartError`` when the certificate or its key cannot be used.
    package init(
        index: Int, delegate: any EventLoopDelegate, wakeup: Wakeup, budget: DescriptorBudget, counters: LoopCounters,
        options: Options
    ) throws(StartError) {
        self.index = index
        self.delegate = delegate
        self.wakeup = wakeup
        self.budget = budget
        self.counters = counters
        self.options = options
        let this = Unmanaged.passUnretained(self).toOpaque()
        let context = try LibwebsocketsContext(on: wakeup.loop, tls: options.tls, callback: Self.libraryCallback, owner: this)
        vhost = context.vhost
        self.context = consume context
        clibev_prepare_init(prepare, Self.turnEndCallback, this)
        ev_prepare_start(wakeup.loop, prepare)
        clibev_timer_init(acceptRetry, Self.acceptRetryCallback, 0, Self.acceptRetrySeconds, this)
        clibev_timer_init(draining, Self.drainCallback, 0, Drain.tickSeconds, this)
        clibev_timer_init(ticking, Self.tickCallback, 1, 1, this)
        ev_timer_start(wakeup.loop, ticking)
        wakeup.start(Self.wokenCallback, data: this)
    }

    deinit {
        prepare.deallocate()
        accept.deallocate()
        acceptRetry.deallocate()
        draining.deallocate()
        ticking.deallocate()
    }

    /// Closes everything that is left, calling the owner once more for each; after ``run()``, on the loop's thread.
    package func shutDown() {
        stopListening()
        wakeup.stop()
        ev_prepare_stop(wakeup.loop, prepare)
        ev_timer_stop(wakeup.loop, draining)
        ev_timer_stop(wakeup.loop, ticking)
        vhost = nil  // nothing is adopted from here on
        _ = context.take()
    }

    /// Serves until ``stop()``.
    package func run() { ev_run(wakeup.loop, 0) }

    /// Ends ``run()`` after this turn.
    package func stop() { ev_break(wakeup.loop, Int32(EVBREAK_ALL)) }

    // MARK: Accepting

    /// Starts accepting; new connections go to the owner, which spreads them over the loops.
    package func listen(on listener: Listener) {
        self.listener = listener
        let this = Unmanaged.passUnretained(self).toOpaque()
        clibev_io_init(accept, Self.acceptCallback, listener.descriptor, Int32(EV_READ), this)
        ev_io_start(wakeup.loop, accept)
    }

    /// Stops accepting for good and gives the port back.
    package func stopListening() {
        guard let listener else { return }
        ev_io_stop(wakeup.loop, accept)
        ev_timer_stop(wakeup.loop, acceptRetry)
        listener.stop()
        self.listener = nil
    }

    private func acceptReady() {
        guard let listener else { return }
        // Not without end: those already connected have a turn, too.
        for _ in 0..<64 {
            guard !budget.isExhausted else { return pauseAccepting() }
            switch listener.accept() {
            case .wouldBlock: return
            case .exhausted: return pauseAccepting()
            case .accepted(let connection):
                budget.take()
                delegate.accepted(connection)
            }
        }
    }

    private func pauseAccepting() {
        ev_io_stop(wakeup.loop, accept)
        ev_timer_again(wakeup.loop, acceptRetry)
        counters.add(to: .acceptPauses)
    }

    /// Looking now and then is simpler than being told by every loop that closes something, and as good.
    private func retryAccepting() {
        guard !budget.isExhausted else { return }
        ev_timer_stop(wakeup.loop, acceptRetry)
        ev_io_start(wakeup.loop, accept)
    }

    /// Takes a connection over, on whatever loop accepted it.
    package func adopt(_ connection: Listener.AcceptedSocket) {
        guard let vhost else {
            connection.drop()
            return budget.release()
        }
        guard let wsi = lws_adopt_socket_vhost(vhost, connection.descriptor) else {
            return budget.release()  // the library has closed the descriptor
        }
        SocketTag(isLoopback: connection.isLoopback, role: .none).store(in: wsi)
    }

    // MARK: Turns

    private func turnEnd() {
        delegate.turnEnded()
        // Closing calls the owner back, which may note more to send and to close.
        while !closePending.isEmpty || !drained.isEmpty || !answers.isEmpty {
            writeAnswers()
            writeCloseFrames()
            delegate.turnEnded()
        }
        if let drain, !hasDrained, isEmpty || (drain.isOver && delayedCloses.isEmpty) {
            hasDrained = true
            delegate.drained()
        }
    }

    /// Whether nobody is left to wait for.
    private var isEmpty: Bool { connections.count == 0 && incomingRequests.count == 0 && pendingResponses.count == 0 }

    private func writeCloseFrames() {
        let leaving = closePending
        self.closePending.removeAll(keepingCapacity: true)
        for (socket, goodbye) in leaving {
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
            if connections[slot].isBackedUp, let goodbye {
                delayedCloses[slot] = DelayedClose(frame: goodbye)  // a close frame cannot overtake what is buffered
            } else {
                end(slot, goodbye)
            }
        }
        for slot in drained {
            if let waiting = delayedCloses.removeValue(forKey: slot) { end(slot, waiting.frame) }
        }
        drained.removeAll(keepingCapacity: true)
    }

    private func tick() {
        delegate.ticked()
        for slot in delayedCloses.keys {
            delayedCloses[slot]?.secondsLeft -= 1
            if delayedCloses[slot]?.secondsLeft == 0 { end(slot, nil) }
        }
    }

    // MARK: Draining

    /// Closes everybody with 4200, spread over `seconds` so that they do not all come back at once, then tells the owner.
    /// Until that stops the loop, requests are answered: other loops may still have work for a minute.
    package func drain(over seconds: Int) {
        stopListening()
        drain = Drain(connections.open.shuffled(), seconds: seconds)
        ev_timer_start(wakeup.loop, draining)
    }

    private func drainTick() {
        delegate.woken()  // what was said to them before comes before the goodbye
        for socket in drain?.nextWave() ?? [] {
            close(socket, Self.restart.code, reason: Self.restart.reason)
        }
    }

    /// What everybody hears who is here, or still comes, while the loop drains.
    static let restart = CloseFrame(code: .restart, reason: "Server is restarting: connect again")

    // MARK: What C calls

    // Statics of a nonisolated type: literals in a main-actor context crash when another thread calls them.
    private static let turnEndCallback: clibev_prepare_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.turnEnd() }
    }
    private static let acceptCallback: clibev_io_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.acceptReady() }
    }
    private static let wokenCallback: clibev_async_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.delegate.woken() }
    }
    private static let acceptRetryCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.retryAccepting() }
    }
    private static let tickCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.tick() }
    }
    private static let drainCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.drainTick() }
    }

    private static func recover(_ pointer: UnsafeMutableRawPointer?, _ body: (EventLoop) -> Void) {
        guard let pointer else { preconditionFailure("a watcher without its loop") }
        Unmanaged<EventLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }
}
