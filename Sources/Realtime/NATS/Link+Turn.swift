import CNats
import Threads

extension Link {
    // MARK: Commands

    /// Takes what the queue has, unless a part of the last batch still waits for the kernel.
    func takeBatch() {
        guard next == batch.count else { return }
        batch = queue.takeAll()
        next = 0
    }

    /// Buffers the batch's messages and writes them: with one write, unless they are many bytes. Then asks for the grants
    /// of its subscriptions.
    func carryOut(on session: NATSSession) {
        if next < batch.count, session.bufferedBytes <= Self.bufferMax {
            var bytes = 0
            while next < batch.count {
                bytes += carryOut(batch[next], on: session)
                next += 1
                guard bytes >= Self.sliceBytes else { continue }
                bytes = 0
                write(session)
                if session.bufferedBytes > Self.bufferMax { break }
            }
            write(session)
        }
        guard !ungranted.isEmpty else { return }
        acknowledger.request(ungranted)
        ungranted = []
    }

    /// Carries out a command.
    /// - Returns: the bytes that it buffered, about.
    private func carryOut(_ command: NATSConnection.Command, on session: NATSSession?) -> Int {
        switch command {
        case .publish(let subject, let payload):
            guard let session, session.publish(subject, payload) else {
                state.discarded.wrappingAdd(1, ordering: .relaxed)
                return 0
            }
            state.messagesOut.wrappingAdd(1, ordering: .relaxed)
            state.bytesOut.wrappingAdd(payload.count, ordering: .relaxed)
            return command.publishedBytes
        case .subscribe(let subject, let token):
            precondition(subscriptions[token] == nil, "tokens are never reused")
            let handle = session?.subscribe(subject, token: token, inbox: state.inbox)
            subscriptions[token] = Subscription(subject: subject, handle: handle)
            ungranted.append(token)
            return subject.utf8.count
        case .unsubscribe(let token):
            // Destroying a subscription unsubscribes.
            natsSubscription_Destroy(subscriptions.removeValue(forKey: token)?.handle)
            return 0
        }
    }

    /// Discards the batch's publishes, and notes its subscriptions for the next session.
    func carryOutWithoutSession() {
        while next < batch.count {
            _ = carryOut(batch[next], on: nil)
            next += 1
        }
        ungranted = []
    }

    /// Whether the server has everything that was posted, or the time for it is over.
    func isDrained(_ session: NATSSession, by deadline: Int64) -> Bool {
        if Clock.monotonicMilliseconds() >= deadline { return true }
        guard next == batch.count, queue.isEmpty else { return false }
        if !isFlushRequested {
            isFlushRequested = true
            acknowledger.requestFlush()
        }
        return acknowledger.isFlushed.load(ordering: .acquiring)
    }

    /// Ends the handles of all subscriptions. The subscriptions remain.
    func releaseSubscriptions() {
        for token in subscriptions.keys {
            natsSubscription_Destroy(subscriptions[token]?.handle)
            subscriptions[token]?.handle = nil
        }
    }

    // MARK: Events

    /// Reports what has arrived.
    func report(of session: NATSSession) {
        let inbox = state.inbox.takeAll()
        if let refusal = inbox.refusal { session.lose(refusal) }
        var events = inbox.items.compactMap { event($0, of: session) }
        spent.add(inbox.items)
        if inbox.isSlow || isSlow { events += droppedMessages() }
        guard !events.isEmpty else { return }
        session.isReporting.store(true, ordering: .relaxed)
        onEvents(events)
        session.isReporting.store(false, ordering: .relaxed)
    }

    /// An item as an event, without what concerns subscriptions that were ended meanwhile; nil if nothing is left.
    private func event(_ item: Inbox.Item, of session: NATSSession) -> NATSConnection.Event? {
        switch item {
        case .message(let token, let number, let address):
            // What cnats delivers after a session's end would be late by the time of the outage.
            guard number == session.number, subscriptions[token] != nil else { return nil }
            let payload = [UInt8](Inbox.payload(address))
            state.messagesIn.wrappingAdd(1, ordering: .relaxed)
            state.bytesIn.wrappingAdd(payload.count, ordering: .relaxed)
            return .message(token: token, payload: payload)
        case .granted(let tokens):
            let current = tokens.filter { subscriptions[$0] != nil }
            return current.isEmpty ? nil : .granted(tokens: current)
        }
    }

    /// What cnats has dropped since the last call. It tells only of the first message of a row, so the thread looks again
    /// until nothing was added.
    private func droppedMessages() -> [NATSConnection.Event] {
        var count = 0
        for (token, subscription) in subscriptions {
            guard let handle = subscription.handle else { continue }
            var dropped: Int64 = 0
            guard natsSubscription_GetDropped(handle, &dropped) == NATS_OK else { continue }
            count += Int(dropped) - subscription.dropped
            subscriptions[token]?.dropped = Int(dropped)
        }
        isSlow = count > 0
        return count > 0 ? [.dropped(count: count)] : []
    }
}
