import Access
import FanOut
import Fleet
import FleetGateway
import Primitives
import PusherProtocol
import TestSupport

/// An event loop without sockets and threads. What it does about deliveries is the gateway's own code
/// (``ReplayLoop``); the rest is what `Node` does around it.
final class SimulatedLoop: ReplayLoop {
    /// A message in the loop's mailbox.
    enum Message {
        case instruction(Instruction)
        case cursor(request: Int, Int64?)
        case page(request: Int, ReplayPage?, gap: [Int64])
    }

    let index: Int
    var loopReplay: LoopReplay
    var random: FaultyRandom
    let confirmSeconds = 5
    var unixTime: Int64 { process.judge.now }
    var fanOut = LoopFanOut()
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
        loopReplay = LoopReplay(pageMax: pageMax)
        random = FaultyRandom(random: SplitMix(seed: seed &+ UInt64(index)), change: process.fault.random)
    }

    /// Whether nothing is left to do without another thread or client.
    var isIdle: Bool { mailbox.isEmpty && !fanOut.isPending && loopReplay.receipts.isEmpty }
    /// Whether a subscription waits for the store, or is replaying.
    var isWaiting: Bool { !loopReplay.openings.isEmpty || !loopReplay.replays.isEmpty }

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
        loopReplay.receipts += loopReplay.table.close(socket.slot)
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
            let isNew = !connection.joined.contains(name)
            subscribe(socket, grant, isDurable: true)
            // The subscriptions of others do not wait for a cursor.
            if isNew, ownership(of: socket, on: name) == nil { connection.joined.insert(name) }
        case .unsubscribe(let name):
            if loopReplay.cancelOpening(socket, name) { return }
            apply(.unsubscribe(socket, name))
            connection.joined.remove(name)
        case .pong(let payload):
            let before = loopReplay.receipts.count
            payload.withUnsafeBytes { confirm(socket, $0) }
            process.judge.confirmed(loopReplay.receipts[before...], on: index)
        }
    }

    // MARK: The loop's own code

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
        while let (request, cursor) = cursors.popFirst() {
            if let cursor { handle(cursor, of: request) } else { cursorNotFound(request) }
        }
    }

    private func handle(_ page: ReplayPage?, of request: Int, _ gap: [Int64]) {
        if let replay = loopReplay.replays[request], page?.gap != nil, let connection = connection(replay.socket) {
            // Recorded before, because the loop may drop the page: then the client reads no gap.
            connection.gaps[replay.name, default: []].append(gap)
            let frames = connection.gapsQueued
            pageRead(request, page)
            if connection.gapsQueued == frames { connection.gaps[replay.name]?.removeLast() }
        } else {
            pageRead(request, page)
        }
    }

    private func handle(_ cursor: Int64, of request: Int) {
        guard let opening = loopReplay.openings[request] else { return cursorFound(request, cursor) }
        let connection = connection(opening.socket)
        connection?.joined.insert(opening.grant.channel)
        let known = Set(loopReplay.replays.keys)
        cursorFound(request, cursor)
        // The loop may have opened other subscriptions meanwhile.
        let name = opening.grant.channel
        let replay = loopReplay.replays.first { request, replay in
            replay.socket == opening.socket && replay.name == name && !known.contains(request)
        }
        guard let replay, let connection else { return }
        let start = ReplayConnection.Start(
            after: replay.value.after, confirmed: process.judge.confirmedAtOpening(request, index))
        connection.starts[name, default: []].append(start)
    }

    /// As `Node.turnEnded()`.
    func endTurn(writesMax: Int) {
        _ = fanOut.flush(writesMax: writesMax) { send(marked($1, to: $0), to: $0) }
        postReceipts()
    }

    // MARK: ReplayLoop

    func ownership(of socket: SocketID, on channel: ChannelName) -> FleetAccess.Ownership? {
        process.hub.ownership(of: socket, on: channel)
    }

    func apply(_ input: Hub.Input) {
        process.apply(input)
        drainMailbox()
    }

    /// As `Node.perform(_:)`.
    func perform(_ instruction: Instruction) {
        guard case .notify(let frame, let channel, let sequence) = instruction else { return deliver(instruction) }
        if fault.loses(sequence) { return }
        guard let change = fault.excluded else { return deliver(instruction) }
        let excluded = change(loopReplay.table.notify(channel, sequence))
        fanOut.send(frame, toSubscribersOf: channel, exceptSlots: excluded)
    }

    func fanOutDirect(_ frame: Frame, to socket: SocketID) {
        if let connection = connection(socket) { process.judge.check(replayed: frame, connection) }
        fanOut.apply(.send(frame, to: socket))
    }

    func isFull(_ socket: SocketID) -> Bool { (connection(socket)?.unread ?? 0) > process.socketBytes }

    func send(_ frame: Frame, to socket: SocketID) {
        let bytes = fault.write(frame.bytes)
        connection(socket)?.write(bytes)
        guard fault.writesConfirm, bytes.count >= 18, bytes[bytes.count - 18] == 0x89 else { return }
        bytes.suffix(16).withUnsafeBytes { confirm(socket, $0) }
    }

    func post(_ request: CursorRequest) -> PostResult {
        process.judge.opening(request)
        process.requests.append(.subscription(request))
        return .queued
    }

    func post(_ receipts: [Receipt]) -> PostResult {
        let receipts = fault.receipts(receipts)
        process.judge.posted(receipts)
        process.requests.append(.receipts(receipts))
        return .queued
    }

    func post(_ request: ReplayRequest) -> Bool {
        process.pageRequests.append(request)
        return true
    }

    func countReplay(notifications: Int, gaps: Int) {}

    func countDropped(receipts: Int) {}
}

/// Random numbers that a fault can change.
struct FaultyRandom: RandomNumberGenerator {
    var random: SplitMix
    let change: (UInt64) -> UInt64

    mutating func next() -> UInt64 { change(random.next()) }
}
