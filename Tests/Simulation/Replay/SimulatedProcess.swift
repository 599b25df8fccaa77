import Access
import FanOut
import Fleet
import PusherProtocol
import TestSupport

/// One process of the gateway, until it is killed or ends: a hub, loops, and the queues of the store's two threads. What
/// it has in memory dies with it.
final class SimulatedProcess {
    let scenario: ReplayScenario
    let judge: ReplayJudge
    let fault: ReplayFault
    let store: ReplayStore
    private(set) var hub: Hub
    private(set) var loops: [SimulatedLoop] = []
    var socketBytes: Int { scenario.socketBytes }

    /// What waits for the store's writer, oldest first.
    var requests: [ReplayStore.Request] = []
    /// What waits for its reader.
    var pageRequests: [ReplayRequest] = []
    /// Results of the writer's last transaction that it has not passed on; nil: the disk was full.
    private var results: [(request: ReplayStore.Request, result: ReplayStore.Result?)] = []
    /// Pages that the reader has not passed on.
    private var pages: [(request: ReplayRequest, page: ReplayPage?, gap: [Int64])] = []
    /// Receipts that could not be written: the next transaction writes them first.
    private var refusedReceipts: [Receipt] = []

    private static let policy = ChannelPolicy([
        .init("driver-*", .ownDriver, isDurable: true), .init("drivers-channel", .anyDriver, isDurable: true),
        .init("admin-channel", .admin),
    ])

    init(
        _ scenario: ReplayScenario, _ store: ReplayStore, _ judge: ReplayJudge, _ fault: ReplayFault, seed: UInt64
    ) throws(Discrepancy) {
        self.scenario = scenario
        self.store = store
        self.judge = judge
        self.fault = fault
        var rules = AppRules()
        rules.channels = Self.policy
        hub = Hub(loopCount: scenario.loopCount, apps: [rules], gate: FleetAccess([rules]))
        loops = (0..<scenario.loopCount).map { SimulatedLoop(index: $0, self, pageMax: scenario.pageMax, seed: seed) }
        apply(.tick(judge.now))
        for recovered in try store.recover(now: judge.now) {
            let notification = hubNotification(
                recovered.notification, recovered.sequence, expiresAt: judge.now + recovered.milliseconds)
            if let notification { apply(.hold(notification, app: 0)) }
        }
    }

    /// Applies an input to the hub. The effects are in the mailboxes of their loops.
    func apply(_ input: Hub.Input) { change { $0.apply(input, &$1) } }

    /// Applies an input of the fleet in the same way.
    func apply(_ input: FleetInput) { change { $0.apply(input, &$1) } }

    private func change(_ body: (inout Hub, inout [Hub.Effect]) -> Void) {
        var effects: [Hub.Effect] = []
        body(&hub, &effects)
        for effect in effects { loops[effect.loop].mailbox.append(.instruction(effect.instruction)) }
        hub.drainReports { _ in }
    }

    /// A user signs in, which plain names require.
    func signIn(_ connection: ReplayConnection) {
        let client = scenario.clients[connection.client]
        guard let identity = client.identity else { return }
        let request = SigninRequest(auth: "key:signature", userData: #"{"id":"\#(identity.key)"}"#)
        let user = try? request.user(on: connection.socket, key: "key", limits: Limits()) { _, _ in true }
        guard let user else { return }
        apply(.authorized(connection.socket, identity, device: client.device, channel: nil))
        apply(.signin(connection.socket, user))
    }

    /// The authorization endpoint signs a subscription; a backend may have signed it instead.
    func authorize(_ connection: ReplayConnection, _ name: ChannelName) -> SubscriptionGrant? {
        let client = scenario.clients[connection.client]
        if let identity = client.identity {
            apply(.authorized(connection.socket, identity, device: client.device, channel: name))
        }
        let request = SubscriptionRequest(channel: name.text, auth: "key:signature")
        return try? request.grant(to: connection.socket, key: "key", limits: Limits(), verify: { _, _ in true })
    }

    // MARK: The store's writer

    /// Whether a thread of the store has something to do.
    var isStoreIdle: Bool {
        requests.isEmpty && pageRequests.isEmpty && results.isEmpty && pages.isEmpty && refusedReceipts.isEmpty
    }

    /// Executes so many requests of each priority in one transaction, once the last one's results are passed on.
    func write(most: Int) throws(Discrepancy) {
        guard results.isEmpty else { return }
        var batch: [ReplayStore.Request] = []
        for priority in 0...2 {
            var taken = 0
            requests.removeAll { request in
                guard request.priority == priority, taken < most else { return false }
                taken += 1
                batch.append(request)
                return true
            }
        }
        if !refusedReceipts.isEmpty { batch.insert(.receipts(refusedReceipts), at: 0) }
        guard !batch.isEmpty else { return }
        refusedReceipts = []
        if let done = try store.execute(batch, now: judge.now) {
            for (request, result) in zip(batch, done) { try judge.committed(request, result) }
            results = zip(batch, done).map { ($0, $1) }
        } else {
            judge.summary.refused += 1
            for case .receipts(let receipts) in batch where fault.keepsRefused { refusedReceipts += receipts }
            results = batch.map { ($0, nil) }
        }
    }

    /// Passes on results, in the order of the requests.
    func publish(most: Int) {
        for (request, result) in results.prefix(most) {
            switch (request, result) {
            case (_, .command(.committed(let result))): publish(result)
            case (_, .subscription(let reply)): answer(reply.request, fault.cursor(reply))
            case (_, .some): break
            case (.command, nil): requests.append(request)  // its sender gets 503, and tries again
            case (.receipts, nil): break
            case (.subscription(let request), nil): answer(request, nil)
            }
        }
        results.removeFirst(min(most, results.count))
    }

    private func answer(_ request: CursorRequest, _ cursor: Int64?) {
        loops[request.replyTo.loop].mailbox.append(.cursor(request: request.replyTo.request, cursor))
    }

    private func publish(_ result: CommandResult) {
        let notifications = zip(result.notifications, result.sequences).compactMap { notification, sequence in
            hubNotification(notification, sequence, expiresAt: notification.publishUntil)
        }
        if !notifications.isEmpty { apply(.notify(notifications, app: 0)) }
    }

    /// As `CommitPublisher` makes it.
    private func hubNotification(_ notification: Notification, _ sequence: Int64, expiresAt: Int64) -> FleetAccess.Notification? {
        guard let channel = ChannelName(notification.channel, lengthMax: 256) else { return nil }
        let frame = ServerMessage.event(notification.event, channel, data: notification.data)
        let publication = Hub.Publication(channel: channel, frame: frame)
        let mirrored = Self.policy.mirror(of: channel).map { [Hub.Publication(publication, mirroredOn: $0)] } ?? []
        return FleetAccess.Notification(
            id: notification.id, publications: [publication] + mirrored,
            sequence: Self.policy.owner(of: channel) == nil ? nil : sequence, expiresAt: expiresAt)
    }

    // MARK: The store's reader

    func readPages(most: Int) throws(Discrepancy) {
        for request in pageRequests.prefix(most) {
            let page = try store.page(for: request, now: judge.now)
            let gap = try judge.check(page, of: request)
            pages.append((request, page.map { fault.page(request, $0) }, gap))
        }
        pageRequests.removeFirst(min(most, pageRequests.count))
    }

    func deliverPages(most: Int) {
        for (request, page, gap) in pages.prefix(most) {
            let address = request.replyTo
            loops[address.loop].mailbox.append(.page(request: address.request, page, gap: gap))
        }
        pages.removeFirst(min(most, pages.count))
    }

    // MARK: Time and end

    /// All threads do all that they have to do.
    func round() throws(Discrepancy) {
        try write(most: .max)
        publish(most: .max)
        try readPages(most: .max)
        deliverPages(most: .max)
        for loop in loops {
            loop.drainMailbox()
            loop.endTurn(writesMax: .max)
        }
    }

    /// As `Node.ticked()`.
    func tick(_ loop: Int) {
        if loop == 0 { apply(.tick(judge.now)) }
        loops[loop].tick()
    }

    /// Ends after SIGTERM: what was accepted is executed and published, the connections are closed, and the receipts are
    /// stored.
    func stop() throws(Discrepancy) {
        try finishWriting()
        for loop in loops {
            loop.drainMailbox()
            for connection in loop.connections { connection.map { loop.close($0) } }
        }
        for loop in loops where fault.postsAtEnd { loop.storeReceipts() }
        try finishWriting()
        if !store.isFull { try judge.checkStored() }
    }

    private func finishWriting() throws(Discrepancy) {
        repeat {
            try write(most: .max)
            publish(most: .max)
            if store.isFull {
                requests = []
                return
            }  // nobody waits for a full disk
        } while !requests.isEmpty || !refusedReceipts.isEmpty
    }
}

extension ReplayStore.Request {
    /// The order in which the writer takes them: dispatchers' commands, what loops tell and ask, people's reports.
    fileprivate var priority: Int {
        switch self {
        case .receipts, .subscription: return 1
        case .command(let command):
            if command.command is Announce { return 0 }
            return 2
        }
    }
}
