import CLibev
import CLibwebsockets
import HTTPAPI
import PusherProtocol

/// One thread's event loop: a library context, its WebSockets and their outboxes.
///
/// A turn of the loop: whatever is ready calls the owner, which notes what to send; before the loop sleeps again,
/// `turnEnded` sends it. Connections to be closed wait for that moment too, so that no callback of the library finds its
/// own connection freed under it.
package final class EventLoop {
    let index: Int
    unowned let owner: any SocketOwner
    let options: Options
    let budget: DescriptorBudget
    private let wakeup: Wakeup
    private var context: LibwebsocketsContext?
    private let watchers = UnsafeMutablePointer<Watchers>.allocate(capacity: 1)
    private static let acceptRetrySeconds = 0.1
    private var listener: Listener?
    private var drain: Drain?

    var connections = ConnectionTable()
    private var outboxes: [Int: Outbox] = [:]
    private var leaving: [(socket: SocketID, goodbye: Goodbye?)] = []
    /// Messages that come in several chunks, until they are whole.
    var chunks: [Int: [UInt8]] = [:]
    var requests = RequestTable()
    var responseBytes: [UInt8] = []
    /// What has been counted since the owner last took it.
    package var tally = Tally()

    /// What a connection is told as it is closed.
    struct Goodbye {
        let code: CloseCode
        let reason: String
    }

    /// libev's handles, in memory that does not move.
    private struct Watchers {
        var prepare = ev_prepare()
        var accept = ev_io()
        var acceptRetry = ev_timer()
        var drain = ev_timer()
        var tick = ev_timer()
    }

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

    /// - Parameter owner: whose sockets they are; it outlives the loop.
    /// - Throws: ``TLSError`` when the certificate or its key cannot be used.
    package init(index: Int, owner: any SocketOwner, wakeup: Wakeup, budget: DescriptorBudget, options: Options) throws(TLSError) {
        self.index = index
        self.owner = owner
        self.wakeup = wakeup
        self.budget = budget
        self.options = options
        watchers.initialize(to: Watchers())
        let this = Unmanaged.passUnretained(self).toOpaque()
        context = try LibwebsocketsContext(on: wakeup.loop, tls: options.tls, callback: Self.libraryCallback, owner: this)
        clibev_prepare_init(&watchers.pointee.prepare, Self.turnEndCallback, this)
        ev_prepare_start(wakeup.loop, &watchers.pointee.prepare)
        clibev_timer_init(&watchers.pointee.acceptRetry, Self.acceptRetryCallback, 0, Self.acceptRetrySeconds, this)
        clibev_timer_init(&watchers.pointee.drain, Self.drainCallback, 0, Drain.tickSeconds, this)
        clibev_timer_init(&watchers.pointee.tick, Self.tickCallback, 1, 1, this)
        ev_timer_start(wakeup.loop, &watchers.pointee.tick)
        wakeup.start(Self.wokenCallback, data: this)
    }

    deinit { watchers.deallocate() }

    /// Closes everything that is left, calling the owner once more for each; after ``run()``, on the loop's thread.
    package func shutDown() {
        stopListening()
        wakeup.stop()
        ev_prepare_stop(wakeup.loop, &watchers.pointee.prepare)
        ev_timer_stop(wakeup.loop, &watchers.pointee.drain)
        ev_timer_stop(wakeup.loop, &watchers.pointee.tick)
        context = nil
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
        clibev_io_init(&watchers.pointee.accept, Self.acceptCallback, listener.descriptor, Int32(EV_READ), this)
        ev_io_start(wakeup.loop, &watchers.pointee.accept)
    }

    /// Stops accepting for good and gives the port back.
    package func stopListening() {
        guard let listener else { return }
        ev_io_stop(wakeup.loop, &watchers.pointee.accept)
        ev_timer_stop(wakeup.loop, &watchers.pointee.acceptRetry)
        listener.stop()
        self.listener = nil
    }

    private func acceptReady() {
        guard let listener else { return }
        // Not without end: those already connected have a turn, too.
        for _ in 0..<64 {
            guard !budget.isExhausted else { return pauseAccepting() }
            switch listener.accept() {
            case .nobody: return
            case .exhausted: return pauseAccepting()
            case .accepted(let connection):
                budget.take()
                owner.accepted(connection)
            }
        }
    }

    private func pauseAccepting() {
        ev_io_stop(wakeup.loop, &watchers.pointee.accept)
        ev_timer_again(wakeup.loop, &watchers.pointee.acceptRetry)
        tally.acceptPauses += 1
    }

    /// Looking now and then is simpler than being told by every loop that closes something, and as good.
    private func retryAccepting() {
        guard !budget.isExhausted else { return }
        ev_timer_stop(wakeup.loop, &watchers.pointee.acceptRetry)
        ev_io_start(wakeup.loop, &watchers.pointee.accept)
    }

    /// Takes a connection over, on whatever loop accepted it.
    package func adopt(_ connection: Listener.Accepted) {
        guard let context = vhost, let wsi = lws_adopt_socket_vhost(context, connection.descriptor) else {
            // The library has closed the descriptor.
            budget.giveBack()
            return
        }
        Word(isLoopback: connection.isLoopback, role: .none).store(in: wsi)
    }

    private var vhost: OpaquePointer? { context?.vhost }

    // MARK: Writing

    /// Sends `frame`, or keeps it while the socket is backed up. Beyond its bound the connection is dropped without a
    /// close frame: none can pass a full buffer. A connection that has gone is ignored.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard connections.isOpen(socket) else { return }
        let slot = socket.slot
        if connections[slot].isBackedUp {
            enqueue(frame, slot)
        } else {
            writeNow(frame, slot)
        }
    }

    private func writeNow(_ frame: Frame, _ slot: Int) {
        let wsi = connections[slot].wsi
        let written = frame.bytes.withUnsafeBytes { clws_write_raw(wsi, $0.baseAddress, $0.count) }
        guard written >= 0 else { return drop(slot) }
        tally.messagesSent += frame.messageCount
        tally.bytesSent += frame.bytes.count
        // What the kernel did not take the library keeps, without a bound: nothing follows until that is gone.
        if lws_partial_buffered(wsi) != 0 {
            connections[slot].isBackedUp = true
            lws_callback_on_writable(wsi)
        }
    }

    private func enqueue(_ frame: Frame, _ slot: Int) {
        switch outboxes[slot, default: Outbox()].enqueue(frame, bytesMax: Int(connections[slot].outboxBytesMax)) {
        case .queued: tally.outboxBytes += frame.bytes.count
        case .overflow:
            tally.slowConsumers += 1
            drop(slot)
        }
    }

    /// The socket takes more again.
    func writable(_ slot: Int) {
        guard connections[slot].state == .open else { return }
        connections[slot].isBackedUp = false
        while !connections[slot].isBackedUp, connections[slot].state == .open, let frame = outboxes[slot]?.next() {
            tally.outboxBytes -= frame.bytes.count
            writeNow(frame, slot)
        }
        if outboxes[slot]?.isEmpty == true { outboxes[slot] = nil }
        if !connections[slot].isBackedUp, let goodbye = drain?.waiting.removeValue(forKey: slot) {
            leave(slot, goodbye)
        }
    }

    // MARK: Closing

    /// Says goodbye to a connection, behind everything already written to it.
    package func close(_ socket: SocketID, _ code: CloseCode, reason: String) {
        guard connections.isOpen(socket) else { return }
        leave(socket.slot, Goodbye(code: code, reason: reason))
    }

    /// Ends a connection without a word.
    private func drop(_ slot: Int) { leave(slot, nil) }

    private func leave(_ slot: Int, _ goodbye: Goodbye?) {
        connections[slot].state = .closing
        leaving.append((connections[slot].socket, goodbye))
        if let goodbye { tally.closes[goodbye.code, default: 0] += 1 }
    }

    private func turnEnd() {
        owner.turnEnded()
        // Closing calls back, and may add to the list.
        while let (socket, goodbye) = leaving.popLast() {
            guard let wsi = connections.handle(of: socket) else { continue }
            if let goodbye {
                let reason = Array(goodbye.reason.utf8.prefix(123))  // RFC 6455 5.5: a control frame holds 125 bytes
                clws_close_reason(wsi, Int32(goodbye.code.rawValue), reason, reason.count)
            }
            clws_kill_now(wsi)
        }
        if let drain, drain.isOver || connections.count == 0 { stop() }
    }

    /// Forgets a connection that the library has closed.
    func forget(_ slot: Int) {
        if let outbox = outboxes.removeValue(forKey: slot) { tally.outboxBytes -= outbox.bytes }
        chunks[slot] = nil
        drain?.waiting[slot] = nil
        connections.remove(slot: slot)
    }

    // MARK: Draining

    /// Closes everybody with 4200, spread over `seconds` so that they do not all come back at once, then stops the loop.
    package func drain(over seconds: Int) {
        stopListening()
        drain = Drain(connections.open.shuffled(), seconds: seconds)
        ev_timer_start(wakeup.loop, &watchers.pointee.drain)
    }

    private func drainTick() {
        for socket in drain?.nextWave() ?? [] where connections.isOpen(socket) {
            let goodbye = Goodbye(code: .restart, reason: "Server is restarting: connect again")
            if connections[socket.slot].isBackedUp {
                drain?.waiting[socket.slot] = goodbye
            } else {
                leave(socket.slot, goodbye)
            }
        }
    }

    // MARK: What C calls

    // Statics of a nonisolated type: literals in a main-actor context crash when another thread calls them.
    private static let turnEndCallback: clibev_prepare_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.turnEnd() }
    }
    private static let acceptCallback: clibev_io_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.acceptReady() }
    }
    private static let wokenCallback: clibev_async_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.owner.woken() }
    }
    private static let acceptRetryCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.retryAccepting() }
    }
    private static let tickCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.owner.ticked() }
    }
    private static let drainCallback: clibev_timer_callback = { _, watcher, _ in
        recover(watcher?.pointee.data) { $0.drainTick() }
    }

    private static func recover(_ pointer: UnsafeMutableRawPointer?, _ body: (EventLoop) -> Void) {
        guard let pointer else { preconditionFailure("a watcher without its loop") }
        Unmanaged<EventLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }
}
