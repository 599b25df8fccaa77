import Delivery
import FanOut
import FleetRules
import JSON
import PusherProtocol
import Store

/// Guaranteed delivery (`durable: true`): replays what the owner of a channel has missed, and finds out by pings what has
/// arrived.
extension DeliveryLoop {
    /// Whether the connection is open.
    func isOpen(_ socket: SocketID) -> Bool { fanOut.socket(at: socket.slot) == socket }

    // MARK: Live notifications

    /// Performs an instruction of the hub. Owners who are replaying do not get a live notification.
    package func deliver(_ instruction: Instruction) {
        switch instruction {
        case .notify(let frame, let channel, let sequence):
            let excluded = delivery.table.notify(channel, sequence)
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
            delivery.table.unsubscribe(socket.slot, from: channel)
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
        guard !delivery.isOpening(socket, grant.channel) else {
            let text = "Existing subscription to channel \(grant.channel.text)"
            return perform(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
        let key = DeliveryKey(channel: ownership.channel, owner: ownership.owner, device: ownership.device)
        post(opening: delivery.add(LoopDelivery.Opening(socket: socket, grant: grant, key: key, isPosted: false)))
    }

    private func post(opening request: Int) {
        guard let opening = delivery.openings[request] else { return }
        // First what pongs have confirmed: the cursor must be behind it.
        postReceipts()
        let address = ReplyAddress(loop: index, request: request)
        let result = post(CursorRequest(key: opening.key, replyTo: address))
        delivery.setPosted(result == .queued, opening: request)
    }

    /// The store has found the cursor: the hub opens the subscription, then the replay begins.
    package func cursorFound(_ request: Int, _ cursor: Int64) {
        guard let opening = delivery.takeOpening(request), isOpen(opening.socket) else { return }
        delivery.current = (opening, cursor)
        apply(.subscribe(opening.socket, opening.grant))
        delivery.current = nil
    }

    /// The store could not be written: the request is repeated at the next tick.
    package func cursorNotFound(_ request: Int) { delivery.setPosted(false, opening: request) }

    /// The hub has added a connection to a channel.
    private func joined(_ channel: ChannelSlot, _ socket: SocketID) {
        guard let (opening, cursor) = delivery.current, opening.socket == socket else { return }
        let request = delivery.nextRequest()
        let after = delivery.table.subscribe(
            socket.slot, to: opening.key, as: opening.grant.channel.text, channel: channel, replay: request,
            cursor: cursor)
        delivery.replays[request] = LoopDelivery.Replay(
            socket: socket, channel: channel, name: opening.grant.channel, key: opening.key, after: after)
        post(replay: request)
    }

    // MARK: Replaying

    private func post(replay request: Int) {
        guard let replay = delivery.replays[request] else { return }
        guard isOpen(replay.socket) else {
            delivery.replays[request] = nil
            return
        }
        // The socket paces the replay: a page is read when the one before is sent.
        let isPosted =
            !isFull(replay.socket)
            && post(
                ReplayRequest(
                    key: replay.key, after: replay.after, limit: delivery.pageMax, isFirst: replay.isFirst,
                    replyTo: ReplyAddress(loop: index, request: request)))
        delivery.replays[request]?.isPosted = isPosted
    }

    /// The store has read a page.
    /// - Parameter page: nil if the store cannot be read now. The request is repeated at the next tick.
    package func pageRead(_ request: Int, _ page: ReplayPage?) {
        guard let page else {
            delivery.replays[request]?.isPosted = false
            return
        }
        guard var replay = delivery.replays.removeValue(forKey: request), isOpen(replay.socket),
            delivery.table.expectsPage(of: request, replay.socket.slot, replay.channel)
        else { return }
        countReplay(notifications: page.notifications.count, gaps: page.gap == nil ? 0 : 1)
        if let gap = page.gap { fanOutDirect(gap.frame(on: replay.name), to: replay.socket) }
        for replayed in page.notifications {
            let frame = ServerMessage.event(replayed.notification.event, replay.name, data: replayed.notification.data)
            fanOutDirect(frame, to: replay.socket)
        }
        let next = delivery.table.replayed(
            replay.socket.slot, replay.channel, gapEnd: page.gap?.upTo,
            sequences: page.notifications.map(\.sequence), upTo: page.upTo, isLast: page.isComplete)
        guard let next else { return }
        (replay.after, replay.isFirst, replay.isPosted) = (next, false, false)
        delivery.replays[request] = replay
        post(replay: request)
    }

    // MARK: Confirming

    /// Writes what is queued for a connection. If that contains notifications, a ping stands behind them in the same
    /// write: its pong shows that they have arrived.
    package func write(_ frame: Frame, to socket: SocketID) {
        guard delivery.table.isOwed(socket.slot) else { return send(frame, to: socket) }
        let payload = delivery.table.ping(socket.slot, now: unixTime, using: &random)
        send(Frame(joining: [frame, .ping(payload: payload.bytes)]), to: socket)
    }

    /// Handles a pong.
    package func confirm(_ socket: SocketID, _ payload: UnsafeRawBufferPointer) {
        guard let payload = PingPayload(payload) else { return }
        delivery.receipts += delivery.table.confirm(socket.slot, payload, now: unixTime)
    }

    /// Sends the store what it does not know yet. If its queue is full, the next turn tries again.
    package func postReceipts() {
        guard !delivery.receipts.isEmpty else { return }
        if post(delivery.receipts) == .queued { return delivery.receipts.removeAll(keepingCapacity: true) }
        let excess = delivery.receipts.count - LoopDelivery.receiptsMax
        guard excess > 0 else { return }
        delivery.receipts.removeFirst(excess)
        countDropped(receipts: excess)
    }

    /// Repeats some of what could not be requested before the last tick.
    package func repeatRequests() {
        for _ in 0..<LoopDelivery.repeatedMax {
            guard let request = delivery.nextRequestToRepeat() else { return }
            if let opening = delivery.openings[request], !opening.isPosted {
                if isOpen(opening.socket) { post(opening: request) } else { _ = delivery.takeOpening(request) }
            } else if delivery.replays[request]?.isPosted == false {
                post(replay: request)
            }
        }
    }

    /// Once a second: reports what has not been confirmed in time, and finds what has to be requested again, for
    /// ``repeatRequests()``.
    package func deliveryTicked() {
        delivery.shrink()
        delivery.findRequestsToRepeat()
        let moment = unixTime - Int64(confirmSeconds) * 1_000
        delivery.receipts += delivery.table.unconfirmed(since: moment)
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
