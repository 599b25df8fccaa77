import PusherProtocol

/// What a turn does: see ``Agenda``.
extension EventLoop {
    /// A piece of work that waits for its turn. What a connection's is about may have closed meanwhile.
    enum Work {
        /// Read what a connection has sent.
        case read(SocketID)
        /// Write to a socket that accepts bytes again.
        case write(SocketID)
        /// Go on with a request as another thread has decided.
        indirect case decide(RequestID, HeadDecision)
        case accept
        case adopt(Listener.AcceptedSocket)
        /// Send a WebSocket its close frame.
        case close(SocketID, CloseFrame)
        /// Close a connection, whatever is unsent.
        case drop(SocketID)
        /// Look at a client that was above its rate of messages.
        case resume(SocketID)
        /// ``EventLoop/tick()``
        case tick
        /// End connections whose deadlines have passed.
        case expire
        /// ``EventLoopDelegate/performDeferred()``
        case deferred
    }

    /// The time, in nanoseconds, in which a connection is read at once, while none waits: one that sends fast has no
    /// advantage over the others.
    private static let visit: UInt64 = 500_000
    /// The same for a connection that has waited because it had sent much: others wait, too.
    private static let laterVisit: UInt64 = 20_000
    /// How much is received of a connection that has waited, in bytes: what is not handled at once has to be kept.
    private static let laterReceiveBytes = 4_096
    /// A connection of which more is kept than this, in bytes, may need much time with its next byte.
    private static let smallBytes = 2_048
    /// The connections that ``expire()`` ends at once.
    private static let expiriesMax = 16

    func performAgenda() {
        guard !agenda.isEmpty else { return }
        while let (work, kind) = agenda.next(at: clock()) { perform(work, kind) }
    }

    private func perform(_ work: Work, _ kind: Agenda<Work>.Kind) {
        // After a response or a piece of the outbox, a connection gets one step.
        visitEnd = 0
        switch work {
        case .read(let socket):
            guard let phase = connections.phase(of: socket), phase != .dropped, !isStopping else { return }
            if kind == .bulk { visitEnd = clock() + Self.laterVisit }
            read(socket.slot, countMax: Self.laterReceiveBytes)
        case .write(let socket):
            if let phase = connections.phase(of: socket), phase != .dropped { writeOutbox(socket.slot) }
        case .decide(let id, let decision): apply(decision, to: id)
        case .accept: accept()
        case .adopt(let connection): adopt(connection)
        case .close(let socket, let frame):
            guard let phase = connections.phase(of: socket) else { return }
            if phase == .closePending || phase == .closing && connections[socket.slot].isSlow { sendClose(frame, socket.slot) }
        case .drop(let socket):
            // A connection may have been closed by the library since.
            if connections.phase(of: socket) == .dropped { transport.close(connections[socket.slot].transport) }
        case .resume(let socket): if !isStopping { resume(socket) }
        case .tick: tick()
        case .expire: if !isStopping { expire() }
        case .deferred: delegate.performDeferred()
        }
    }

    /// Calls ``EventLoopDelegate/performDeferred()`` at the end of this turn or a later one.
    package func performLater() { agenda.add(.deferred, .change) }

    // MARK: Ready sockets

    func readable(_ slot: Int) {
        guard connections.isOccupied(slot), !connections[slot].isReadingPaused else { return }
        let (kind, now) = (kindOfReading(slot), clock())
        // Handshakes come last in a turn, because requests are shorter.
        guard kind != .change, agenda.permits(kind, at: now) else { return wait(slot, kind) }
        visitEnd = now + Self.visit
        read(slot, countMax: Transport.receiveBytes)
    }

    func writable(_ slot: Int) {
        guard connections.isOccupied(slot), connections[slot].phase != .dropped else { return }
        let now = clock()
        guard agenda.permits(.bulk, at: now) else { return agenda.add(.write(connections[slot].socket), .bulk) }
        visitEnd = now
        writeOutbox(slot)
    }

    /// Reads no more of a connection until its turn comes.
    func wait(_ slot: Int, _ kind: Agenda<Work>.Kind) {
        guard !connections[slot].awaitsTurn else { return }
        connections[slot].awaitsTurn = true
        agenda.add(.read(connections[slot].socket), kind)
        updateReading(slot)
    }

    /// What reading the connection may cost.
    private func kindOfReading(_ slot: Int) -> Agenda<Work>.Kind {
        if transport.isHandshaking(slot) { return .change }
        let ofMessage = decoders.isEmpty ? 0 : decoders[slot]?.keptByteCount ?? 0
        let ofRequest = readings.isEmpty ? 0 : readings[slot]?.bytes.count ?? 0
        return ofMessage + ofRequest > Self.smallBytes ? .bulk : .step
    }

    /// Reads what is left of what a connection has sent before, or else receives from it.
    private func read(_ slot: Int, countMax: Int) {
        connections[slot].awaitsTurn = false
        if !continueRest(slot), !mustPause(slot) {
            transport.receive(on: slot, connections[slot].transport, countMax: countMax)
        }
        if transport.hasUnread(slot), !mustPause(slot) { wait(slot, .bulk) }
        updateReading(slot)
    }

    /// - Returns: whether anything was left.
    private func continueRest(_ slot: Int) -> Bool {
        if connections[slot].isWebSocket { return continueFrames(slot) }
        guard connections[slot].hasRest else { return false }
        connections[slot].hasRest = false
        continueRequests(slot)
        return true
    }

    // MARK: Once a second

    func tick() {
        delegate.ticked()
        options.certificates?.renewTicketKeys()
        lookAtThrottled()
        deadlines.tick()
        guard !awaitsExpiry else { return }
        awaitsExpiry = true
        agenda.add(.expire, .change)
    }

    /// Ends connections whose deadlines have passed, a few at once.
    private func expire() {
        for _ in 0..<Self.expiriesMax {
            guard let (slot, kind) = deadlines.nextExpired(&connections) else {
                awaitsExpiry = false
                return
            }
            switch kind {
            case .handshake, .head, .body:
                // What has arrived in time, and only waits for its turn, is not late.
                if connections[slot].awaitsTurn {
                    deadlines.set(kind, slot, &connections)
                    continue
                }
                delegate.limitReached(.requestSeconds)
                if kind != .handshake, connections[slot].phase == .http { requestTimedOut(slot) } else { drop(slot) }
            case .outbox: giveUp(slot)
            case .idle where connections[slot].isFull: giveUp(slot)
            case .idle, .close: drop(slot)
            }
        }
        agenda.add(.expire, .change)
    }
}
