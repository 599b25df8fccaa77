import Access
import FanOut
import HTTPAPI
import JWT
import PusherProtocol
import Server
import Threads

/// What other threads, and the hub's inputs of this loop, let the loop do.
extension Node {
    /// Applies an input, then drains this loop's mailbox (the order rule of ``SharedHub``).
    func apply(_ input: Hub.Input) {
        hub.apply(input, &threadsToWake)
        drainMailbox()
    }

    /// Applies an input of the fleet, then drains this loop's mailbox.
    func apply(_ input: FleetInput) {
        hub.apply(input, &threadsToWake)
        drainMailbox()
    }

    /// Performs all messages in this loop's mailbox.
    func drainMailbox() { _ = drainMailbox(until: .max) }

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
        case .confirmPublication: publicationToConfirm = fanOut.end
        case .adopt(let connection): loop?.adoptLater(connection)
        case .commandReply(let reply, let request): respond(to: request) { reply.response(in: $0) }
        case .queryReply(let reply, let request): respond(to: request) { reply.response(in: $0) }
        case .response(let response, let request): respond(response, to: request)
        case .cursor(let request, let cursor): later(.cursor(request: request, cursor))
        case .beginLife: beginLife()
        case .looked(let request): later(.decideAuthorization(request))
        case .subscribable(let channel, let app):
            for _ in 0..<waitingSubscriptions.count(channel, app: app) { later(.subscribe(to: channel, app: app)) }
        case .page(let request, let page): pageRead(request, page)
        case .keysFetched(let request, let seconds): later(.retry(request, afterSeconds: seconds))
        case .tokenAnswered(let request, let answer): later(.answerToken(request, answer))
        case .report(let report): complete(report)
        case .drain(let seconds, let requestSeconds, let code):
            loop?.drain(over: seconds, requestSeconds: requestSeconds, closingWith: code)
        case .stop: loop?.stop()
        }
    }

    /// What a message has asked for that applies an input to the hub, and what a tick has. Thousands may come together.
    enum Deferred {
        /// Open the subscription with this cursor; nil if the store could not be written.
        case cursor(request: Int, Int64?)
        /// Open one of the subscriptions that wait for the cluster.
        case subscribe(to: ChannelName, app: AppIndex)
        /// Open the first of the subscriptions that have waited for the sign-in.
        case openKeptName(SocketID)
        /// Decide one of ``undecidedAuthorizations``.
        case decideAuthorization(RequestID)
        /// Retry a request, because the fetch of its issuer's keys has ended.
        case retry(RequestID, afterSeconds: Int?)
        /// Route a request again with the answer about its opaque token.
        case answerToken(RequestID, AnsweredToken?)
        /// Look at connections, from this slot on.
        case checkActivity(from: Int)
        /// End further subscriptions of this rule.
        case endLegacy(pattern: String)
        /// Repeat requests to the store that it could not take.
        case repeatRequests
        /// Respond to a request that the store has not answered in time.
        case refuse(RequestID)
    }

    func later(_ work: Deferred) {
        deferred.append(work)
        loop?.performLater()
    }

    func performDeferred() {
        switch deferred.popFirst() {
        case .cursor(let request, let cursor?): cursorFound(request, cursor)
        case .cursor(let request, nil): cursorNotFound(request)
        case .subscribe(let channel, let app):
            if let (socket, grant) = waitingSubscriptions.popLast(channel, app: app) { openSubscription(socket, grant) }
        case .openKeptName(let socket): openKeptName(of: socket)
        case .decideAuthorization(let request): decideAuthorization(of: request)
        case .retry(let request, let seconds): retry(request, retryAfterSeconds: seconds)
        case .answerToken(let request, let answer): retry(request, with: answer)
        case .checkActivity(let start): checkActivity(from: start)
        case .endLegacy(let pattern): endLegacy(pattern)
        case .repeatRequests:
            repeatRequests()
            if loopReplay.hasRequestsToRepeat { later(.repeatRequests) }
        case .refuse(let request): refuseUnanswered(request)
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

    /// Whether the client is an app that never signs, and may subscribe nevertheless. One that has signed in may do what its
    /// user may.
    func isLegacy(_ grant: SubscriptionGrant, _ socket: SocketID, _ app: Application) -> Bool {
        guard connections[socket.slot]?.user == nil, let legacy = app.rules.channels?.legacy(of: grant.channel)?.legacy else {
            return false
        }
        return legacy.permits(key: app.key, address: loop?.client(of: socket)?.address, at: Clock.unixMilliseconds())
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
        subscribe(socket, grant, isDurable: app.index == fleet.app && fleet.policy.owner(of: grant.channel) != nil)
        if app.index == fleet.app, fleet.trips.sendLocation(to: socket, on: grant.channel, loop: index) { drainMailbox() }
    }

    func perform(_ instruction: Instruction) {
        switch instruction {
        case .close(let socket, let code):
            // The connection is closed at the end of this turn, but a flush may leave its frames to a later turn.
            flush(socket)
            loop?.close(socket, code, reason: "Terminated by the application")
        case .openKeptNames(let socket): later(.openKeptName(socket))
        default: deliver(instruction)
        }
    }

    /// Queues a message for one connection.
    func fanOutDirect(_ frame: Frame, to socket: SocketID) { fanOut.apply(.send(frame, to: socket)) }
}
