import FanOut
import PusherProtocol

/// Bytes as op-codes: connections open, subscribe, publish and close, loops fall behind and catch up. What each
/// connection is sent must be, byte for byte, what a naive model says it must be sent.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHub(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var operands = Operands(rest: UnsafeRawBufferPointer(start: start, count: count)[...])
    var world = World(loopCount: 1 + operands.next(below: 3))
    while !operands.isEmpty { world.step(&operands) }
    world.settle()
    return 0
}

private struct Operands {
    var rest: Slice<UnsafeRawBufferPointer>

    var isEmpty: Bool { rest.isEmpty }

    /// Zero once the input is used up.
    mutating func next(below limit: Int) -> Int { limit > 0 ? Int(rest.popFirst() ?? 0) % limit : 0 }
}

/// What a connection subscribes to and what it must be sent: the whole model.
private struct Expectation {
    let socket: SocketID
    let app: Int
    var channels: [ChannelName] = []
    var sent: [UInt8] = []
}

private struct World {
    private static let appCount = 2
    private static let connectionsMax = 12
    private static let names = ["a", "b", "c", "d"].compactMap { ChannelName($0, lengthMax: 200) }

    private var hub: Hub
    private var loops: [LoopFanOut]
    private var mailboxes: [[Instruction]]
    private var vacant: [[Int]]

    private var model: [Expectation] = []
    private var closed: [SocketID] = []
    private var received: [SocketID: [UInt8]] = [:]
    private var published = 0
    private var random = Counter()

    init(loopCount: Int) {
        hub = Hub(loopCount: loopCount, appCount: Self.appCount)
        loops = Array(repeating: LoopFanOut(), count: loopCount)
        mailboxes = Array(repeating: [], count: loopCount)
        vacant = Array(repeating: Array(0..<Self.connectionsMax), count: loopCount)
    }

    mutating func step(_ operands: inout Operands) {
        switch operands.next(below: 10) {
        case 0: open(&operands)
        case 1, 2: subscribe(&operands)
        case 3: unsubscribe(&operands)
        case 4, 5: publish(&operands)
        case 6: close(&operands)
        case 7: drain(operands.next(below: loops.count), atMost: 1 + operands.next(below: 4))
        case 8: flush(operands.next(below: loops.count))
        default: haunt(&operands)
        }
    }

    /// Everything under way arrives, and then both sides agree.
    mutating func settle() {
        for loop in loops.indices {
            drain(loop, atMost: .max)
            flush(loop)
        }
        for expectation in model {
            promise(received[expectation.socket] == expectation.sent, "\(expectation.socket) got what it must")
        }
        promise(hub.subscriptionCount == model.reduce(0) { $0 + $1.channels.count }, "subscriptions are counted")
        var channelCount = 0
        for app in 0..<Self.appCount {
            for name in Self.names {
                let subscribers = model.filter { $0.app == app && $0.channels.contains(name) }
                let expected = Set(subscribers.map(\.socket.loop)).sorted()
                promise(Array(hub.loops(of: name, app: app)) == expected, "a publish knows its loops")
                if !subscribers.isEmpty { channelCount += 1 }
            }
        }
        promise(hub.channelCount == channelCount, "channels are counted")
    }

    // MARK: Operations

    private mutating func open(_ operands: inout Operands) {
        let loop = operands.next(below: loops.count)
        guard model.count < Self.connectionsMax, let slot = vacant[loop].popLast() else { return }
        let socket = SocketID(loop: loop, slot: slot, using: &random)
        let app = operands.next(below: Self.appCount)
        model.append(Expectation(socket: socket, app: app))
        received[socket] = []
        loops[loop].open(socket)
        apply(.opened(socket, app: app))
    }

    private mutating func subscribe(_ operands: inout Operands) {
        let index = operands.next(below: model.count)
        let name = Self.names[operands.next(below: Self.names.count)]
        guard model.indices.contains(index) else { return }
        let socket = model[index].socket
        if model[index].channels.contains(name) {
            expect(ServerMessage.error(ProtocolError("Existing subscription to channel \(name.text)")), at: index)
        } else {
            model[index].channels.append(name)
            expect(ServerMessage.subscriptionSucceeded(name), at: index)
        }
        apply(.subscribe(socket, grant(name, to: socket)))
    }

    private mutating func unsubscribe(_ operands: inout Operands) {
        let index = operands.next(below: model.count)
        let name = Self.names[operands.next(below: Self.names.count)]
        guard model.indices.contains(index) else { return }
        if model[index].channels.contains(name) {
            model[index].channels.removeAll { $0 == name }
        } else {
            let text = "No current subscription to channel \(name.text), or subscription in progress"
            expect(ServerMessage.error(ProtocolError(text)), at: index)
        }
        apply(.unsubscribe(model[index].socket, name))
    }

    /// One to three events at once, perhaps except to one connection, which may be a closed one.
    private mutating func publish(_ operands: inout Operands) {
        let app = operands.next(below: Self.appCount)
        let sockets = model.map(\.socket) + closed.suffix(2)
        let chosen = operands.next(below: 2 * sockets.count)
        let sender = chosen < sockets.count ? sockets[chosen] : nil
        var publications: [Hub.Publication] = []
        for _ in 0...operands.next(below: 3) {
            let name = Self.names[operands.next(below: Self.names.count)]
            published += 1
            let frame = Frame(text: Array("\(name.text)\(published)".utf8))
            publications.append(Hub.Publication(channel: name, frame: frame))
            for index in model.indices where model[index].app == app && model[index].socket != sender {
                if model[index].channels.contains(name) { expect(frame, at: index) }
            }
        }
        apply(.publish(publications, app: app, except: sender))
    }

    /// As a loop closes a connection: what is under way for it is carried out first. What still waits to be sent may be
    /// lost, but is never another's.
    private mutating func close(_ operands: inout Operands) {
        let index = operands.next(below: model.count)
        let isFlushed = operands.next(below: 2) == 1
        guard model.indices.contains(index) else { return }
        let gone = model.remove(at: index)
        let loop = gone.socket.loop
        apply(.closed(gone.socket))
        drain(loop, atMost: .max)
        if isFlushed { flush(loop) }
        loops[loop].close(gone.socket)
        let got = received.removeValue(forKey: gone.socket) ?? []
        promise(isFlushed ? got == gone.sent : gone.sent.starts(with: got), "\(gone.socket) got what it must until it closed")
        closed.append(gone.socket)
        vacant[loop].append(gone.socket.slot)
    }

    /// A message about a connection that has gone, its place perhaps another's, changes nothing.
    private mutating func haunt(_ operands: inout Operands) {
        let ghost = operands.next(below: closed.count)
        let name = Self.names[operands.next(below: Self.names.count)]
        guard closed.indices.contains(ghost) else { return }
        let socket = closed[ghost]
        var effects: [Hub.Effect] = []
        for input in [.subscribe(socket, grant(name, to: socket)), .unsubscribe(socket, name), .closed(socket)] as [Hub.Input] {
            hub.apply(input, &effects)
        }
        promise(effects.isEmpty, "a ghost moves nothing")
    }

    // MARK: Loops

    private mutating func apply(_ input: Hub.Input) {
        var effects: [Hub.Effect] = []
        hub.apply(input, &effects)
        for effect in effects { mailboxes[effect.loop].append(effect.instruction) }
    }

    /// Carries out the first instructions of a loop's mailbox.
    private mutating func drain(_ loop: Int, atMost limit: Int) {
        let instructions = mailboxes[loop].prefix(limit)
        mailboxes[loop].removeFirst(instructions.count)
        for instruction in instructions {
            var written = Written()
            loops[loop].apply(instruction) { written.add($0, $1) }
            receive(written)
        }
    }

    private mutating func flush(_ loop: Int) {
        var written = Written()
        loops[loop].flush { written.add($0, $1) }
        promise(!loops[loop].isPending, "a flush leaves nothing")
        receive(written)
    }

    private mutating func receive(_ written: Written) {
        for (socket, bytes) in written.writes {
            promise(received[socket] != nil, "no frame after the close of \(socket)")
            received[socket]?.append(contentsOf: bytes)
        }
    }

    private mutating func expect(_ frame: Frame, at index: Int) { model[index].sent.append(contentsOf: frame.bytes) }

    private func grant(_ name: ChannelName, to socket: SocketID) -> SubscriptionGrant {
        do {
            return try SubscriptionRequest(channel: name.text).grant(to: socket, key: "", limits: Limits()) { _, _ in false }
        } catch {
            fatalError("\(name.text) is open to all: \(error.message)")
        }
    }
}

/// The writes of one flush: at most one to each connection.
private struct Written {
    private(set) var writes: [(SocketID, [UInt8])] = []

    mutating func add(_ socket: SocketID, _ frame: Frame) {
        promise(!writes.contains { $0.0 == socket }, "one write per connection and flush")
        promise(!frame.bytes.isEmpty, "no empty write")
        writes.append((socket, frame.bytes))
    }
}

/// Makes an input's run the same each time.
private struct Counter: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last &+= 0x9E37_79B9_7F4A_7C15
        return last
    }
}
