import Delivery
import FanOut
import FleetRules
import JSON
import PusherProtocol
import Server
import Store
import Threads

/// Guaranteed delivery (`durable: true`): replays what the owner of a channel has missed, and finds out by pings what has
/// arrived.
extension Node {
    /// Notifications per page of a replay.
    private static let pageMax = 100
    /// The most receipts that wait for the store's queue.
    private static let receiptsMax = 10_000

    // MARK: Subscribing

    /// Handles a subscription. That of the owner of a durable channel first waits for the cursor of the device.
    /// - Parameter isDurable: whether the channel is.
    func subscribe(_ socket: SocketID, _ grant: SubscriptionGrant, isDurable: Bool) {
        guard isDurable, let ownership = hub.read({ $0.ownership(of: socket, on: grant.channel) }) else {
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
        let address = ReplyAddress(loop: index, request: request)
        let result = fleet.post(CursorRequest(key: opening.key, replyTo: address))
        delivery.setPosted(result == .queued, opening: request)
    }

    /// The store has found the cursor: the hub opens the subscription, then the replay begins.
    func cursorFound(_ request: Int, _ cursor: Int64) {
        guard let opening = delivery.takeOpening(request), isOpen(opening.socket) else { return }
        delivery.current = (opening, cursor)
        apply(.subscribe(opening.socket, opening.grant))
        delivery.current = nil
    }

    /// The store could not be written: the request is repeated at the next tick.
    func cursorNotFound(_ request: Int) { delivery.setPosted(false, opening: request) }

    /// The hub has added a connection to a channel.
    func joined(_ channel: ChannelSlot, _ socket: SocketID) {
        guard let (opening, cursor) = delivery.current, opening.socket == socket else { return }
        let after = delivery.table.subscribe(socket.slot, to: opening.key, channel: channel, cursor: cursor)
        let request = delivery.nextRequest()
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
        let mayRead = loop?.isFull(replay.socket) != true
        delivery.replays[request]?.isPosted =
            mayRead
            && fleet.post(
                ReplayRequest(
                    key: replay.key, after: replay.after, limit: Self.pageMax, isFirst: replay.isFirst,
                    replyTo: ReplyAddress(loop: index, request: request)))
    }

    /// The store has read a page.
    /// - Parameter page: nil if the store cannot be read now. The request is repeated at the next tick.
    func pageRead(_ request: Int, _ page: ReplayPage?) {
        guard let page else {
            delivery.replays[request]?.isPosted = false
            return
        }
        guard var replay = delivery.replays.removeValue(forKey: request), isOpen(replay.socket),
            delivery.table.expectsPage(after: replay.after, replay.socket.slot, replay.channel, replay.key)
        else { return }
        if let gap = page.gap {
            loopMetrics.add(to: .gaps)
            fanOutDirect(gap.frame(on: replay.name), to: replay.socket)
        }
        loopMetrics.add(page.notifications.count, to: .replayedNotifications)
        for replayed in page.notifications {
            let frame = ServerMessage.event(replayed.notification.event, replay.name, data: replayed.notification.data)
            fanOutDirect(frame, to: replay.socket)
        }
        let next = delivery.table.replayed(
            replay.socket.slot, replay.channel, replay.key, gapEnd: page.gap?.upTo,
            sequences: page.notifications.map(\.sequence), upTo: page.upTo, isLast: page.isComplete)
        guard let next else { return }
        (replay.after, replay.isFirst, replay.isPosted) = (next, false, false)
        delivery.replays[request] = replay
        post(replay: request)
    }

    // MARK: Confirming

    /// Writes what is queued for a connection. If that contains notifications, a ping stands behind them in the same
    /// write: its pong shows that they have arrived.
    func write(_ frame: Frame, to socket: SocketID) {
        guard delivery.table.isAnyOwed, delivery.table.isOwed(socket.slot) else {
            loop?.write(frame, to: socket)
            return
        }
        let payload = delivery.table.ping(socket.slot, now: Clock.unixMilliseconds(), using: &random)
        loop?.write(Frame(joining: [frame, .ping(payload: payload.bytes)]), to: socket)
    }

    /// Handles a pong.
    func confirm(_ socket: SocketID, _ payload: UnsafeRawBufferPointer) {
        guard let payload = PingPayload(payload) else { return }
        delivery.receipts += delivery.table.confirm(socket.slot, payload, now: Clock.unixMilliseconds())
    }

    /// Sends the store what it does not know yet. If its queue is full, the next turn tries again.
    func postReceipts() {
        guard !delivery.receipts.isEmpty else { return }
        if fleet.post(delivery.receipts) == .queued { return delivery.receipts.removeAll(keepingCapacity: true) }
        let excess = delivery.receipts.count - Self.receiptsMax
        guard excess > 0 else { return }
        delivery.receipts.removeFirst(excess)
        metrics.countLimited(.receipts, excess)
    }

    /// Once a second: repeats what could not be requested, and reports what has not been confirmed in time.
    func deliveryTicked() {
        delivery.shrink()
        for (request, opening) in delivery.openings where !opening.isPosted {
            if isOpen(opening.socket) { post(opening: request) } else { _ = delivery.takeOpening(request) }
        }
        for (request, replay) in delivery.replays where !replay.isPosted { post(replay: request) }
        let moment = Clock.unixMilliseconds() - Int64(fleet.confirmSeconds) * 1_000
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
