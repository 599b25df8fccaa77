import FanOut
import Fleet
import JSON
import PusherProtocol

/// Guaranteed delivery (`durable: true`): replays what the owner of a channel has missed, and finds out by pings what has
/// arrived.
extension ReplayLoop {
    /// Whether the connection is open.
    func isOpen(_ socket: SocketID) -> Bool { fanOut.socket(at: socket.slot) == socket }

    // MARK: Live notifications

    /// Performs an instruction of the hub. Owners who are replaying do not get a live notification.
    package func deliver(_ instruction: Instruction) {
        switch instruction {
        case .notify(let frame, let channel, let sequence):
            let excluded = loopReplay.table.notify(channel, sequence)
            if excluded.isEmpty {
                fanOut.apply(instruction)
            } else {
                fanOut.send(frame, toSubscribersOf: channel, exceptSlots: excluded)
            }
        case .join(let channel, let socket):
            fanOut.apply(instruction)
            joined(channel, socket)
        case .leave(let channel, let socket):
            fanOut.apply(instruction)
            loopReplay.table.unsubscribe(socket.slot, from: channel)
        default: fanOut.apply(instruction)
        }
    }

    // MARK: Subscribing

    /// Handles a subscription. That of the owner of a durable channel first waits for the cursor of the device.
    /// - Parameter isDurable: whether the channel is.
    package func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant, isDurable: Bool) {
        guard isDurable, let ownership = ownership(of: socket, on: grant.channel) else {
            return apply(.subscribe(socket, grant))
        }
        guard !loopReplay.isOpening(socket, grant.channel) else {
            let text = "Existing subscription to channel \(grant.channel.text)"
            return perform(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
        let key = ReceiptKey(channel: ownership.channel, owner: ownership.owner, device: ownership.device)
        post(opening: loopReplay.add(LoopReplay.Opening(socket: socket, grant: grant, key: key, isPosted: false)))
    }

    private func post(opening request: Int) {
        guard let opening = loopReplay.openings[request] else { return }
        // First what pongs have confirmed: the cursor must be behind it.
        postReceipts()
        let address = ReplyAddress(loop: index, request: request)
        let result = post(CursorRequest(key: opening.key, replyTo: address))
        loopReplay.setPosted(result == .queued, opening: request)
    }

    /// The store has found the cursor: the hub opens the subscription, then the replay begins.
    package func cursorFound(_ request: Int, _ cursor: Int64) {
        guard let opening = loopReplay.takeOpening(request), isOpen(opening.socket) else { return }
        loopReplay.current = (opening, cursor)
        apply(.subscribe(opening.socket, opening.grant))
        loopReplay.current = nil
    }

    /// The store could not be written: the request is repeated at the next tick.
    package func cursorNotFound(_ request: Int) { loopReplay.setPosted(false, opening: request) }

    /// The hub has added a connection to a channel.
    private func joined(_ channel: ChannelSlot, _ socket: SocketID) {
        guard let (opening, cursor) = loopReplay.current, opening.socket == socket else { return }
        let request = loopReplay.nextRequest()
        let after = loopReplay.table.subscribe(
            socket.slot, to: opening.key, as: opening.grant.channel.text, channel: channel, replay: request,
            cursor: cursor)
        loopReplay.replays[request] = LoopReplay.Replay(
            socket: socket, channel: channel, name: opening.grant.channel, key: opening.key, after: after)
        post(replay: request)
    }

    // MARK: Replaying

    private func post(replay request: Int) {
        guard let replay = loopReplay.replays[request] else { return }
        guard isOpen(replay.socket) else {
            loopReplay.replays[request] = nil
            return
        }
        // The socket paces the replay: a page is read when the one before is sent.
        let isPosted =
            !isFull(replay.socket)
            && post(
                ReplayRequest(
                    key: replay.key, after: replay.after, limit: loopReplay.pageMax, isFirst: replay.isFirst,
                    replyTo: ReplyAddress(loop: index, request: request)))
        loopReplay.replays[request]?.isPosted = isPosted
    }

    /// The store has read a page.
    /// - Parameter page: nil if the store cannot be read now. The request is repeated at the next tick.
    package func pageRead(_ request: Int, _ page: ReplayPage?) {
        guard let page else {
            loopReplay.replays[request]?.isPosted = false
            return
        }
        guard var replay = loopReplay.replays.removeValue(forKey: request), isOpen(replay.socket),
            loopReplay.table.expectsPage(of: request, replay.socket.slot, replay.channel)
        else { return }
        countReplay(notifications: page.notifications.count, gaps: page.gap == nil ? 0 : 1)
        if let gap = page.gap { fanOutDirect(gap.frame(on: replay.name), to: replay.socket) }
        for replayed in page.notifications {
            let frame = ServerMessage.event(replayed.notification.event, replay.name, data: replayed.notification.data)
            fanOutDirect(frame, to: replay.socket)
        }
        let next = loopReplay.table.replayed(
            replay.socket.slot, replay.channel, gapEnd: page.gap?.upTo,
            sequences: page.notifications.map(\.sequence), upTo: page.upTo, isLast: page.isComplete)
        guard let next else { return }
        (replay.after, replay.isFirst, replay.isPosted) = (next, false, false)
        loopReplay.replays[request] = replay
        post(replay: request)
    }

    // MARK: Confirming

    /// What is to be written to a connection instead of what is queued for it. If that contains notifications, a ping
    /// stands behind them in the same write: its pong shows that they have arrived.
    package func marked(_ frame: Frame, to socket: SocketID) -> Frame {
        guard loopReplay.table.isOwed(socket.slot) else { return frame }
        let payload = loopReplay.table.ping(socket.slot, now: unixTime, using: &random)
        return Frame(joining: [frame, .ping(payload: payload.bytes)])
    }

    /// Handles a pong.
    package func confirm(_ socket: SocketID, _ payload: UnsafeRawBufferPointer) {
        guard let payload = PingPayload(payload) else { return }
        loopReplay.receipts += loopReplay.table.confirm(socket.slot, payload, now: unixTime)
    }

    /// Sends the store what it does not know yet. If its queue is full, the next turn tries again.
    package func postReceipts() {
        guard !loopReplay.receipts.isEmpty else { return }
        if post(loopReplay.receipts) == .queued { return loopReplay.receipts.removeAll(keepingCapacity: true) }
        let excess = loopReplay.receipts.count - LoopReplay.receiptsMax
        guard excess > 0 else { return }
        loopReplay.receipts.removeFirst(excess)
        countDropped(receipts: excess)
    }

    /// Repeats some of what could not be requested before the last tick.
    package func repeatRequests() {
        for _ in 0..<LoopReplay.repeatedMax {
            guard let request = loopReplay.nextRequestToRepeat() else { return }
            if let opening = loopReplay.openings[request], !opening.isPosted {
                if isOpen(opening.socket) { post(opening: request) } else { _ = loopReplay.takeOpening(request) }
            } else if loopReplay.replays[request]?.isPosted == false {
                post(replay: request)
            }
        }
    }

    /// Once a second: reports what has not been confirmed in time, and finds what has to be requested again, for
    /// ``repeatRequests()``.
    package func replayTicked() {
        loopReplay.shrink()
        loopReplay.findRequestsToRepeat()
        let moment = unixTime - Int64(confirmSeconds) * 1_000
        loopReplay.receipts += loopReplay.table.unconfirmed(since: moment)
    }
}

extension ReplayGap {
    /// The event that announces the gap.
    fileprivate func frame(on channel: ChannelName) -> Frame {
        var json = JSONWriter()
        json.object {
            $0.member("channel", channel.text)
            $0.member("count", count)
            $0.member("from", time: from)
            $0.member("to", time: to)
        }
        return ServerMessage.event("fleetwire:gap", channel, data: json.bytes)
    }
}
