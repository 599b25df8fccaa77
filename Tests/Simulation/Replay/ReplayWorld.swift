import Access
import Fleet
import PusherProtocol
import TestSupport

/// Clients, the gateway's processes one after another, and the store that survives them.
final class ReplayWorld {
    let scenario: ReplayScenario
    let judge: ReplayJudge
    private let store: ReplayStore
    private let fault: ReplayFault
    private(set) var process: SimulatedProcess
    /// All connections of the run, in the order in which they were opened.
    private(set) var connections: [ReplayConnection] = []
    /// The indices of those that client or gateway still have.
    private(set) var present: [Int] = []
    private var random: SplitMix
    /// The last ping payload that any client has read: a client that answers wrongly may send another's.
    private var lastPayload: [UInt8] = []

    init(_ scenario: ReplayScenario, seed: UInt64, steps: Int, fault: ReplayFault) throws(Discrepancy) {
        self.scenario = scenario
        self.fault = fault
        judge = ReplayJudge(scenario, seed: seed, steps: steps)
        store = try ReplayStore(backlogLimit: scenario.backlogLimit)
        random = SplitMix(seed: seed)
        process = try SimulatedProcess(scenario, store, judge, fault, seed: seed)
    }

    /// Performs one step and checks its results.
    func perform(_ step: ReplayStep) throws(Discrepancy) {
        switch step {
        case .connect(let client, let loop, let answers, let isQuick):
            let connection = connect(client, loop, answers)
            for name in isQuick ? scenario.clients[client].names : [] { subscribe(connection, name) }
        case .subscribe(let connection, let name): subscribe(connections[connection], name)
        case .unsubscribe(let connection, let name):
            connections[connection].wanted.remove(name)
            connections[connection].messages.append(.unsubscribe(name))
        case .read(let connection, let bytes): try read(connections[connection], bytes)
        case .answer(let connection, let messages): handle(connections[connection], most: messages)
        case .sendLatePong(let connection, let index):
            // A pong confirms what is before its ping, so the earlier ones need not be sent.
            let pongs = connections[connection].latePongs
            connections[connection].messages.append(.pong(pongs[index]))
            connections[connection].latePongs.removeFirst(index + 1)
        case .cut(let connection, let keepsMessages):
            connections[connection].cut(keepsMessages: keepsMessages)
            forgetGone()
        case .notice(let connection): close(connections[connection])
        case .announce(let audience, let lifetime): announce(audience, lifetime)
        case .acknowledge(let driver, let channel, let sequence, let kind):
            acknowledge(driver, channel, sequence, kind)
        case .markRead(let driver): command(MarkRead(nil), by: Identity(role: .driver, id: driver))
        case .write(let most): try process.write(most: most)
        case .publish(let most): process.publish(most: most)
        case .readPages(let most): try process.readPages(most: most)
        case .deliverPages(let most): process.deliverPages(most: most)
        case .drain(let loop): process.loops[loop].drainMailbox()
        case .turn(let loop, let writesMax): process.loops[loop].endTurn(writesMax: writesMax)
        case .tick(let loop): process.tick(loop)
        case .round: try process.round()
        case .wait(let milliseconds): judge.now += milliseconds
        case .kill:
            judge.summary.kills += 1
            try restart()
        case .stop:
            judge.summary.stops += 1
            // A drain takes a while, so the last pongs arrive.
            for index in present { handle(connections[index], most: .max) }
            try process.stop()
            try restart()
        case .fill(let isFull): store.isFull = isFull
        case .settle: try settle()
        }
        try judge.throwProblem()
    }

    // MARK: Connections

    private func connect(_ client: Int, _ loop: Int, _ answers: ReplayStep.Answers) -> ReplayConnection {
        let loop = process.loops[loop]
        let socket = SocketID(loop: loop.index, slot: loop.vacantSlot, using: &random)
        let connection = ReplayConnection(index: connections.count, socket: socket, client: client, answers: answers)
        connections.append(connection)
        present.append(connection.index)
        loop.open(connection)
        process.signIn(connection)
        judge.summary.connections += 1
        return connection
    }

    private func subscribe(_ connection: ReplayConnection, _ name: ChannelName) {
        connection.wanted.insert(name)
        connection.messages.append(.subscribe(name))
    }

    /// The gateway handles messages of a client, also of one that has lost the connection since.
    private func handle(_ connection: ReplayConnection, most: Int) {
        guard !connection.isClosed else { return }
        for message in connection.messages.prefix(most) {
            process.loops[connection.socket.loop].handle(message, of: connection)
        }
        connection.messages.removeFirst(min(most, connection.messages.count))
    }

    private func read(_ connection: ReplayConnection, _ bytes: Int) throws(Discrepancy) {
        for received in connection.read(bytes) {
            switch received {
            case .text(let frame): try judge.receive(frame, connection)
            case .ping(let payload):
                try judge.receivePing(connection)
                answer(payload, connection)
                lastPayload = payload
            }
        }
        forgetGone()
    }

    private func answer(_ payload: [UInt8], _ connection: ReplayConnection) {
        switch connection.answers {
        case .atOnce: connection.messages.append(.pong(payload))
        case .late: connection.latePongs.append(payload)
        case .never: break
        case .wrongly:
            let wrong = [lastPayload, [], payload.dropLast(), payload.reversed(), payload + [0]]
            connection.messages.append(.pong(random.pick(wrong) ?? []))
        }
    }

    private func close(_ connection: ReplayConnection) {
        guard !connection.isClosed else { return }
        process.loops[connection.socket.loop].close(connection)
        forgetGone()
    }

    /// Forgets connections that the gateway has closed and whose clients read nothing more.
    private func forgetGone() {
        present.removeAll { connections[$0].isClosed && (connections[$0].isCut || connections[$0].unread == 0) }
    }

    // MARK: Commands

    private func command(_ action: any Command, by actor: Identity) {
        process.requests.append(.command(IssuedCommand(action, by: actor, correlationID: "c")))
    }

    private func announce(_ audience: Announcement.Audience, _ lifetime: String) {
        let announcement = Announcement(type: lifetime, audience: audience, data: Array("{}".utf8))
        command(Announce(announcement), by: Identity(role: .admin, id: "1"))
    }

    private func acknowledge(_ driver: String, _ channel: String, _ sequence: Int, _ kind: TelemetryEvent.Kind) {
        guard let sent = judge.model.channels[channel]?[sequence - 1] else { return }
        let report = TelemetryEvent(
            notificationID: sent.id, type: "new_job", entityID: nil, kind: kind, timestamp: "2026-11-21T12:00:00Z")
        command(RecordTelemetry([report]), by: Identity(role: .driver, id: driver))
    }

    // MARK: Processes

    /// All that the process had in memory is lost, and all connections are. Clients may still read what was sent to them.
    private func restart() throws(Discrepancy) {
        for index in present { connections[index].isClosed = true }
        forgetGone()
        try store.open(at: judge.now)
        judge.processStarted()
        process = try SimulatedProcess(scenario, store, judge, fault, seed: random.next())
    }

    // MARK: Settling

    /// All clients connect anew and answer at once, until everything is done. Then nothing may be missing.
    private func settle() throws(Discrepancy) {
        store.isFull = false
        for index in present {
            connections[index].cut(keepsMessages: true)
            close(connections[index])
        }
        let last = scenario.clients.indices.map { client in
            let connection = connect(client, client % scenario.loopCount, .atOnce)
            for name in scenario.clients[client].names { subscribe(connection, name) }
            return connection
        }
        var rounds = 0
        while try !isSettled(last) {
            rounds += 1
            guard rounds < 1_000 else { throw Discrepancy("the gateway does not come to rest") }
        }
        for connection in last { try judge.checkSettled(connection) }
        try judge.checkStored()
        for key in judge.model.cursors.keys { try checkCursor(of: key) }
    }

    /// Lets everybody do something.
    /// - Returns: whether nobody had anything to do.
    private func isSettled(_ last: [ReplayConnection]) throws(Discrepancy) -> Bool {
        var isIdle = process.isStoreIdle
        for loop in process.loops { isIdle = isIdle && loop.isIdle && !loop.isWaiting }
        try process.round()
        for loop in process.loops { process.tick(loop.index) }
        for connection in last {
            isIdle = isIdle && connection.unread == 0 && connection.messages.isEmpty
            try read(connection, .max / 2)
            handle(connection, most: .max)
        }
        try judge.throwProblem()
        return isIdle
    }

    /// The file must have the cursor that the model has.
    private func checkCursor(of key: ReceiptKey) throws(Discrepancy) {
        let request = CursorRequest(key: key, replyTo: ReplyAddress(loop: 0, request: 0))
        let results = try store.execute([.subscription(request)], now: judge.now) ?? []
        for result in results { try judge.committed(.subscription(request), result) }
    }
}
