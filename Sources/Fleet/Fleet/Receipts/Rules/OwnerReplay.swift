import Access
import FanOut
import JSON
import Primitives
import PusherProtocol

/// Guaranteed delivery (`durable: true`) on one loop: replays what the owner of a channel has missed, and finds out by pings
/// what has arrived.
///
/// A value without clock and sockets. Each input returns effects; what becomes of some of them is an input again.
package struct OwnerReplay {
    /// What is to be done. The caller performs the effects of an input in order, before the next input.
    package enum Effect: Equatable {
        /// Queue receipts for the store, then call ``receiptsPosted(areQueued:)``.
        case store([Receipt])
        /// Queue the request for the cursor of a subscription. If the queue is full, call ``failed(_:)``.
        case findCursor(CursorRequest)
        /// Let the hub open a subscription and perform what it instructs, which calls ``deliver(_:to:_:)``; then call
        /// ``opened()``.
        case open(SocketID, SubscriptionGrant)
        /// Queue the request for a page of the socket's replay. If the queue is full, or the socket takes no more bytes now,
        /// call ``failed(_:)`` instead: the socket paces the replay, so a page is read when the one before is sent.
        case readPage(ReplayRequest, for: SocketID)
        /// Queue a message for one connection.
        case send(Frame, to: SocketID)
        /// Count notifications that are sent again, and gaps that are announced.
        case count(notifications: Int, gaps: Int)
    }

    /// A subscription of an owner that waits for its cursor. The client gets `subscription_succeeded` behind it.
    package struct Opening {
        package let socket: SocketID
        package let grant: SubscriptionGrant
        let key: ReceiptKey
        /// Whether the store has the request. If not, it is repeated after the next tick.
        var isPosted = false
    }

    /// A replay for which a page is to be read.
    package struct Replay {
        package let socket: SocketID
        /// The slot of the channel in the hub.
        let channel: ChannelSlot
        /// The name by which the client has subscribed.
        package let name: ChannelName
        let key: ReceiptKey
        /// The next page begins behind this sequence number.
        package fileprivate(set) var after: Int64
        var isFirst = true
        /// Whether the store has the request. If not, the socket was full, or the store could not take or do it.
        var isPosted = false
    }

    /// The most receipts that wait for the store's queue.
    static let receiptsMax = 10_000
    /// The requests that are repeated at once: after an outage of the store there are thousands.
    package static let repeatedMax = 64

    /// The index of the loop.
    private let loop: Int
    /// After this time, a notification that no device has confirmed counts as unconfirmed.
    private let confirmMilliseconds: Int64
    /// Notifications per page of a replay.
    private let pageMax: Int

    package var table = OwnerReceipts()
    /// What the store does not know yet.
    package private(set) var receipts: [Receipt] = []
    /// By request number.
    package private(set) var openings: [Int: Opening] = [:]
    /// The request numbers of ``openings``, by the connection's slot: in a storm of reconnects there are thousands.
    private var openingsOfSlots: [Int: [Int]] = [:]
    /// By request number.
    package private(set) var replays: [Int: Replay] = [:]
    private var lastRequest = 0
    /// The subscription that the hub is opening, and the cursor of its device.
    private var current: (opening: Opening, cursor: Int64)?
    /// The requests to repeat, oldest first, of ``openings`` before those of ``replays``.
    private var requestsToRepeat = FIFO<Int>()

    package init(loop: Int, confirmSeconds: Int = 5, pageMax: Int = 100) {
        self.loop = loop
        confirmMilliseconds = Int64(confirmSeconds) * 1_000
        self.pageMax = pageMax
    }

    /// A number that no other request of the loop has.
    private mutating func nextRequest() -> Int {
        lastRequest += 1
        return lastRequest
    }

    // MARK: Live notifications

    /// Performs an instruction of the hub. Owners who are replaying do not get a live notification.
    package mutating func deliver(_ instruction: Instruction, to fanOut: inout LoopFanOut, _ effects: inout [Effect]) {
        switch instruction {
        case .notify(let frame, let channel, let sequence):
            let excluded = table.notify(channel, sequence)
            if excluded.isEmpty {
                fanOut.apply(instruction)
            } else {
                fanOut.send(frame, toSubscribersOf: channel, exceptSlots: excluded)
            }
        case .join(let channel, let socket):
            fanOut.apply(instruction)
            joined(channel, socket, &effects)
        case .leave(let channel, let socket):
            fanOut.apply(instruction)
            table.unsubscribe(socket.slot, from: channel)
        default: fanOut.apply(instruction)
        }
    }

    // MARK: Subscribing

    /// Handles a subscription of a channel's owner, which first waits for the cursor of the device.
    package mutating func subscribe(
        _ socket: SocketID, _ grant: SubscriptionGrant, as ownership: FleetAccess.Ownership, _ effects: inout [Effect]
    ) {
        guard opening(socket, grant.channel) == nil else {
            let text = "Existing subscription to channel \(grant.channel.text)"
            return effects.append(.send(ServerMessage.error(ProtocolError(text)), to: socket))
        }
        let key = ReceiptKey(channel: ownership.channel, owner: ownership.owner, device: ownership.device)
        let request = nextRequest()
        openings[request] = Opening(socket: socket, grant: grant, key: key)
        openingsOfSlots[socket.slot, default: []].append(request)
        findCursor(request, &effects)
    }

    private mutating func findCursor(_ request: Int, _ effects: inout [Effect]) {
        guard let opening = openings[request] else { return }
        openings[request]?.isPosted = true
        // First what pongs have confirmed: the cursor must be behind it.
        storeReceipts(&effects)
        effects.append(
            .findCursor(CursorRequest(key: opening.key, replyTo: ReplyAddress(loop: loop, request: request))))
    }

    /// The store has found a cursor: the hub opens the subscription, then the replay begins.
    /// - Parameter cursor: nil if the store could not be written. The request is repeated after the next tick.
    package mutating func answered(_ request: Int, cursor: Int64?, _ effects: inout [Effect]) {
        guard let cursor else { return failed(request) }
        guard let opening = takeOpening(request) else { return }
        current = (opening, cursor)
        effects.append(.open(opening.socket, opening.grant))
    }

    /// The hub has handled a subscription. If it has denied it, the connection has not joined the channel.
    package mutating func opened() { current = nil }

    /// The hub has added a connection to a channel.
    private mutating func joined(_ channel: ChannelSlot, _ socket: SocketID, _ effects: inout [Effect]) {
        guard let (opening, cursor) = current, opening.socket == socket else { return }
        let request = nextRequest()
        let after = table.subscribe(
            socket.slot, to: opening.key, as: opening.grant.channel.text, channel: channel, replay: request, cursor: cursor)
        replays[request] = Replay(
            socket: socket, channel: channel, name: opening.grant.channel, key: opening.key, after: after)
        readPage(request, &effects)
    }

    /// Ends the wait of a subscription, because the client unsubscribes.
    /// - Returns: false if none waits.
    package mutating func cancel(_ socket: SocketID, _ channel: ChannelName) -> Bool {
        guard let request = opening(socket, channel) else { return false }
        return takeOpening(request) != nil
    }

    /// The number of the subscription to the channel that waits for its cursor; nil if none does.
    private func opening(_ socket: SocketID, _ channel: ChannelName) -> Int? {
        openingsOfSlots[socket.slot]?.first { openings[$0]?.grant.channel == channel }
    }

    private mutating func takeOpening(_ request: Int) -> Opening? {
        guard let opening = openings.removeValue(forKey: request) else { return nil }
        openingsOfSlots[opening.socket.slot]?.removeAll { $0 == request }
        if openingsOfSlots[opening.socket.slot]?.isEmpty == true { openingsOfSlots[opening.socket.slot] = nil }
        return opening
    }

    /// A connection has closed, and left its channels.
    package mutating func closed(_ socket: SocketID) {
        for request in openingsOfSlots.removeValue(forKey: socket.slot) ?? [] { openings[request] = nil }
        receipts += table.close(socket.slot)
    }

    // MARK: Replaying

    private mutating func readPage(_ request: Int, _ effects: inout [Effect]) {
        guard let replay = replays[request] else { return }
        replays[request]?.isPosted = true
        let page = ReplayRequest(
            key: replay.key, after: replay.after, limit: pageMax, isFirst: replay.isFirst,
            replyTo: ReplyAddress(loop: loop, request: request))
        effects.append(.readPage(page, for: replay.socket))
    }

    /// The store has read a page.
    /// - Parameter page: nil if the store cannot be read now. The request is repeated after the next tick.
    package mutating func answered(_ request: Int, page: ReplayPage?, _ effects: inout [Effect]) {
        guard let page else { return failed(request) }
        guard var replay = replays.removeValue(forKey: request), isExpected(replay, request) else { return }
        effects.append(.count(notifications: page.notifications.count, gaps: page.gap == nil ? 0 : 1))
        if let gap = page.gap { effects.append(.send(gap.frame(on: replay.name), to: replay.socket)) }
        for replayed in page.notifications {
            let frame = ServerMessage.event(replayed.notification.event, replay.name, data: replayed.notification.data)
            effects.append(.send(frame, to: replay.socket))
        }
        let next = table.replayed(
            replay.socket.slot, replay.channel, gapEnd: page.gap?.upTo,
            sequences: page.notifications.map(\.sequence), upTo: page.upTo, isLast: page.isComplete)
        guard let next else { return }
        (replay.after, replay.isFirst) = (next, false)
        replays[request] = replay
        readPage(request, &effects)
    }

    /// Whether the connection is open, and the subscription has not ended.
    private func isExpected(_ replay: Replay, _ request: Int) -> Bool {
        table.expectsPage(of: request, replay.socket.slot, replay.channel)
    }

    // MARK: Confirming

    /// What is to be written to a connection instead of what is queued for it. If that contains notifications, a ping
    /// stands behind them in the same write: its pong shows that they have arrived.
    /// - Parameter now: milliseconds since 1970; most writes need no time.
    package mutating func marked(
        _ frame: Frame, to socket: SocketID, now: @autoclosure () -> Int64, using random: inout some RandomNumberGenerator
    ) -> Frame {
        guard table.isOwed(socket.slot) else { return frame }
        let payload = table.ping(socket.slot, now: now(), using: &random)
        return Frame(joining: [frame, .ping(payload: payload.bytes)])
    }

    /// Handles a pong.
    package mutating func confirm(_ socket: SocketID, _ payload: UnsafeRawBufferPointer, now: Int64) {
        guard let payload = PingPayload(payload) else { return }
        receipts += table.confirm(socket.slot, payload, now: now)
    }

    /// Lets the store know what it does not know yet. Call it at the end of a turn.
    package mutating func storeReceipts(_ effects: inout [Effect]) {
        if !receipts.isEmpty { effects.append(.store(receipts)) }
    }

    /// - Parameter areQueued: false if the store's queue is full: the next turn tries again.
    /// - Returns: the number of receipts that are dropped, because too many wait.
    package mutating func receiptsPosted(areQueued: Bool) -> Int {
        guard !areQueued else {
            receipts.removeAll(keepingCapacity: true)
            return 0
        }
        let dropped = max(receipts.count - Self.receiptsMax, 0)
        receipts.removeFirst(dropped)
        return dropped
    }

    // MARK: Repeating

    /// The store could not take or do a request, or the socket is full: the request is repeated after the next tick.
    package mutating func failed(_ request: Int) {
        openings[request]?.isPosted = false
        replays[request]?.isPosted = false
    }

    /// Once a second: reports what has not been confirmed in time, and finds the requests that the store does not have, for
    /// ``repeatRequest(_:)``, unless those of an earlier tick are left.
    package mutating func ticked(now: Int64) {
        shrink()
        if requestsToRepeat.isEmpty {
            for request in openings.filter({ !$0.value.isPosted }).keys.sorted() { requestsToRepeat.append(request) }
            for request in replays.filter({ !$0.value.isPosted }).keys.sorted() { requestsToRepeat.append(request) }
        }
        receipts += table.unconfirmed(since: now - confirmMilliseconds)
    }

    /// Whether ``repeatRequest(_:)`` has something to repeat.
    package var hasRequestsToRepeat: Bool { !requestsToRepeat.isEmpty }

    /// Repeats one request, if any is left.
    package mutating func repeatRequest(_ effects: inout [Effect]) {
        guard let request = requestsToRepeat.popFirst() else { return }
        if openings[request]?.isPosted == false { return findCursor(request, &effects) }
        guard let replay = replays[request], !replay.isPosted else { return }
        if isExpected(replay, request) { readPage(request, &effects) } else { replays[request] = nil }
    }

    /// Releases the memory that a storm of reconnects has left behind.
    private mutating func shrink() {
        if openings.isEmpty { (openings, openingsOfSlots) = ([:], [:]) }
        if replays.isEmpty { replays = [:] }
        if receipts.isEmpty { receipts = [] }
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
