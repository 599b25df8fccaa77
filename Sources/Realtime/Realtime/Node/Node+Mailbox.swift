import FanOut
import PusherAPI
import PusherProtocol
import Server
import Threads

/// What other threads, and the hub's inputs of this loop, let the loop do.
extension Node {
    /// Applies an input, then drains this loop's mailbox (the order rule of ``SharedHub``).
    package func apply(_ input: Hub.Input) {
        hub.apply(input, &threadsToWake)
        drainMailbox()
    }

    /// Changes the hub otherwise than by an input of its own, then drains this loop's mailbox.
    package func change(_ body: (inout Hub, inout [Hub.Effect]) -> Void) {
        hub.change(&threadsToWake, body)
        drainMailbox()
    }

    /// Performs all messages in this loop's mailbox.
    package func drainMailbox() { _ = drainMailbox(until: .max) }

    /// Performs the messages in this loop's mailbox until a moment of the monotonic clock. What applies inputs to the hub is
    /// left to the loop's agenda: each input drains the mailbox, and within this batch newer messages would overtake the rest
    /// of it.
    /// - Returns: whether all are performed. If not, the rest comes first the next time.
    func drainMailbox(until end: UInt64) -> Bool {
        guard performTaken(until: end) else { return false }
        hub.mailboxes[index].drain(into: &messages)
        return performTaken(until: end)
    }

    /// The messages that are performed between two looks at the time.
    private static let messagesPerLook = 32

    /// - Returns: whether all that was taken from the mailbox is performed.
    private func performTaken(until end: UInt64) -> Bool {
        var performed = 0
        while performedMessages < messages.count {
            let message = messages[performedMessages]
            // First, so that a message that drains the mailbox goes on with the next one.
            performedMessages += 1
            perform(message)
            performed += 1
            guard end < .max, performed.isMultiple(of: Self.messagesPerLook) else { continue }
            if performedMessages < messages.count, Clock.monotonicNanoseconds() >= end { return false }
        }
        messages.removeAll(keepingCapacity: true)
        performedMessages = 0
        return true
    }

    private func perform(_ message: LoopMessage) {
        switch message {
        case .instruction(let instruction): perform(instruction)
        case .publishTaken(let time): measuredPublishes.append((time, fanOut.end))
        case .adopt(let connection): loop?.adoptLater(connection)
        case .response(let response, let request): respond(response, to: request)
        case .beginLife: beginLife()
        case .subscribable(let channel, let app):
            for _ in 0..<waitingSubscriptions.count(channel, app: app) { later(.subscribe(to: channel, app: app)) }
        case .custom(let message): nodeExtension?.receive(message)
        case .report(let report): complete(report)
        case .drain(let seconds, let requestSeconds, let code):
            loop?.drain(over: seconds, requestSeconds: requestSeconds, closingWith: code)
        case .stop: loop?.stop()
        }
    }

    /// What a message has asked for that applies an input to the hub, and what a tick has. Thousands may come together.
    package enum Deferred {
        /// Open one of the subscriptions that wait for the cluster.
        case subscribe(to: ChannelName, app: AppIndex)
        /// Open the first of the subscriptions that have waited for the sign-in.
        case openKeptName(SocketID)
        /// Look at connections, from this slot on.
        case checkActivity(from: Int)
        /// Respond to a request that the store has not answered in time.
        case refuse(RequestID)
        /// What the extension has put off.
        case custom(any ExtensionWork)
    }

    package func later(_ work: Deferred) {
        deferred.append(work)
        loop?.performLater()
    }

    package func performDeferred() {
        switch deferred.popFirst() {
        case .subscribe(let channel, let app):
            if let (socket, grant) = waitingSubscriptions.popLast(channel, app: app) { openSubscription(socket, grant) }
        case .openKeptName(let socket): openKeptName(of: socket)
        case .checkActivity(let start): checkActivity(from: start)
        case .refuse(let request): refuseUnanswered(request)
        case .custom(let work): nodeExtension?.perform(work)
        case nil: break
        }
    }

    // MARK: Subscriptions

    /// Opens a subscription, as soon as events of other nodes reach this one.
    func requestSubscription(_ socket: SocketID, _ grant: SubscriptionGrant, to app: Application) {
        guard !hub.isSubscribable(grant.channel, app: app.index, loop: index, &threadsToWake) else {
            return openSubscription(socket, grant)
        }
        guard waitingSubscriptions.add(socket, grant, app: app.index) else {
            let text = "Existing subscription to channel \(grant.channel.text)"
            return perform(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
    }

    /// Whether the connection is open.
    package func isOpen(_ socket: SocketID) -> Bool { fanOut.socket(at: socket.slot) == socket }

    /// Whether the client is an app that never signs, and may subscribe nevertheless. One that has signed in may do what its
    /// user may.
    func isLegacy(_ grant: SubscriptionGrant, _ socket: SocketID, _ app: Application) -> Bool {
        guard connections[socket.slot]?.user == nil, let legacy = app.rules.channels?.legacy(of: grant.channel)?.legacy else {
            return false
        }
        return legacy.permits(key: app.key, address: loop?.client(of: socket)?.address, at: Clock.unixMilliseconds())
    }

    /// Cancels a subscription that is not open yet.
    /// - Returns: whether there was one.
    func cancelWaiting(_ socket: SocketID, _ channel: ChannelName, app: AppIndex) -> Bool {
        waitingSubscriptions.cancel(socket, channel, app: app) || nodeExtension?.cancels(socket, channel) == true
    }

    /// Opens a subscription that has waited for the sign-in, and later those behind it, in the order in which the client has
    /// asked for them.
    private func openKeptName(of socket: SocketID) {
        guard isOpen(socket), let app = connections[socket.slot]?.app, let grant = hub.takeKeptName(of: socket) else { return }
        requestSubscription(socket, grant, to: app)
        later(.openKeptName(socket))
    }

    private func openSubscription(_ socket: SocketID, _ grant: SubscriptionGrant) {
        guard isOpen(socket), let app = connections[socket.slot]?.app else { return }
        if nodeExtension?.takes(socket, grant, to: app) != true { apply(.subscribe(socket, grant)) }
        nodeExtension?.opened(socket, grant.channel, of: app)
    }

    func perform(_ instruction: Instruction) {
        switch instruction {
        case .close(let socket, let code):
            // The connection is closed at the end of this turn, but a flush may leave its frames to a later turn.
            flush(socket)
            loop?.close(socket, code, reason: "Terminated by the application")
        case .openKeptNames(let socket): later(.openKeptName(socket))
        case .notify, .join, .leave:
            if let nodeExtension { nodeExtension.perform(instruction) } else { fanOut.apply(instruction) }
        default: fanOut.apply(instruction)
        }
    }

    /// Queues a message for one connection.
    package func fanOutDirect(_ frame: Frame, to socket: SocketID) { fanOut.apply(.send(frame, to: socket)) }

    // MARK: Writing

    /// The number of writes after which a flush looks at the time.
    private static let writesPerLook = 64

    package func turnEnded(begunAt: UInt64) {
        wakeOtherThreads()  // first, so that they work while this thread writes
        if fanOut.isPending { flush(TimeSlice(turnBegunAt: begunAt)) }
        observeFanOuts()
        nodeExtension?.turnEnded()
        reportIfClosed()
        overloadLog.write(loopMetrics, at: now)
    }

    /// Writes events until all are written or the turn's time is over.
    private func flush(_ slice: TimeSlice) {
        while flushPart() {
            if slice.isOver { return wakeup.signal() }  // so that the loop does not sleep before the next turn
        }
    }

    /// Writes all that is queued for a connection that is about to close.
    func flush(_ socket: SocketID) {
        fanOut.flush(
            socket, while: { loop?.isWritable(socket) == true }, { send(nodeExtension?.marked($1, to: $0) ?? $1, to: $0) })
    }

    /// - Returns: whether anything is left to write.
    private func flushPart() -> Bool {
        // Asked once, because asking for each recipient would be a sixth of the instructions of a delivery.
        if let nodeExtension, nodeExtension.hasMarks {
            return fanOut.flush(writesMax: Self.writesPerLook) { send(nodeExtension.marked($1, to: $0), to: $0) }
        }
        return fanOut.flush(writesMax: Self.writesPerLook) { send($1, to: $0) }
    }

    func wakeOtherThreads() {
        hub.wake(threadsToWake, except: index)
        threadsToWake = SharedHub.ThreadsToWake()
    }

    /// Measures the publishes whose frames are all written.
    private func observeFanOuts() {
        let count = measuredPublishes.prefix { $0.end <= fanOut.writtenEnd }.count
        guard count > 0 else { return }
        let now = Clock.monotonicNanoseconds()
        for publish in measuredPublishes.prefix(count) {
            metrics.fanOuts.observe(Double(now - publish.takenAt) / 1_000_000_000)
        }
        measuredPublishes.removeFirst(count)
    }

    /// Writes to the socket.
    package func send(_ frame: Frame, to socket: SocketID) {
        if !isVoid { loop?.write(frame, to: socket) }
    }
}
