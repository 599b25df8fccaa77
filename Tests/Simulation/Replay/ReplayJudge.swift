import Fleet
import JSON
import PusherProtocol

/// Compares what happens in a delivery world with the contract (``ReplayModel``): nothing is lost, nothing is confirmed
/// that was not received, the order is kept, and nothing is repeated that need not be.
final class ReplayJudge {
    /// A notification on one of its two names.
    private struct Event {
        let name: ChannelName
        let channel: String
        let sequence: Int64
    }

    /// What a loop knows of a device.
    private struct PongedKey: Hashable {
        let loop: Int
        let key: ReceiptKey
    }

    /// A request of a loop.
    private struct Request: Hashable {
        let loop: Int
        let number: Int
    }

    private let clients: [ReplayScenario.Client]
    private(set) var model: ReplayModel
    var summary: ReplaySummary
    /// Milliseconds since 1970.
    var now = ReplayStore.start
    /// The first problem that was found where nothing can be thrown.
    private var problem: String?
    /// Every notification, by its frame: a replayed one has the same bytes as the live one.
    private var events: [[UInt8]: Event] = [:]
    private let succeeded: [[UInt8]: ChannelName]

    // What this process has seen.
    /// What each loop's pongs have confirmed, whether or not it is posted.
    private var ponged: [PongedKey: Int64] = [:]
    /// What the loops have posted as confirmed.
    private var posted: [ReceiptKey: Int64] = [:]
    /// The same when each subscription was handled.
    private var openings: [Request: Int64] = [:]

    init(_ scenario: ReplayScenario, seed: UInt64, steps: Int) {
        clients = scenario.clients
        model = ReplayModel(backlogLimit: scenario.backlogLimit)
        summary = ReplaySummary(seed: seed, steps: steps)
        let names = Set(scenario.clients.flatMap(\.names))
        succeeded = Dictionary(
            names.map { (ServerMessage.subscriptionSucceeded($0).bytes, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// A new process knows nothing of the one before.
    func processStarted() { (ponged, posted, openings) = ([:], [:], [:]) }

    /// Throws what was found since the last call.
    func throwProblem() throws(Discrepancy) {
        if let problem { throw Discrepancy(problem) }
    }

    /// The device's part of a channel; nil if the client does not own it.
    func key(_ connection: ReplayConnection, _ name: ChannelName) -> ReceiptKey? {
        let client = clients[connection.client]
        let channel = name.text.hasPrefix("private-") ? String(name.text.dropFirst(8)) : name.text
        guard let identity = client.identity else {
            // A backend's signature counts as the person's own on the person's channel only.
            guard channel != "drivers-channel" else { return nil }
            return ReceiptKey(channel: channel, owner: "driver:\(channel.dropFirst(7))", device: "")
        }
        guard identity.role == .driver else { return nil }
        return ReceiptKey(channel: channel, owner: identity.key, device: client.device)
    }

    // MARK: Loops

    /// A pong was handled.
    func confirmed(_ receipts: ArraySlice<Receipt>, on loop: Int) {
        for receipt in receipts where receipt.confirmedAt != nil {
            let key = PongedKey(loop: loop, key: receipt.key)
            ponged[key] = max(ponged[key] ?? 0, receipt.upTo)
        }
    }

    /// A loop has posted receipts to the store.
    func posted(_ receipts: [Receipt]) {
        for receipt in receipts where receipt.confirmedAt != nil {
            posted[receipt.key] = max(posted[receipt.key] ?? 0, receipt.upTo)
        }
    }

    /// A loop has asked for the cursor of a subscription.
    func opening(_ request: CursorRequest) {
        openings[Request(loop: request.replyTo.loop, number: request.replyTo.request)] = max(
            posted[request.key] ?? 0, ponged[PongedKey(loop: request.replyTo.loop, key: request.key)] ?? 0)
    }

    /// What was confirmed when the gateway handled a subscription.
    func confirmedAtOpening(_ number: Int, _ loop: Int) -> Int64 {
        openings[Request(loop: loop, number: number)] ?? 0
    }

    /// A loop queues a message of a replay, or an error, which names no channel.
    func check(sent frame: Frame, _ connection: ReplayConnection) {
        guard let channel = WireMessage(frame, at: 0).channel else { return }
        guard connection.joined.contains(where: { $0.text == channel }) else {
            problem = problem ?? "connection \(connection.index) is not subscribed to \(channel), but gets a page of it"
            return
        }
        if Self.isGap(frame.bytes) { connection.gapsQueued += 1 }
    }

    // MARK: Store

    /// The store has committed a request.
    func committed(_ request: ReplayStore.Request, _ result: ReplayStore.Result) throws(Discrepancy) {
        switch (request, result) {
        case (.command(let command), .command(.committed(let result))): try committed(command, result)
        case (.receipts, .receipts(let receipts)):
            for receipt in receipts { try stored(receipt) }
        case (.subscription(let request), .subscription(let reply)):
            let expected = model.subscribe(request.key, at: now)
            guard reply.cursor == expected else {
                throw Discrepancy("\(request.key) starts at \(reply.cursor), expected \(expected)")
            }
        default: throw Discrepancy("the store replied \(result)")
        }
    }

    private func committed(_ command: IssuedCommand, _ result: CommandResult) throws(Discrepancy) {
        for (notification, sequence) in zip(result.notifications, result.sequences) {
            guard model.add(notification, sequence) else {
                throw Discrepancy("\(notification.channel) has no notification before \(sequence)")
            }
            summary.notifications += 1
            for prefix in ["", "private-"] {
                guard let name = ChannelName(prefix + notification.channel, lengthMax: 256) else { continue }
                let frame = ServerMessage.event(notification.event, name, data: notification.data)
                events[frame.bytes] = Event(name: name, channel: notification.channel, sequence: sequence)
            }
        }
        switch command.command {
        case let telemetry as RecordTelemetry:
            for report in telemetry.events { model.acknowledge(report.notificationID, by: command.actor.key) }
        case is MarkRead:
            for sent in model.channels[command.actor.channel] ?? [] { model.acknowledge(sent.id, by: command.actor.key) }
        default: break
        }
    }

    private func stored(_ receipt: Receipt) throws(Discrepancy) {
        let key = receipt.key
        guard receipt.confirmedAt != nil else { return }
        summary.confirmations += 1
        if receipt.after < receipt.upTo {
            for sequence in (receipt.after + 1)...receipt.upTo where !model.hasReceived(sequence, key) {
                throw Discrepancy("\(key) has confirmed \(sequence), but not received it")
            }
        }
        let missing = model.missing(key, after: model.cursors[key] ?? 0, upTo: receipt.upTo, at: now)
        if let first = missing.first {
            throw Discrepancy("the cursor of \(key) moves to \(receipt.upTo), but it has not received \(first)")
        }
        model.advance(key, to: receipt.upTo)
    }

    /// Checks a page that the store has read.
    /// - Returns: the notifications that its gap counts.
    func check(_ page: ReplayPage?, of request: ReplayRequest) throws(Discrepancy) -> [Int64] {
        guard let page else { return [] }
        let expected = model.page(request, at: now)
        let sequences = page.notifications.map(\.sequence)
        guard sequences == expected.sequences else {
            throw Discrepancy("the page behind \(request.after) of \(request.key) has \(sequences), not \(expected.sequences)")
        }
        guard
            page.gap?.count ?? 0 == expected.gap.count, page.gap?.from == expected.gap.first?.createdAt,
            page.gap?.to == expected.gap.last?.createdAt
        else {
            throw Discrepancy("the page of \(request.key) has the gap \(String(describing: page.gap)), not \(expected.gap)")
        }
        if !sequences.isEmpty { summary.pages += 1 }
        return expected.gap.map(\.sequence)
    }

    /// After a drain, and when everything is settled, the store must have all that pongs have confirmed.
    func checkStored() throws(Discrepancy) {
        let lost = ponged.filter { model.cursors[$0.key.key] ?? 0 < $0.value }
        guard let (known, sequence) = lost.min(by: { "\($0.key.key)" < "\($1.key.key)" }) else { return }
        let stored = model.cursors[known.key] ?? 0
        throw Discrepancy("\(known.key) has confirmed \(sequence), but the store has only \(stored)")
    }

    // MARK: Clients

    /// A client has read a text message.
    func receive(_ frame: [UInt8], _ connection: ReplayConnection) throws(Discrepancy) {
        if let event = events[frame] { return try receive(event, connection) }
        if let name = succeeded[frame] {
            guard key(connection, name) != nil else { return }
            guard connection.starts[name]?.isEmpty == false else {
                throw Discrepancy("connection \(connection.index) got subscription_succeeded on \(name.text), which is not open")
            }
            connection.current[name] = connection.starts[name]?.removeFirst()
        } else if Self.isGap(frame) {
            try receiveGap(frame, connection)
        } else if !frame.isOfProtocol {
            throw Discrepancy("connection \(connection.index) got \(String(decoding: frame, as: UTF8.self))")
        }
    }

    private func receive(_ event: Event, _ connection: ReplayConnection) throws(Discrepancy) {
        let (name, sequence) = (event.name, event.sequence)
        let what = "connection \(connection.index) got \(name.text) \(sequence)"
        summary.received += 1
        summary.trace.add(UInt64(connection.index))
        summary.trace.add(UInt64(sequence))
        let last = connection.last[name] ?? 0
        guard last < sequence else { throw Discrepancy("\(what) behind \(last)") }
        connection.last[name] = sequence
        guard let key = key(connection, name) else { return }
        guard let start = connection.current[name] else { throw Discrepancy("\(what) before subscription_succeeded") }
        guard sequence > start.confirmed else { throw Discrepancy("\(what), which the device had confirmed") }
        let left = model.pending(key, after: max(last, start.after), at: now).map(\.sequence)
        if let first = left.first(where: { $0 < sequence && connection.announced[name]?.contains($0) != true }) {
            throw Discrepancy("\(what), but \(first) was left out")
        }
        model.receive(sequence, key)
    }

    private func receiveGap(_ frame: [UInt8], _ connection: ReplayConnection) throws(Discrepancy) {
        summary.gaps += 1
        guard let (channel, count) = Self.gap(in: frame), let name = ChannelName(channel, lengthMax: 256),
            let key = key(connection, name), connection.gaps[name]?.isEmpty == false,
            let sequences = connection.gaps[name]?.removeFirst()
        else {
            throw Discrepancy("connection \(connection.index) got the gap \(String(decoding: frame, as: UTF8.self))")
        }
        guard count == sequences.count, let first = sequences.first, first > connection.last[name] ?? 0 else {
            throw Discrepancy("connection \(connection.index) got a gap of \(count) for \(sequences)")
        }
        connection.announced[name, default: []].formUnion(sequences)
        model.receiveGap(sequences, key)
    }

    /// A client has read a ping: only owners get them.
    func receivePing(_ connection: ReplayConnection) throws(Discrepancy) {
        if clients[connection.client].names.allSatisfy({ key(connection, $0) == nil }) {
            throw Discrepancy("connection \(connection.index) owns no channel, but got a ping")
        }
    }

    /// After settling, each device has received what it is owed, and has confirmed what its connection has received.
    func checkSettled(_ connection: ReplayConnection) throws(Discrepancy) {
        for name in clients[connection.client].names {
            guard let key = key(connection, name) else { continue }
            guard connection.current[name] != nil else {
                throw Discrepancy("connection \(connection.index) is not subscribed to \(name.text)")
            }
            if let first = model.missing(key, after: 0, upTo: .max, at: now).first {
                throw Discrepancy("\(key) has lost \(first)")
            }
            let last = connection.last[name] ?? 0
            guard model.cursors[key] ?? 0 >= last else {
                throw Discrepancy("\(key) has received \(last), but the store has \(model.cursors[key] ?? 0)")
            }
        }
    }

    // MARK: Frames

    private static let gapStart = Array(#"{"event":"fleetwire:gap""#.utf8)

    private static func isGap(_ frame: [UInt8]) -> Bool {
        frame.payload.starts(with: gapStart)
    }

    private static func gap(in frame: [UInt8]) -> (channel: String, count: Int)? {
        var (channel, count): (String?, Int?)
        try? frame.payload.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { name, value in
                guard name.equals("data"), let data = value.string else { return }
                try Array(data.utf8).withUnsafeBytes { data in
                    try JSONReader.object(data) { name, value in
                        if name.equals("channel") { channel = value.string }
                        if name.equals("count") { count = Int(String(decoding: value.raw, as: UTF8.self)) }
                    }
                }
            }
        }
        guard let channel, let count else { return nil }
        return (channel, count)
    }
}

extension [UInt8] {
    /// Whether a text message confirms the sign-in, or is an error: for example, a subscription exists already.
    fileprivate var isOfProtocol: Bool { payload.starts(with: #"{"event":"pusher:"#.utf8) }

    /// The payload of a text frame of less than 64 KiB.
    fileprivate var payload: ArraySlice<UInt8> { dropFirst(self[1] < 126 ? 2 : 4) }
}
