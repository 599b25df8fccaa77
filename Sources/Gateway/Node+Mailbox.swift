import FanOut
import HTTPAPI
import PusherProtocol
import Server

/// What other threads, and the hub's inputs of this loop, let the loop do.
extension Node {
    /// Applies an input, then drains this loop's mailbox (the order rule of ``SharedHub``).
    func apply(_ input: Hub.Input) {
        hub.apply(input, &threadsToWake)
        drainMailbox()
    }

    /// Performs all messages in this loop's mailbox, then what had to wait for their end.
    func drainMailbox() {
        performMessages()
        // What follows applies inputs to the hub, and each of them drains the mailbox. These inner calls leave the rest to the
        // outer one: otherwise thousands of subscriptions that open at once are as many nested calls, and overflow the stack.
        guard !isDoingDeferred else { return }
        isDoingDeferred = true
        doDeferred()
        isDoingDeferred = false
    }

    private func performMessages() {
        hub.mailboxes[index].drain(into: &messages)
        for message in messages {
            switch message {
            case .instruction(let instruction): perform(instruction)
            case .publishTaken(let time): measuredPublishes.append((time, fanOut.end))
            case .confirmPublication: publicationToConfirm = fanOut.end
            case .adopt(let connection): connectionsToAdopt.append(connection)
            case .commandReply(let reply, let request): respond(to: request) { reply.response(in: $0) }
            case .queryReply(let reply, let request): respond(to: request) { reply.response(in: $0) }
            case .response(let response, let request): respond(response, to: request)
            case .cursor(let request, let cursor): delivery.cursors.append((request, cursor))
            case .beginLife: beginLife()
            case .looked(let request): looked.append(request)
            case .subscribable(let channel, let app): waitingSubscriptions.release(channel, app: app)
            case .page(let request, let page): pageRead(request, page)
            case .keysFetched(let request, let seconds): requestsToRetry.append((request, seconds))
            case .report(let report): complete(report)
            case .drain(let seconds): loop?.drain(over: seconds)
            case .stop: loop?.stop()
            }
        }
        messages.removeAll(keepingCapacity: true)
    }

    /// Does what messages have asked for, and what may drain the mailbox: within the messages' batch, newer ones would
    /// overtake the rest of it.
    private func doDeferred() {
        repeat { while doNextDeferred() {} } while adoptConnections()
    }

    /// - Returns: false if nothing is left.
    private func doNextDeferred() -> Bool {
        if let request = requestsToRetry.popLast() {
            retry(request.id, retryAfterSeconds: request.retryAfterSeconds)
        } else if let (request, cursor) = delivery.cursors.popFirst() {
            if let cursor { cursorFound(request, cursor) } else { cursorNotFound(request) }
        } else if let (socket, grant) = waitingSubscriptions.popReleased() {
            openSubscription(socket, grant)
        } else if let request = looked.popLast() {
            decideAuthorization(of: request)
        } else {
            return false
        }
        return true
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

    private func openSubscription(_ socket: SocketID, _ grant: SubscriptionGrant) {
        guard isOpen(socket), let app = connections[socket.slot]?.app else { return }
        subscribe(socket, grant, isDurable: app.rules.policy?.owner(of: grant.channel) != nil)
        if app.index == fleet.app, fleet.trips.sendLocation(to: socket, on: grant.channel, loop: index) { drainMailbox() }
    }

    /// Adopts connections, as far as the time allows, after the messages of the batch: an adopted connection may be served,
    /// or even closed, at once. While the loop is behind, they wait.
    /// - Returns: whether it has adopted one or more, and none is left.
    private func adoptConnections() -> Bool {
        guard !connectionsToAdopt.isEmpty else { return false }
        let slice = TimeSlice()
        while loop?.isBehind == false, let connection = connectionsToAdopt.popFirst() {
            loop?.adopt(connection)
            guard !slice.isOver else {
                wakeup.signal()
                return false
            }
        }
        return connectionsToAdopt.isEmpty
    }

    func perform(_ instruction: Instruction) {
        switch instruction {
        case .close(let socket, let code):
            // The connection is closed at the end of this turn, but a flush may leave its frames to a later turn.
            fanOut.flush(socket) { write($1, to: $0) }
            loop?.close(socket, code, reason: "Terminated by the application")
        default: deliver(instruction)
        }
    }

    /// Queues a message for one connection.
    func fanOutDirect(_ frame: Frame, to socket: SocketID) { fanOut.apply(.send(frame, to: socket)) }
}
