import FanOut
import PusherProtocol

/// Decodes the bytes as operations: connections open, subscribe, sign in, send client events and close, backends
/// publish and terminate users, time advances, and loops drain late. Each connection must receive exactly the bytes
/// that a naive model computes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHub(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var operands = Operands(rest: UnsafeRawBufferPointer(start: start, count: count)[...])
    var world = World(loopCount: 1 + operands.next(below: 3))
    while !operands.isEmpty { world.step(&operands) }
    world.finish()
    return 0
}

/// The fuzzer's input, of which each operation uses some bytes.
private struct Operands {
    var rest: Slice<UnsafeRawBufferPointer>

    var isEmpty: Bool { rest.isEmpty }

    /// The next byte modulo `limit`; 0 if the input is used up or `limit` is 0.
    mutating func next(below limit: Int) -> Int { limit > 0 ? Int(rest.popFirst() ?? 0) % limit : 0 }
}

private struct World {
    private static let connectionsMax = 12
    private static let ids = ["1", "10", "anna"]
    private static let names = [
        "a", "b", "private-a", "private-encrypted-cache-a", "presence-a", "presence-cache-a", "cache-a", "#server-to-user-1",
        "#server-to-user-anna",
    ].compactMap { ChannelName($0, lengthMax: 200) }

    private var hub = Hub(loopCount: 1, apps: [])
    private var loops: [LoopFanOut]
    private var mailboxes: [[Instruction]]
    /// The free slots of each loop.
    private var vacant: [[Int]]

    private var model: Model
    private var closed: [SocketID] = []
    /// The connections that the hub instructed a loop to close.
    private var closeInstructed: Set<SocketID> = []
    /// The bytes that each open connection has received.
    private var received: [SocketID: [UInt8]] = [:]
    private var published = 0
    private var random = WeylSequence()

    init(loopCount: Int) {
        // Low limits for the first application: two presence members, five subscriptions, about three cached events.
        // The second sends subscription counts.
        var apps = [AppRules(), AppRules()]
        apps[0].limits.presenceMembers = 2
        apps[0].limits.subscriptions = 5
        apps[0].limits.cacheBytes = 500
        apps[1].subscriptionCounts = true
        hub = Hub(loopCount: loopCount, apps: apps)
        model = Model(apps)
        loops = Array(repeating: LoopFanOut(), count: loopCount)
        mailboxes = Array(repeating: [], count: loopCount)
        vacant = Array(repeating: Array(0..<Self.connectionsMax), count: loopCount)
    }

    mutating func step(_ operands: inout Operands) {
        switch operands.next(below: 16) {
        case 0: open(&operands)
        case 1, 2, 3: subscribe(&operands)
        case 4: unsubscribe(&operands)
        case 5, 6: publish(&operands)
        case 7: close(&operands)
        case 8: drain(operands.next(below: loops.count), atMost: 1 + operands.next(below: 4))
        case 9: flush(operands.next(below: loops.count))
        case 10: sendClientEvent(&operands)
        case 11, 12: signin(&operands)
        case 13: terminate(&operands)
        case 14: apply(.tick(model.tick(1 + Int64(operands.next(below: 256)) * 60_000)))
        default: sendStaleInputs(&operands)
        }
    }

    /// Delivers everything that is queued, then compares the hub with the model.
    mutating func finish() {
        for loop in loops.indices {
            drain(loop, atMost: .max)
            flush(loop)
        }
        for connection in model.connections {
            invariant(received[connection.socket] == connection.sent, "\(connection.socket) received what the model sent")
        }
        invariant(
            hub.subscriptionCount == model.connections.reduce(0) { $0 + $1.subscriptions.count },
            "the number of subscriptions is correct")
        invariant(model.terminated.isSubset(of: closeInstructed.union(closed)), "terminated connections are closed")
        var channelCount = 0
        for app in model.apps.indices {
            invariant(
                hub.connectionCount(app: app) == model.connections.filter { $0.app == app }.count,
                "the number of connections is correct")
            for name in Self.names {
                let sockets = model.subscribers(of: name, app).map { model.connections[$0].socket }
                invariant(
                    Array(hub.loops(of: name, app: app)) == Set(sockets.map(\.loop)).sorted(),
                    "the hub knows the loops of a channel")
                invariant(hub.occupancy(of: name, app: app)?.subscriptions ?? 0 == sockets.count, "occupancy is correct")
                invariant(hub.userIDs(on: name, app: app) == model.users(on: name, app), "presence users are correct")
                invariant(hub.cachedEvent(on: name, app: app)?.frame == model.event(on: name, app), "the last event is cached")
                if !sockets.isEmpty { channelCount += 1 }
            }
        }
        invariant(hub.channelCount == channelCount, "the number of channels is correct")
        invariant(hub.cacheEvictions == model.evictions, "the number of evictions is correct")
    }

    // MARK: Operations

    private mutating func open(_ operands: inout Operands) {
        let loop = operands.next(below: loops.count)
        guard model.connections.count < Self.connectionsMax, let slot = vacant[loop].popLast() else { return }
        let socket = SocketID(loop: loop, slot: slot, using: &random)
        let app = operands.next(below: model.apps.count)
        model.connections.append(Model.Connection(socket: socket, app: app))
        received[socket] = []
        loops[loop].open(socket)
        apply(.opened(socket, app: app))
    }

    /// The index of an open connection and a channel's name; nil if no connection is open.
    private func chosen(_ operands: inout Operands) -> (index: Int, name: ChannelName)? {
        let index = operands.next(below: model.connections.count)
        let name = Self.names[operands.next(below: Self.names.count)]
        return model.connections.indices.contains(index) ? (index, name) : nil
    }

    private mutating func subscribe(_ operands: inout Operands) {
        let id = Self.ids[operands.next(below: Self.ids.count)]
        guard let (index, name) = chosen(&operands) else { return }
        let connection = model.connections[index]
        guard let grant = grant(name, to: connection.socket, as: id, connection.user) else { return }
        model.subscribe(index, name, as: grant.member)
        apply(.subscribe(connection.socket, grant))
    }

    private mutating func unsubscribe(_ operands: inout Operands) {
        guard let (index, name) = chosen(&operands) else { return }
        let socket = model.connections[index].socket
        model.unsubscribe(index, name)
        apply(.unsubscribe(socket, name))
    }

    /// Publishes one to three events at once, in some cases excluding one connection, which may be closed already.
    private mutating func publish(_ operands: inout Operands) {
        let app = operands.next(below: model.apps.count)
        let sockets = model.connections.map(\.socket) + closed.suffix(2)
        let chosen = operands.next(below: 2 * sockets.count)
        let sender = chosen < sockets.count ? sockets[chosen] : nil
        var publications: [Hub.Publication] = []
        for _ in 0...operands.next(below: 3) {
            let name = Self.names[operands.next(below: Self.names.count)]
            published += 1
            let frame = Frame(text: Array("\(name.text)\(published)".utf8))
            publications.append(Hub.Publication(channel: name, frame: frame))
            model.publish(frame, on: name, app, except: sender)
        }
        apply(.publish(publications, app: app, except: sender))
    }

    private mutating func sendClientEvent(_ operands: inout Operands) {
        guard let (index, name) = chosen(&operands), name.access == .signed || name.access == .presence else { return }
        published += 1
        let event = ClientEvent(name: "client-e", channel: name.text, data: Array("\"\(published)\"".utf8))
        model.sendClientEvent(index, event, on: name)
        apply(.clientEvent(model.connections[index].socket, event, on: name))
    }

    private mutating func signin(_ operands: inout Operands) {
        let id = Self.ids[operands.next(below: Self.ids.count)]
        let watchlist = Self.ids.filter { _ in operands.next(below: 2) == 1 }
        guard let (index, _) = chosen(&operands) else { return }
        let user = user(id, watching: watchlist)
        let socket = model.connections[index].socket
        model.signin(index, user)
        apply(.signin(socket, user))
    }

    private mutating func terminate(_ operands: inout Operands) {
        let id = Self.ids[operands.next(below: Self.ids.count)]
        let app = operands.next(below: model.apps.count)
        model.terminate(id, app)
        apply(.terminate(userID: id, app: app))
    }

    /// Closes a connection as a loop does: its mailbox is drained first. Bytes not yet flushed may be lost, but never
    /// reach another connection.
    private mutating func close(_ operands: inout Operands) {
        let isFlushed = operands.next(below: 2) == 1
        guard let (index, _) = chosen(&operands) else { return }
        let connection = model.close(index)
        let (socket, loop) = (connection.socket, connection.socket.loop)
        apply(.closed(socket))
        drain(loop, atMost: .max)
        if isFlushed { flush(loop) }
        loops[loop].close(socket)
        let bytes = received.removeValue(forKey: socket) ?? []
        invariant(
            isFlushed ? bytes == connection.sent : connection.sent.starts(with: bytes),
            "\(socket) received what the model sent before it closed")
        closed.append(socket)
        vacant[loop].append(socket.slot)
    }

    /// Applies inputs of a closed connection, whose slot may be reused. They must change nothing.
    private mutating func sendStaleInputs(_ operands: inout Operands) {
        let index = operands.next(below: closed.count)
        let name = Self.names[operands.next(below: Self.names.count)]
        guard closed.indices.contains(index) else { return }
        let socket = closed[index]
        var effects: [Hub.Effect] = []
        let event = ClientEvent(name: "client-e", channel: name.text, data: [])
        var inputs: [Hub.Input] = [
            .unsubscribe(socket, name), .signin(socket, user("1", watching: Self.ids)), .clientEvent(socket, event, on: name),
            .closed(socket),
        ]
        if let grant = grant(name, to: socket, as: "1", nil) { inputs.append(.subscribe(socket, grant)) }
        for input in inputs { hub.apply(input, &effects) }
        invariant(effects.isEmpty, "inputs of a closed connection have no effect")
    }

    // MARK: Loops

    private mutating func apply(_ input: Hub.Input) {
        var effects: [Hub.Effect] = []
        hub.apply(input, &effects)
        for effect in effects { mailboxes[effect.loop].append(effect.instruction) }
    }

    /// Performs the first instructions of a loop's mailbox, at most `limit`.
    private mutating func drain(_ loop: Int, atMost limit: Int) {
        let instructions = mailboxes[loop].prefix(limit)
        mailboxes[loop].removeFirst(instructions.count)
        for instruction in instructions {
            if case .close(let socket, let code) = instruction {
                invariant(
                    model.terminated.contains(socket) && code == .notAuthorized,
                    "only terminated connections are closed by the hub")
                closeInstructed.insert(socket)
            }
            loops[loop].apply(instruction)
        }
    }

    private mutating func flush(_ loop: Int) {
        // Most flushes are cut short.
        while true {
            var written = Written()
            let isUnfinished = loops[loop].flush(writesMax: 3) { written.add($0, $1) }
            invariant(isUnfinished == loops[loop].isPending, "a flush reports whether it leaves frames")
            receive(written)
            if !isUnfinished { return }
        }
    }

    private mutating func receive(_ written: Written) {
        for (socket, bytes) in written.writes {
            invariant(received[socket] != nil, "no frame after the close of \(socket)")
            received[socket]?.append(contentsOf: bytes)
        }
    }

    // MARK: Grants and users

    /// A grant for a subscription; nil if the channel belongs to another user.
    private func grant(
        _ name: ChannelName, to socket: SocketID, as id: String, _ user: SignedInUser?
    ) -> SubscriptionGrant? {
        let channelData = name.isPresence ? #"{"user_id":"\#(id)"}"# : nil
        return try? SubscriptionRequest(channel: name.text, auth: "key:", channelData: channelData)
            .grant(to: socket, key: "key", limits: Limits(), user: user) { _, _ in true }
    }

    private func user(_ id: String, watching watchlist: [String]) -> SignedInUser {
        let ids = watchlist.map { "\"\($0)\"" }.joined(separator: ",")
        guard let socket = SocketID("1.0") else { fatalError("1.0 is not a socket id") }
        do {
            return try SigninRequest(auth: "key:", userData: #"{"id":"\#(id)","watchlist":[\#(ids)]}"#)
                .user(on: socket, key: "key", limits: Limits()) { _, _ in true }
        } catch {
            fatalError("cannot sign in \(id): \(error.message)")
        }
    }
}

/// The writes of one flush: at most one to each connection.
private struct Written {
    private(set) var writes: [(SocketID, [UInt8])] = []

    mutating func add(_ socket: SocketID, _ frame: Frame) {
        invariant(!writes.contains { $0.0 == socket }, "one write per connection and flush")
        invariant(!frame.bytes.isEmpty, "no empty write")
        writes.append((socket, frame.bytes))
    }
}

/// Multiples of an odd constant modulo 2⁶⁴: deterministic, so that a fuzzer's input always causes the same run.
private struct WeylSequence: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last &+= 0x9E37_79B9_7F4A_7C15
        return last
    }
}
