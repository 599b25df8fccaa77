import FanOut
import Fleet
import Primitives
import PusherProtocol
import TestSupport

/// An event loop without sockets and threads. What it does about deliveries is the gateway's own code
/// (``OwnerReplay``); the rest is what `FleetNode` and `Node` do around it.
final class SimulatedLoop {
    /// A message in the loop's mailbox.
    enum Message {
        case instruction(Instruction)
        case cursor(request: Int, Int64?)
        case page(request: Int, ReplayPage?, gap: [Int64])
    }

    let index: Int
    private(set) var ownerReplay: OwnerReplay
    private var random: FaultyRandom
    private var fanOut = LoopFanOut()
    var mailbox: [Message] = []
    /// The store's replies to openings, which are handled when the mailbox is drained.
    private var cursors = FIFO<(request: Int, cursor: Int64?)>()
    /// By slot.
    private(set) var connections: [ReplayConnection?] = []
    private unowned let process: SimulatedProcess
    private var fault: ReplayFault { process.fault }

    init(index: Int, _ process: SimulatedProcess, pageMax: Int, seed: UInt64) {
        self.index = index
        self.process = process
        ownerReplay = OwnerReplay(loop: index, pageMax: pageMax)
        random = FaultyRandom(random: SplitMix(seed: seed &+ UInt64(index)), change: process.fault.random)
    }

    /// Whether nothing is left to do without another thread or client.
    var isIdle: Bool { mailbox.isEmpty && !fanOut.isPending && ownerReplay.receipts.isEmpty }
    /// Whether a subscription waits for the store, or is replaying.
    var isWaiting: Bool { !ownerReplay.openings.isEmpty || !ownerReplay.replays.isEmpty }

    var vacantSlot: Int { connections.firstIndex { $0 == nil } ?? connections.count }

    // MARK: Connections

    func open(_ connection: ReplayConnection) {
        let slot = connection.socket.slot
        while connections.count <= slot { connections.append(nil) }
        connections[slot] = connection
        process.apply(.opened(connection.socket, app: 0))
        fanOut.open(connection.socket)
    }

    /// As `Node.closed(_:)`.
    func close(_ connection: ReplayConnection) {
        let socket = connection.socket
        fanOut.flush(socket) { send(marked($1, to: $0), to: $0) }
        apply(.closed(socket))
        fanOut.close(socket)
        ownerReplay.closed(socket)
        connections[socket.slot] = nil
        connection.isClosed = true
    }

    private func connection(_ socket: SocketID) -> ReplayConnection? {
        socket.slot < connections.count ? connections[socket.slot].flatMap { $0.socket == socket ? $0 : nil } : nil
    }

    /// Handles a message of a client, as `Node.received(_:from:)` and `Node.pongReceived(from:_:)`.
    func handle(_ message: ReplayConnection.Message, of connection: ReplayConnection) {
        let socket = connection.socket
        switch message {
        case .subscribe(let name):
            guard let grant = process.authorize(connection, name) else { return }
            if let ownership = process.hub.ownership(of: socket, on: name) {
                replay { $0.subscribe(socket, grant, as: ownership, &$1) }
            } else {
                // The subscriptions of others do not wait for a cursor.
                apply(.subscribe(socket, grant))
                connection.joined.insert(name)
            }
        case .unsubscribe(let name):
            if ownerReplay.cancel(socket, name) { return }
            apply(.unsubscribe(socket, name))
            connection.joined.remove(name)
        case .pong(let payload):
            let before = ownerReplay.receipts.count
            confirm(socket, payload)
            process.judge.confirmed(ownerReplay.receipts[before...], on: index)
        }
    }

    // MARK: Turns

    /// As `Node.drainMailbox()`.
    func drainMailbox() {
        let messages = mailbox
        mailbox = []
        for message in messages {
            switch message {
            case .instruction(let instruction): perform(instruction)
            case .cursor(let request, let cursor): cursors.append((request, cursor))
            case .page(let request, let page, let gap): handle(page, of: request, gap)
            }
        }
        while let (request, cursor) = cursors.popFirst() { handle(cursor, of: request) }
    }

    private func handle(_ page: ReplayPage?, of request: Int, _ gap: [Int64]) {
        if let waiting = ownerReplay.replays[request], page?.gap != nil, let connection = connection(waiting.socket) {
            // Recorded before, because the loop may drop the page: then the client reads no gap.
            connection.gaps[waiting.name, default: []].append(gap)
            let frames = connection.gapsQueued
            replay { $0.answered(request, page: page, &$1) }
            if connection.gapsQueued == frames { connection.gaps[waiting.name]?.removeLast() }
        } else {
            replay { $0.answered(request, page: page, &$1) }
        }
    }

    private func handle(_ cursor: Int64?, of request: Int) {
        guard cursor != nil, let opening = ownerReplay.openings[request] else {
            return replay { $0.answered(request, cursor: cursor, &$1) }
        }
        let connection = connection(opening.socket)
        connection?.joined.insert(opening.grant.channel)
        let known = Set(ownerReplay.replays.keys)
        replay { $0.answered(request, cursor: cursor, &$1) }
        // The loop may have opened other subscriptions meanwhile.
        let name = opening.grant.channel
        let begun = ownerReplay.replays.first { request, replay in
            replay.socket == opening.socket && replay.name == name && !known.contains(request)
        }
        guard let begun, let connection else { return }
        let start = ReplayConnection.Start(
            after: begun.value.after, confirmed: process.judge.confirmedAtOpening(request, index))
        connection.starts[name, default: []].append(start)
    }

    /// As `Node.turnEnded()`.
    func endTurn(writesMax: Int) {
        _ = fanOut.flush(writesMax: writesMax) { send(marked($1, to: $0), to: $0) }
        storeReceipts()
    }

    func storeReceipts() { replay { $0.storeReceipts(&$1) } }

    /// As `FleetNode.ticked()`.
    func tick() {
        ownerReplay.ticked(now: process.judge.now)
        while ownerReplay.hasRequestsToRepeat { replay { $0.repeatRequest(&$1) } }
    }

    private func apply(_ input: Hub.Input) {
        process.apply(input)
        drainMailbox()
    }

    /// As `FleetNode.perform(_:)`.
    private func perform(_ instruction: Instruction) {
        if case .notify(let frame, let channel, let sequence) = instruction {
            if fault.loses(sequence) { return }
            if let change = fault.excluded {
                let excluded = change(ownerReplay.table.notify(channel, sequence))
                return fanOut.send(frame, toSubscribersOf: channel, exceptSlots: excluded)
            }
        }
        replay { $0.deliver(instruction, to: &fanOut, &$1) }
    }

    // MARK: Writing

    private func marked(_ frame: Frame, to socket: SocketID) -> Frame {
        ownerReplay.marked(frame, to: socket, now: process.judge.now, using: &random)
    }

    private func send(_ frame: Frame, to socket: SocketID) {
        let bytes = fault.write(frame.bytes)
        connection(socket)?.write(bytes)
        guard fault.writesConfirm, bytes.count >= 18, bytes[bytes.count - 18] == 0x89 else { return }
        confirm(socket, Array(bytes.suffix(16)))
    }

    private func confirm(_ socket: SocketID, _ payload: [UInt8]) {
        payload.withUnsafeBytes { ownerReplay.confirm(socket, $0, now: process.judge.now) }
    }

    // MARK: Effects

    /// As `FleetNode.replay(_:)`.
    private func replay(_ change: (inout OwnerReplay, inout [OwnerReplay.Effect]) -> Void) {
        var effects: [OwnerReplay.Effect] = []
        change(&ownerReplay, &effects)
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: OwnerReplay.Effect) {
        switch effect {
        case .store(let receipts):
            let receipts = fault.receipts(receipts)
            process.judge.posted(receipts)
            process.requests.append(.receipts(receipts))
            _ = ownerReplay.receiptsPosted(areQueued: true)
        case .findCursor(let request):
            process.judge.opening(request)
            process.requests.append(.subscription(request))
        case .open(let socket, let grant):
            apply(.subscribe(socket, grant))
            ownerReplay.opened()
        case .readPage(let request, let socket):
            if isFull(socket) {
                ownerReplay.failed(request.replyTo.request)
            } else {
                process.pageRequests.append(request)
            }
        case .send(let frame, let socket):
            if let connection = connection(socket) { process.judge.check(sent: frame, connection) }
            fanOut.apply(.send(frame, to: socket))
        case .count: break
        }
    }

    private func isFull(_ socket: SocketID) -> Bool { (connection(socket)?.unread ?? 0) > process.socketBytes }
}

/// Random numbers that a fault can change.
struct FaultyRandom: RandomNumberGenerator {
    var random: SplitMix
    let change: (UInt64) -> UInt64

    mutating func next() -> UInt64 { change(random.next()) }
}
