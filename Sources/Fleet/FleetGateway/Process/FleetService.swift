import Access
import Addresses
import Cluster
import Configuration
import Crypto
import FanOut
import Fleet
import JWT
import Observability
import Push
import PusherAPI
import PusherProtocol
import Realtime
import SMS
import Server
import Threads
import Webhooks

/// The parts of the fleet API that all loops share: the store's writer and reader threads, the push lanes, the cache of
/// token issuers' keys, and the counters.
final class FleetService: ExtensionService {
    let counters = FleetCounters()
    /// The rates of each subject's requests.
    let rates: SubjectRates
    /// The application that has the fleet's channels.
    let app: AppIndex
    /// Who may have which of them.
    let policy: ChannelPolicy
    let issuers: [TokenIssuer]
    let keyCache: IssuerKeyCache
    let pushService: PushService
    let trips: SharedTrips
    /// The apps that never sign.
    let legacy: LegacyAccess
    let accounts = AccountDirectory()
    let activity = DriverActivity()
    let endedSessions = EndedSessions()
    let codeMetrics = SignInCodeMetrics()
    /// The requests of each client address for codes (`otp.requests_per_address`).
    private let codeAddresses: Lock<RequestWindows>
    /// The tries of each client address: five for each of its codes.
    private let tryAddresses: Lock<RequestWindows>
    let codes: SignInCodeDispatch
    /// Requests that are refused before they reach the store.
    let refusedRequests: RateLimitedLog

    /// Requests that could not be judged, because the configuration lacks a key.
    private let missingSettings: RateLimitedLog
    private let refusedTransitions: RateLimitedLog
    /// Queries that the store could not answer.
    private let unreadableStore: RateLimitedLog
    let settings: Settings
    private let catalogue: Lock<NotificationCatalogue>
    let writer: StoreWriter
    let reader: StoreReader
    let server: ServerParts
    private let publications: Publications
    private let intake = CommandIntake()
    /// By issuer; nil if the issuer's key is configured.
    let keyFetchers: [JWKSFetcher?]
    /// Nil if opaque tokens are refused.
    let introspection: TokenIntrospection?

    /// Opens the store, restores the job assignments of open orders in the hub, and starts the push lanes.
    /// - Throws: ``StartError`` if the store cannot be opened, or a push provider's key cannot be used.
    init(
        _ settings: Settings, _ policy: ChannelPolicy, _ publications: Publications, _ server: ServerParts
    ) throws(StartError) {
        self.settings = settings
        self.policy = policy
        self.publications = publications
        self.server = server
        let (hub, metrics, webhooks, cluster, log) = (server.hub, server.metrics, server.webhooks, server.cluster, server.log)
        codeAddresses = Lock(RequestWindows(ofTenMinutes: settings.otp.requestsPerAddress))
        tryAddresses = Lock(RequestWindows(ofTenMinutes: settings.otp.requestsPerAddress * SignInCodeSession.triesMax))
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
        missingSettings = RateLimitedLog(log, .error, "setting_missing")
        refusedTransitions = RateLimitedLog(log, .warning, "transition_refused")
        let unreadableStore = RateLimitedLog(log, .error, "store_unreadable")
        self.unreadableStore = unreadableStore
        let counters = counters
        let (activity, intake) = (activity, intake)
        let rates = SubjectRates(settings.apps[app].limits, settings.apps[app].fleetLimits, metrics, counters)
        self.rates = rates
        let codes = SignInCodeDispatch(SMSAdapter(settings.otp), log: log)
        self.codes = codes
        let trips = SharedTrips(settings.trips, hub: hub, app: app, policy: policy, counters: counters) { excess in
            if excess.contains(.driver) { metrics.countLimited(.followedJobs) }
            if excess.contains(.booking) { metrics.countLimited(.bookingJobs) }
        }
        self.trips = trips
        legacy = LegacyAccess(policy, app: app, hub: hub, log: log)
        let order = Lock(ClusterCommitOrder())
        let publisher = CommitPublisher(
            hub: hub, publications: publications, app: app, policy: policy, trips: trips, accounts: accounts, codes: codes,
            codeMetrics: codeMetrics,
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
                    metrics.countLimited(.openDays, commit.counts.endedJobs)
                    metrics.countLimited(.bookingCustomers, commit.counts.crowdedBookings)
                },
                takePublished: { publications.take(hub) },
                onEvent: { event in
                    if case .migrating = event { SystemdNotifier.ofThisProcess.send(.migrating) }
                    log.report(event)
                })
        } catch {
            codes.stop()
            throw StartError("\(error)")
        }
        let writer = writer
        cluster?.observe(
            ClusterService.Observers(
                onEntry: { publisher.receive($1, position: $0) },
                onNote: { note in
                    if let positions = PositionNote(note) { trips.record(positions) }
                    if let answer = AnswerNote(note, now: Clock.unixMilliseconds()) { counters.count(answer.event) }
                },
                onTick: { if order.withLock({ $0.needsLog(at: Clock.monotonicMilliseconds()) }) { writer.look() } }))
        do throws(StoreError) {
            reader = try StoreReader(
                settings.store.address, threadCount: settings.store.readerCount,
                queuePerSubjectMax: settings.apps[settings.fleetAppIndex].fleetLimits.queriesWaiting,
                confirmSeconds: settings.delivery.confirmSeconds, backlogHours: settings.delivery.backlogHours,
                backlogLimit: settings.delivery.backlogLimit, trips: settings.trips, encode: FleetResponses.body(of:),
                onReplies: { publisher.publish($0) },
                onReplays: { publisher.publish($0) },
                onExpired: { counters.count($0) }, onPushQueues: { pushService.record($0) },
                onUnconfirmed: { counters.record(unconfirmed: $0) }, onRead: { rates.charge($1, rows: $0) },
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
        introspection = TokenIntrospection(
            settings.auth.introspection, hub: hub, log: log, onDropped: { metrics.countLimited(.introspectionAnswers, $0) })
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
    func closeIntake(waiting seconds: Int) -> Bool { intake.close(waiting: seconds) }

    func abortIntake() { intake.abort() }

    /// Records that a loop has written all that was in its mailbox when a round of ``PublicationRounds`` began.
    func confirmPublication(loop: Int) { publications.confirm(loop: loop) }

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

    /// Lets a request wait for the answer about its opaque token; see ``TokenIntrospection/ask(_:for:on:)``.
    func ask(_ token: OpaqueToken, for request: RequestID, on loop: Int) -> FullQueue? {
        guard let introspection else { preconditionFailure("a token is to be asked about, but that is off") }
        return introspection.ask(token, for: request, on: loop)
    }

    /// Counts a request of a client address.
    /// - Returns: the seconds until it may make one; nil if it may make this one.
    func secondsToWait(_ address: IPAddress, _ limit: AddressLimit) -> Int? {
        let now = Clock.monotonicMilliseconds()
        let windows = limit == .codes ? codeAddresses : tryAddresses
        let wait = windows.withLock { $0.wait(address, now: now) }
        if wait != nil { codeMetrics.count(refusedAddress: limit) }
        return wait
    }

    /// Logs that a request could not be judged, because the configuration lacks a key.
    func noteMissing(setting: String) {
        missingSettings.write {
            ["setting": .text(setting), "hint": "requests with such tokens get 503 until the setting is there"]
        }
    }

    /// Logs how many lines were left out in the last second, and does what time makes due for trips. Call it once a
    /// second.
    func ticked() {
        refusedRequests.flush()
        missingSettings.flush()
        unreadableStore.flush()
        counters.tick(now: Clock.unixMilliseconds())
        refusedTransitions.flush()
        codes.tick()
        introspection?.tick()
        trips.tick()
    }

    /// Whether the catalogue has an entry for this type, or for the event that a moment of a trip is published as.
    func isCatalogued(_ type: String) -> Bool {
        catalogue.withLock { catalogue in
            let names = [type] + (TripMoment(rawValue: type).map { [$0.event] } ?? [])
            return names.contains { catalogue.entry(for: $0) != nil }
        }
    }

    /// Whether a push may have this type, or be of an event with this name, so that a person may switch it off.
    func isPushedAs(_ name: String) -> Bool {
        // The events of the fleet itself have a type for which the catalogue may have an entry.
        if EventRecipients(of: name).person != .named || isCatalogued(name) { return true }
        return catalogue.withLock { catalogue in
            catalogue.names.contains { entry in
                catalogue.entry(for: entry)?.dataType == name || EventNames.event(ofType: entry) == name
            }
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

    /// Stops the push lanes and the key fetchers, then closes the store once all queued requests are done.
    func stop(hasDrained: Bool) {
        if hasDrained { publications.end() }
        // After a drain, this has no effect: the deadline that the drain set is earlier. It is needed if there was no
        // drain because the gateway could not start.
        pushService.finish(withinSeconds: settings.server.drainSeconds)
        pushService.wait()
        codes.stop()
        for fetcher in keyFetchers { fetcher?.stop() }
        for fetcher in keyFetchers { fetcher?.wait() }
        introspection?.stop()
        reader.stop()
        writer.stop()
    }

    /// That of the store's writer thread.
    var heartbeats: [Heartbeat] { [writer.heartbeat] }

    var stats: [UInt8] { StatsResponse(self).json }

    func sum(ofStats answers: [[UInt8]]) -> [UInt8]? { StatsSum.json(answers) }

    func finish(withinSeconds seconds: Int) { pushService.finish(withinSeconds: seconds) }

    func wait() { pushService.wait() }
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
