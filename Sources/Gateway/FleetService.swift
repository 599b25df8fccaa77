import Access
import Accounts
import Addresses
import Cluster
import Configuration
import Crypto
import FanOut
import FleetRules
import HTTPAPI
import JWT
import Observability
import OneTimeCodes
import Push
import PusherProtocol
import SMS
import Server
import Store
import Threads
import Webhooks

/// The parts of the fleet API that all loops share: the store's writer and reader threads, the push lanes, the cache of
/// token issuers' keys, and the counters.
final class FleetService: Sendable {
    let counters = FleetCounters()
    /// The application that has the fleet's channels.
    let app: AppIndex
    let issuers: [TokenIssuer]
    let keyCache: IssuerKeyCache
    let pushService: PushService
    let trips: SharedTrips
    let accounts = AccountDirectory()
    let activity = DriverActivity()
    let endedSessions = EndedSessions()
    let codeMetrics = CodeMetrics()
    /// The requests of each client address for codes (`otp.requests_per_address`).
    private let codeAddresses: Lock<RequestWindows>
    /// The tries of each client address: five for each of its codes.
    private let tryAddresses: Lock<RequestWindows>
    private let codes: CodeDispatch
    /// Requests that are refused before they reach the store.
    let refusedRequests: RateLimitedLog
    /// Requests that took long.
    let slowRequests: RateLimitedLog

    private let refusedTransitions: RateLimitedLog
    /// Queries that the store could not answer.
    private let unreadableStore: RateLimitedLog
    private let settings: Settings
    private let catalogue: Lock<NotificationCatalogue>
    private let writer: StoreWriter
    private let reader: StoreReader
    private let hub: SharedHub
    private let intake = CommandIntake()
    /// Nil unless the gateway is a node of a cluster.
    let cluster: ClusterService?
    /// By issuer; nil if the issuer's key is configured.
    private let keyFetchers: [JWKSFetcher?]

    /// Opens the store, restores the job assignments of open orders in the hub, and starts the push lanes.
    /// - Throws: ``StartError`` if the store cannot be opened, or a push provider's key cannot be used.
    init(
        settings: Settings, hub: SharedHub, policy: ChannelPolicy, webhooks: WebhookWorker, metrics: NodeMetrics,
        cluster: ClusterService?, log: Log
    ) throws(StartError) {
        self.settings = settings
        self.cluster = cluster
        self.hub = hub
        codeAddresses = Lock(RequestWindows(ofTenMinutes: settings.otp.requestsPerAddress))
        tryAddresses = Lock(RequestWindows(ofTenMinutes: settings.otp.requestsPerAddress * CodeSession.triesMax))
        catalogue = Lock(settings.notifications)
        app = settings.fleetAppIndex
        issuers = settings.issuers
        keyCache = IssuerKeyCache(issuers: issuers)
        let app = app
        let pushService = try PushService(
            settings.push,
            PushService.Observers(
                failed: { webhooks.post(AppWebhookEvent(app: app, .notificationFailed($0, $1))) },
                removed: { webhooks.post(AppWebhookEvent(app: app, .deviceRemoved($0))) }),
            log: log)
        self.pushService = pushService
        refusedRequests = RateLimitedLog(log, .info, "request_refused")
        slowRequests = RateLimitedLog(log, .warning, "slow_request")
        refusedTransitions = RateLimitedLog(log, .warning, "transition_refused")
        let unreadableStore = RateLimitedLog(log, .error, "store_unreadable")
        self.unreadableStore = unreadableStore
        let counters = counters
        let (activity, intake) = (activity, intake)
        let codes = CodeDispatch(SMSAdapter(settings.otp), log: log)
        self.codes = codes
        let trips = SharedTrips(settings.trips, hub: hub, app: app, policy: policy, counters: counters) {
            metrics.countLimited(.followedJobs)
        }
        self.trips = trips
        let order = Lock(CommitOrder())
        let publisher = CommitPublisher(
            hub: hub, app: app, policy: policy, trips: trips, accounts: accounts, codes: codes, codeMetrics: codeMetrics,
            endedSessions: endedSessions, pushService: pushService,
            counters: counters, intake: intake, order: order, log: log, refusedTransitions: refusedTransitions,
            onDroppedUpdates: { metrics.countLimited(.deliveryUpdates, $0) })
        do throws(StoreError) {
            var options = try StoreWriter.Options(settings, lanes: pushService.lanes, trips)
            options.member = cluster.map { cluster in
                ClusterMember(
                    name: cluster.node.name, epoch: "\(cluster.node.epoch)", applied: { order.withLock { $0.applied } })
            }
            options.isConnected = { hub.isConnected(Identity(role: .driver, id: $0), app: app) }
            options.lastRequest = { activity.lastRequest(of: $0) }
            options.admitsOwnCommand = { hub.hasRoom && intake.post { .queued } == .queued }
            writer = try StoreWriter(
                options,
                onOpen: { executor throws(DatabaseError) in try publisher.restore(from: executor) },
                onCommit: { commit in
                    publisher.publish(commit)
                    if commit.droppedReceipts > 0 { metrics.countLimited(.receipts, commit.droppedReceipts) }
                    metrics.countLimited(.idempotencyKeys, commit.counts.evictedResponses)
                    metrics.countLimited(.devices, commit.counts.forgottenCursors)
                },
                takePublished: { hub.takePublished() }, onEvent: { log.report($0) })
        } catch {
            codes.stop()
            throw StartError("\(error)")
        }
        let writer = writer
        cluster?.observe(
            ClusterService.Observers(
                onCommit: { publisher.receive($1, position: $0) },
                onNote: { note in
                    if let positions = PositionNote(note) { trips.record(positions) }
                    if let answer = AnswerNote(note, now: Clock.unixMilliseconds()) { counters.count(answer.event) }
                },
                onTick: { if order.withLock({ $0.needsLog(at: Clock.monotonicMilliseconds()) }) { writer.look() } }))
        do throws(StoreError) {
            reader = try StoreReader(
                settings.store.address, threadCount: settings.store.readerCount,
                queuePerSubjectMax: settings.apps[settings.fleetAppIndex].limits.fleetQueriesWaiting,
                confirmSeconds: settings.delivery.confirmSeconds, backlogHours: settings.delivery.backlogHours,
                backlogLimit: settings.delivery.backlogLimit, trips: settings.trips, encode: FleetResponses.body(of:),
                onReplies: {
                    publisher.publish($0) { request in intake.post { writer.post(request) } == .queued }
                },
                onReplays: { publisher.publish($0) },
                onExpired: { counters.count($0) }, onPushQueues: { pushService.record($0) },
                onUnconfirmed: { counters.record(unconfirmed: $0) },
                onError: { error in
                    if error.kind == .damaged { writer.report(damage: error) }
                    unreadableStore.write { ["reason": .text("\(error)")] }
                })
        } catch {
            codes.stop()
            writer.stop()
            throw StartError("\(error)")
        }
        let keyCache = keyCache
        keyFetchers = issuers.enumerated().map { index, issuer in
            guard case .remote(let url, _) = issuer.keys else { return nil }
            return JWKSFetcher(issuer: index, url: url, keyCache: keyCache, hub: hub, log: log)
        }
        trips.connect { command in intake.post { writer.post(command) } }
        // Not by the intake: the command whose SMS it is was accepted, and a drain waits for its reply.
        codes.connect { writer.post($0) == .queued }
        let confirmMilliseconds = Int64(settings.delivery.confirmSeconds) * 1_000
        pushService.start(
            settings.notifications, report: { writer.post($0) },
            presence: { hub.presence(of: $0, app: app, policy, confirmMilliseconds: confirmMilliseconds) },
            leads: { writer.leads })
    }

    /// Queues a command for the store's writer, if its queue has a place for it.
    /// - Returns: nil if the gateway drains; the command is then not queued.
    func post(_ command: CommandRequest) -> PostResult? { intake.post { writer.post(command) } }

    /// Lets this node apply what other nodes have committed; see ``StoreWriter/look(replyTo:)``.
    func look(replyTo address: ReplyAddress) -> Bool { writer.look(replyTo: address) }

    /// Accepts no more commands, and waits until the events and replies of those that were accepted are in the mailboxes.
    /// - Parameter seconds: the longest time to wait.
    /// - Returns: whether that was long enough.
    func closeIntake(waiting seconds: Int) -> Bool { intake.close(waiting: seconds) }

    /// Ends ``closeIntake(waiting:)`` at once.
    func abortIntake() { intake.abort() }

    /// Queues the request for the cursor of a subscription.
    func post(_ request: CursorRequest) -> PostResult { writer.post(request) }

    /// Queues what was written to clients and what they have confirmed.
    func post(_ receipts: [Receipt]) -> PostResult { writer.post(receipts) }

    /// Queues the request for a page of a replay. Returns false if the queue is full.
    func post(_ request: ReplayRequest) -> Bool { reader.post(request) }

    /// Queues a query for the store's readers, if their queue has a place for it.
    func post(_ query: QueryRequest) -> PostResult { reader.post(query) }

    /// Queues a request whose token's key is unknown; see ``JWKSFetcher/fetch(_:for:on:)``. Returns false if the queue
    /// is full.
    func fetch(_ key: MissingKey, for request: RequestID, on loop: Int) -> Bool {
        keyFetchers[key.issuer]?.fetch(key, for: request, on: loop) ?? false
    }

    /// Counts a request of a client address.
    /// - Returns: the seconds until it may make one; nil if it may make this one.
    func secondsToWait(_ address: IPAddress, _ limit: AddressLimit) -> Int? {
        let now = Clock.monotonicMilliseconds()
        let windows =
            switch limit {
            case .codes: codeAddresses
            case .tries: tryAddresses
            }
        let wait = windows.withLock { $0.wait(address, now: now) }
        if wait != nil { codeMetrics.count(refusedAddress: limit) }
        return wait
    }

    /// Logs how many lines were left out in the last second, and does what time makes due for trips. Call it once a
    /// second.
    func ticked() {
        refusedRequests.flush()
        slowRequests.flush()
        unreadableStore.flush()
        counters.tick(now: Clock.unixMilliseconds())
        refusedTransitions.flush()
        codes.tick()
        trips.tick()
    }

    /// Whether the catalogue has an entry for this type, or for the event that a moment of a trip is published as.
    func isCatalogued(_ type: String) -> Bool {
        catalogue.withLock { catalogue in
            let names = [type] + (TripMoment(rawValue: type).map { [$0.event] } ?? [])
            return names.contains { catalogue.entry(for: $0) != nil }
        }
    }

    /// Replaces the notification catalogue, and the keys, certificates and addresses of push providers: see
    /// ``PushService/use(_:_:withinSeconds:)``. Events and pushes use them from now on.
    /// - Throws: ``CredentialError`` if a key cannot be used; nothing has changed then.
    func use(_ new: Settings) throws(CredentialError) {
        try pushService.use(new.push, new.notifications, withinSeconds: settings.server.drainSeconds)
        catalogue.withLock { $0 = new.notifications }
        writer.use(NotificationRules(settings, new.notifications))
    }

    /// Stops the push lanes and the key fetchers, then closes the store once all queued requests are done. Call it after
    /// the last loop has stopped.
    /// - Parameter hasDrained: whether the loops have written all that was published.
    func stop(hasDrained: Bool) {
        if hasDrained { hub.endPublication() }
        // After a drain, this has no effect: the deadline that the drain set is earlier. It is needed if there was no
        // drain because the gateway could not start.
        pushService.finish(withinSeconds: settings.server.drainSeconds)
        pushService.wait()
        codes.stop()
        for fetcher in keyFetchers { fetcher?.stop() }
        for fetcher in keyFetchers { fetcher?.wait() }
        reader.stop()
        writer.stop()
    }

    /// The sign of progress of the store's writer thread.
    var writerHeartbeat: Heartbeat { writer.heartbeat }

    // MARK: Metrics

    /// After this time, a notification that no device has confirmed counts as unconfirmed; `delivery.confirm_seconds`.
    var confirmSeconds: Int { settings.delivery.confirmSeconds }

    var statistics: StoreStatistics { writer.statistics }
    /// Why the store cannot be written, for operators; nil: it can.
    var storeProblem: String? {
        let statistics = writer.statistics
        switch statistics.failure {
        case .lost: return "a file of the store was moved, replaced or deleted: see store_lost in the log"
        case .damaged: return "the store is damaged: see store_damaged in the log"
        case nil: return statistics.isUnavailable ? "the store cannot be written: see store_unavailable in the log" : nil
        }
    }

    /// Whether all that was answered with 200 is in the store that the next start opens.
    var isStoreIntact: Bool { writer.statistics.failure == nil }
    var readerDepth: Int { reader.queueDepth }
    /// Whether the other nodes of the cluster cannot be reached.
    var isDegraded: Bool { cluster?.isUp == false }

    /// The requests that wait for each thread.
    var queues: [(name: String, depth: Int)] {
        let store = [(name: "store-writer", depth: statistics.queueDepth), (name: "store-reader", depth: readerDepth)]
        let keys = keyFetchers.enumerated().compactMap { index, fetcher in
            fetcher.map { (name: "token-keys-\(index)", depth: $0.depth) }
        }
        let sms = settings.otp.isEnabled ? [(name: "sms", depth: codes.depth)] : []
        return store + pushService.queues + keys + sms
    }

    func families(prefix: String) -> [MetricFamily] {
        let store = statistics
        let buckets = Self.cumulative(StoreStatistics.commitBounds, store.commitBuckets)
        let waits = reader.waits
        let trips = counters.tripFamilies(prefix: prefix, followed: trips.count)
        return counters.families(prefix: prefix) + counters.reactionFamilies(prefix: prefix) + trips
            + counters.batchFamilies(prefix: prefix)
            + codeMetrics.families(prefix: prefix)
            + pushService.families(prefix: prefix) + [
                MetricFamily(
                    "\(prefix)_store_commit_seconds", help: "Commit latency in seconds, including fsync.", buckets: buckets,
                    sum: Double(store.commitNanoseconds) / 1e9, count: store.commits),
                MetricFamily(
                    "\(prefix)_store_transaction_rows", help: "Rows that a transaction of the store has written.",
                    buckets: Self.cumulative(RowCounts.bounds.map(Double.init), store.rows.buckets),
                    sum: Double(store.rows.sum), count: store.rows.buckets.reduce(0, +)),
                MetricFamily(
                    "\(prefix)_store_read_wait_seconds", help: "Time that reads wait for one of the store's readers.",
                    buckets: Self.cumulative(WaitTimes.bounds, waits.buckets), sum: Double(waits.milliseconds) / 1e3,
                    count: waits.count),
                MetricFamily(
                    "\(prefix)_store_commands_total", .counter, help: "Commands executed.", value: store.commands),
                MetricFamily(
                    "\(prefix)_store_unavailable_total", .counter,
                    help: "Commands answered 503: the store is not writable (disk full, server away).",
                    value: store.unavailable),
                MetricFamily(
                    "\(prefix)_store_failed_total", .counter, help: "Commands that failed with an internal error.",
                    value: store.failed),
                MetricFamily(
                    "\(prefix)_store_forgotten_total", .counter, help: "Rows deleted by retention.", value: store.deleted),
                MetricFamily(
                    "\(prefix)_store_retention_lag_seconds", .gauge,
                    help: "By how much the oldest rows of the logs are older than store.retention_days.",
                    value: Int(store.retentionLag / 1_000)),
                MetricFamily(
                    "\(prefix)_store_queue_depth", .gauge, help: "Requests queued for the store's threads.",
                    samples: [
                        ([("thread", "writer")], String(store.queueDepth)), ([("thread", "reader")], String(readerDepth)),
                    ]),
                MetricFamily(
                    "\(prefix)_store_outage", .gauge,
                    help: "1 while the store cannot be written: for a time (unavailable), or until a restart (lost, damaged).",
                    samples: store.outages.map { ([("reason", $0.reason)], $0.isOn ? "1" : "0") }),
            ] + storeFamilies(prefix: prefix) + (cluster?.families(prefix: prefix) ?? [])
    }

    private static func cumulative(_ bounds: [Double], _ buckets: [Int]) -> [(bound: Double, count: Int)] {
        var total = 0
        return zip(bounds, buckets).map { bound, count in
            total += count
            return (bound: bound, count: total)
        }
    }

    /// Of a file, or of the connections to a PostgreSQL server.
    private func storeFamilies(prefix: String) -> [MetricFamily] {
        guard let sizes = writer.fileSizes else {
            return [
                MetricFamily(
                    "\(prefix)_store_pool_waiting", .gauge,
                    help: "Reads that wait for one of the store.pool connections to the database.", value: readerDepth)
            ]
        }
        // Infinity compares with a threshold as the age of a very old backup does.
        let backupAge = Backup.lastTime(of: settings.store.path).map { (Clock.unixMilliseconds() - $0) / 1_000 }
        return [
            MetricFamily(
                "\(prefix)_store_backup_age_seconds", .gauge, help: "Age of the last good backup; +Inf: none is known.",
                samples: [([], backupAge.map { String(max(0, $0)) } ?? "+Inf")]),
            MetricFamily("\(prefix)_store_file_bytes", .gauge, help: "Size of the database file.", value: sizes.file),
            MetricFamily("\(prefix)_store_wal_bytes", .gauge, help: "Size of the write-ahead log's file.", value: sizes.log),
        ]
    }
}

extension StoreStatistics {
    /// The reasons for which the store cannot be written.
    fileprivate var outages: [(reason: String, isOn: Bool)] {
        let (isLost, isDamaged) =
            switch failure {
            case .lost: (true, false)
            case .damaged: (false, true)
            case nil: (false, false)
            }
        return [("unavailable", isUnavailable && failure == nil), ("lost", isLost), ("damaged", isDamaged)]
    }
}

extension StoreWriter.Options {
    init(_ settings: Settings, lanes: Set<PushLane>, _ trips: SharedTrips) throws(StoreError) {
        // The configuration is validated, so every entry is a valid key.
        let keys = settings.store.encryptionKeys.compactMap { key in
            Base64.bytes(of: key.key).flatMap(AESGCMKey.init).map { (key.id, $0) }
        }
        let address = settings.store.address
        // The configuration demands keys for a store that is not a file.
        self.init(
            address,
            keys: keys.isEmpty ? try .development(besideDatabase: settings.store.path) : DeviceKeys(keys),
            encode: FleetResponses.body(of:correlationID:))
        // Each statement is a round trip to a server, and all commands wait for their batch.
        if case .postgres = address { batchMilliseconds = 500 }
        durability = settings.store.durability == .full ? .full : .normal
        retentionDays = settings.store.retentionDays
        backlogHours = settings.delivery.backlogHours
        confirmSeconds = settings.delivery.confirmSeconds
        keepsAccounts = settings.accounts.isEnabled
        if let pattern = VehicleNumberPattern(settings.accounts.vehicleNumberPattern) { vehicleNumbers = pattern }
        if let issuer = settings.codeIssuer {
            codes.sign = { claims in
                TokenMint.token(
                    for: claims.identity, secret: issuer.secret, issuer: issuer.issuer, audience: issuer.audience, id: claims.id,
                    issuedAt: claims.issuedAt, lifetimeSeconds: CustomerTokenClaims.lifetime)
            }
        }
        codes.limits = CodeLimits(dailyMax: settings.otp.dailyMax, prefixDailyMax: settings.otp.prefixDailyMax)
        self.trips = settings.trips
        track = { trips.track(ofDriver: $0) }
        takePositions = { trips.takeUnsaved() }
        returnPositions = { trips.putBack($0) }
        rules = NotificationRules(settings)
        self.lanes = lanes
        staleDays = settings.push.staleDays
        queuePerSubjectMax = settings.apps[settings.fleetAppIndex].limits.fleetCommandsWaiting
    }
}

extension RequestWindows {
    /// The limit of ten minutes. Takes at most some 40 MB: the more requests an address may make, the fewer addresses are
    /// remembered.
    fileprivate init(ofTenMinutes most: Int) {
        self.init(most: most, milliseconds: 600_000, addressesMax: min(50_000, 5_000_000 / most))
    }
}

extension SharedHub {
    /// Whether a user has a connection.
    fileprivate func isConnected(_ user: Identity, app: AppIndex) -> Bool {
        guard let channel = ChannelName(user.channel, lengthMax: 256) else { return false }
        return read { $0.isConnected(user, on: channel, app: app) }
    }

    /// Whether one of a user's connections is subscribed to the user's own channel.
    fileprivate func isListening(_ user: Identity, app: AppIndex) -> Bool {
        guard let channel = ChannelName(user.channel, lengthMax: 256) else { return false }
        return read { $0.isListening(user, on: channel, app: app) }
    }

    /// Whether a user (``Identity/key``) is subscribed to their own channel.
    fileprivate func presence(
        of recipient: String, app: AppIndex, _ policy: ChannelPolicy, confirmMilliseconds: Int64
    ) -> RecipientPresence {
        guard let identity = Identity(key: recipient), let channel = ChannelName(identity.channel, lengthMax: 256) else {
            return .away
        }
        let isDurable = policy.owner(of: channel) != nil
        // Who is not here may be connected to another node, and confirm there.
        guard isListening(identity, app: app) || isClustered && isDurable else { return .away }
        return isDurable ? .confirming(within: confirmMilliseconds) : .connected
    }
}

extension WebhookEvent {
    fileprivate static func notificationFailed(_ failed: FailedPush, _ lane: PushLane) -> WebhookEvent {
        .notificationFailed(
            notificationID: failed.notificationID, userID: failed.recipient, provider: lane.provider.rawValue,
            reason: failed.reason)
    }

    fileprivate static func deviceRemoved(_ device: RemovedDevice) -> WebhookEvent {
        .deviceRemoved(
            userID: device.owner, provider: device.provider.rawValue, token: device.maskedToken, reason: device.reason)
    }
}
