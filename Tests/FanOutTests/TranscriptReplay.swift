import FanOut
import HubFixture
import PusherProtocol

/// Replays a transcript on a hub and loops, as a gateway does, but without sockets and threads.
struct TranscriptReplay {
    /// Whether the loops flush after every action or only after every step. Clients must get the same frames in both
    /// cases.
    enum Turn: CaseIterable, Sendable {
        case everyAction, everyStep
    }

    private struct Client {
        let socket: SocketID
        let key: String
        var user: SignedInUser?
    }

    private static let keys = ["key1", "key2"]

    private let turn: Turn
    private let rules: AppRules
    private var hub: Hub
    private var now: Int64 = 0
    private var loops: [LoopFanOut]
    private var mailboxes: [[Instruction]]
    /// Connections that the server closes at the end of the turn, and the close codes.
    private var closing: [(socket: SocketID, code: CloseCode)] = []
    private var slots: [Slots]
    private var random = WeylSequence()

    /// The clients by name. A client remains here after its connection has closed.
    private var clients: [String: Client] = [:]
    /// The client's name of each open connection. It is empty for a stranger: one of the connections that a line such
    /// as `+ 100 strangers on news` opens.
    private var open: [SocketID: String] = [:]
    private var strangers: [SocketID] = []
    /// The messages that each client got in this step.
    private var received: [String: [String]] = [:]
    /// Impossible actions and malformed or late frames of this step.
    private var mistakes: [String] = []

    init(_ rules: AppRules = AppRules(), loopCount: Int, turn: Turn) {
        self.turn = turn
        self.rules = rules
        hub = Hub(loopCount: loopCount, apps: Self.keys.map { _ in rules })
        loops = Array(repeating: LoopFanOut(), count: loopCount)
        mailboxes = Array(repeating: [], count: loopCount)
        slots = Array(repeating: Slots(), count: loopCount)
    }

    /// The deviations from the transcript, step by step; empty if there are none.
    mutating func differences(from transcript: Transcript) -> [String] {
        var differences: [String] = []
        for step in transcript.steps {
            received = [:]
            mistakes = []
            for action in step.actions {
                perform(action)
                if turn == .everyAction { endTurn() }
            }
            endTurn()
            differences += mistakes.map { "line \(step.line): \($0)" }
            for name in Set(received.keys).union(step.expected.keys).sorted() {
                let expected = (step.expected[name] ?? []).map(substituted)
                let got = received[name] ?? []
                if got != expected { differences.append("line \(step.line): \(name) got \(got), expected \(expected)") }
            }
        }
        return differences
    }

    // MARK: Actions

    private mutating func perform(_ action: Transcript.Action) {
        switch action {
        case .connect(let name, let key): connect(name, key)
        case .send(let name, let text): send(substituted(text), from: name)
        case .publish(let channel, let event, let data, let sender, let key):
            publish(substituted(data), event, on: channel, except: sender, key)
        case .close(let name): close(name)
        case .crowd(let count, let channel): crowd(count, on: channel)
        case .disperse(let count):
            for socket in strangers.suffix(count) { close(socket) }
            strangers.removeLast(count)
        case .terminate(let user, let key): apply(.terminate(userID: user, app: Self.keys.firstIndex(of: key) ?? 0), on: 0)
        case .pass(let milliseconds):
            now += milliseconds
            apply(.tick(now), on: 0)
        }
    }

    private mutating func connect(_ name: String, _ key: String) {
        guard let app = Self.keys.firstIndex(of: key), clients[name].flatMap({ open[$0.socket] }) == nil else {
            mistakes.append("\(name) cannot connect to \(key)")
            return
        }
        let socket = open(app)
        clients[name] = Client(socket: socket, key: key)
        open[socket] = name
    }

    private mutating func open(_ app: AppIndex) -> SocketID {
        // Connections go to the loops in turn, as the listener assigns them.
        let loop = open.count % loops.count
        let socket = SocketID(loop: loop, slot: slots[loop].allocate(), using: &random)
        loops[loop].open(socket)
        apply(.opened(socket, app: app), on: loop)
        return socket
    }

    private mutating func crowd(_ count: Int, on channel: String) {
        for _ in 0..<count {
            let socket = open(0)
            open[socket] = ""
            strangers.append(socket)
            apply(.subscribe(socket, grant(channel)), on: socket.loop)
        }
    }

    private mutating func send(_ text: String, from name: String) {
        guard let client = clients[name], open[client.socket] != nil else {
            mistakes.append("\(name) is not connected")
            return
        }
        let action = Array(text.utf8).withUnsafeBytes {
            MessageAction(to: $0, from: client.socket, key: client.key, rules: rules, user: client.user, verify: Self.isValid)
        }
        switch action {
        case .reply(let frame), .refuse(let frame, _): deliver(frame, to: client.socket)
        case .apply(let input), .applyRateLimited(let input): apply(input, on: client.socket.loop)
        case .signIn(let user):
            clients[name]?.user = user
            apply(.signin(client.socket, user), on: client.socket.loop)
        case .recordPong: break
        }
    }

    private mutating func publish(_ data: String, _ event: String, on channel: String, except sender: String?, _ key: String) {
        guard let name = ChannelName(channel, lengthMax: Limits().nameLength), let app = Self.keys.firstIndex(of: key),
            sender == nil || clients[sender ?? ""] != nil
        else {
            mistakes.append("\(channel), \(key) or \(sender ?? "no sender") does not exist")
            return
        }
        let frame = Array(event.utf8).withUnsafeBytes { event in
            Array(data.utf8).withUnsafeBytes { ServerMessage.event(name: event, channel: name, data: $0) }
        }
        let publication = Hub.Publication(channel: name, frame: frame)
        apply(.publish([publication], app: app, except: sender.flatMap { clients[$0]?.socket }), on: 0)
    }

    private mutating func close(_ name: String) {
        guard let socket = clients[name]?.socket, open[socket] != nil else {
            mistakes.append("\(name) is not connected")
            return
        }
        // The client closes after it has read all earlier messages.
        drain(socket.loop)
        var written: [(SocketID, Frame)] = []
        loops[socket.loop].flush(socket) { written.append(($0, $1)) }
        for (socket, frame) in written { deliver(frame, to: socket) }
        close(socket)
    }

    private mutating func close(_ socket: SocketID) {
        apply(.closed(socket), on: socket.loop)
        loops[socket.loop].close(socket)
        open[socket] = nil
        slots[socket.loop].release(socket.slot)
    }

    private static func isValid(text: String, signature: Substring) -> Bool {
        signature == "right" || signature == "sig(\(text.replacing(":", with: "/")))"
    }

    // MARK: Loops

    /// Applies an input as a gateway does: each effect goes through its loop's mailbox, and the loop that applied the
    /// input drains its own mailbox at once.
    private mutating func apply(_ input: Hub.Input, on loop: Int) {
        var effects: [Hub.Effect] = []
        hub.apply(input, &effects)
        for effect in effects { mailboxes[effect.loop].append(effect.instruction) }
        drain(loop)
    }

    private mutating func drain(_ loop: Int) {
        for instruction in mailboxes[loop] {
            if case .close(let socket, let code) = instruction { closing.append((socket, code)) }
            loops[loop].apply(instruction)
        }
        mailboxes[loop] = []
    }

    /// Flushes all loops, then closes connections. Repeats this until nothing is pending, because a close can cause
    /// events for other connections.
    private mutating func endTurn() {
        repeat {
            for loop in loops.indices {
                drain(loop)
                var written: [(SocketID, Frame)] = []
                while loops[loop].flush(writesMax: 1_000, { written.append(($0, $1)) }) {}
                for (socket, frame) in written { deliver(frame, to: socket) }
            }
            let closed = closing
            closing = []
            for (socket, code) in closed {
                guard let name = open[socket] else { continue }
                received[name, default: []].append("closed \(code.rawValue)")
                close(socket)
            }
        } while !closing.isEmpty || mailboxes.contains { !$0.isEmpty } || loops.contains(where: \.isPending)
    }

    // MARK: Texts

    private mutating func deliver(_ frame: Frame, to socket: SocketID) {
        guard let name = open[socket] else {
            mistakes.append("\(socket) gets a frame after its close")
            return
        }
        guard !name.isEmpty else { return }
        guard let messages = Self.messages(in: frame.bytes[...]), messages.count == frame.messageCount else {
            mistakes.append("\(name) gets a malformed frame")
            return
        }
        received[name, default: []] += messages
    }

    /// The payloads of consecutive unmasked text frames.
    private static func messages(in bytes: ArraySlice<UInt8>) -> [String]? {
        var messages: [String] = []
        var rest = bytes
        while !rest.isEmpty {
            guard rest.popFirst() == 0x81, let short = rest.popFirst() else { return nil }
            let lengthBytes = short < 126 ? [short][...] : rest.prefix(short == 126 ? 2 : 8)
            if short >= 126 { rest = rest.dropFirst(lengthBytes.count) }
            let length = lengthBytes.reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= length else { return nil }
            messages.append(String(decoding: rest.prefix(length), as: UTF8.self))
            rest = rest.dropFirst(length)
        }
        return messages
    }

    private func substituted(_ text: String) -> String {
        text.replacing(/\$([a-z]+)/) { match in clients[String(match.1)]?.socket.description ?? String(match.0) }
    }
}

/// A loop's slots. A vacated slot is the next one used, so that slots are reused as often as possible.
private struct Slots {
    private var count = 0
    private var vacant: [Int] = []

    mutating func allocate() -> Int {
        if let slot = vacant.popLast() { return slot }
        count += 1
        return count - 1
    }

    mutating func release(_ slot: Int) { vacant.append(slot) }
}

/// A deterministic generator: a Weyl sequence, whose values do not repeat for 2^64 calls.
private struct WeylSequence: RandomNumberGenerator {
    private var last: UInt64 = 0

    mutating func next() -> UInt64 {
        last &+= 0x9E37_79B9_7F4A_7C15
        return last
    }
}
