import Configuration
import Fleet
import Observability
import Push
import Server
import Threads

/// The push lanes: a worker thread per enabled lane. The store leases jobs to the workers, and the workers report
/// results to the store. This service counts and logs the results, and passes failed pushes and removed devices to the
/// observers.
final class PushService: Sendable {
    /// Callbacks for the backends' webhooks. Any thread may call them.
    struct Observers: Sendable {
        /// A push has failed and will not be retried.
        var failed: @Sendable (FailedPush, PushLane) -> Void
        /// A device was removed.
        var removed: @Sendable (RemovedDevice) -> Void
    }

    /// What a reload can replace, and what it needs for that.
    private struct State {
        var providers: PushProviders
        /// Nil before ``start(_:report:presence:leads:)`` and after ``wait()``.
        var makeWorker: (@Sendable (Provider, _ number: Int, PushCatalogue) -> PushWorker)?
        var workers: [PushWorker] = []
        /// The number of workers that were made.
        var workerCount = 0
    }

    let counters = PushCounters()
    /// The enabled lanes.
    let lanes: Set<PushLane>
    /// The mode of catalogue entries that set none (`push.mode`).
    private let mode: NotificationCatalogue.PushMode
    private let log: Log
    private let observers: Observers
    private let state: Lock<State>
    /// The lanes' queues in the store; at most a second old, unless the store has millions of jobs.
    private let queued = Lock<[PushLane: PushQueue]>([:])

    /// - Throws: ``StartError`` if a credential or CA file cannot be used.
    init(_ settings: Settings.Push, _ observers: Observers, log: Log) throws(StartError) {
        do throws(CredentialError) {
            let providers = try PushProviders(settings)
            lanes = Set(providers.all.map(\.lane))
            state = Lock(State(providers: providers))
        } catch {
            throw StartError("use \(error.key): \(error.problem)", isConfiguration: true)
        }
        mode = settings.mode
        self.observers = observers
        self.log = log
    }

    /// Starts the workers. Call it once the store is open.
    /// - Parameters:
    ///   - report: posts a worker's report to the store; returns false if the store's queue is full.
    ///   - presence: returns whether a recipient (``Identity/key``) is subscribed to their own channel.
    ///   - leads: returns whether this process still has its leases.
    func start(
        _ catalogue: NotificationCatalogue, report: @escaping @Sendable (PushReport) -> Bool,
        presence: @escaping @Sendable (_ recipient: String) -> RecipientPresence, leads: @escaping @Sendable () -> Bool
    ) {
        state.withLock { state in
            state.makeWorker = { provider, number, templates in
                PushWorker(
                    provider, number: number, templates: templates,
                    environment: PushWorker.Environment(
                        now: Clock.unixMilliseconds,
                        report: { ofLane in
                            var ofWorker = ofLane
                            ofWorker.worker = number
                            return report(ofWorker)
                        },
                        presence: presence, leads: leads, event: { self.record($0, provider.lane) }))
            }
        }
        start(lanes, catalogue)
    }

    /// Starts new workers for some lanes.
    private func start(_ lanes: Set<PushLane>, _ catalogue: NotificationCatalogue) {
        let templates = PushCatalogue(catalogue, mode: mode)
        state.withLock { state in
            guard let makeWorker = state.makeWorker else { return }
            let workers = state.providers.all.filter { lanes.contains($0.lane) }.map { provider in
                state.workerCount += 1
                return makeWorker(provider, state.workerCount, templates)
            }
            state.workers = state.workers.filter { !lanes.contains($0.lane) } + workers
            for worker in workers { worker.start() }
        }
    }

    private var workers: [PushWorker] { state.withLock { $0.workers } }

    // MARK: From the store

    /// Wakes the workers of lanes that have new jobs in the store.
    func wake(_ lanes: Set<PushLane>) {
        for lane in lanes { worker(lane)?.wake() }
    }

    /// Passes leased jobs to their lane's worker.
    func supply(_ lease: PushLease) {
        for device in lease.removed { record(removed: device) }
        for environment in lease.foundEnvironments { counters.environments.add(to: environment) }
        worker(lease.lane, lease.worker)?.supply(lease)
    }

    /// Counts and logs what the store reports by lane: pushes that failed, that ended without being sent, or that are
    /// retried.
    func record(_ finished: [PushLane: FinishedPushes]) {
        for (lane, ended) in finished.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            counters.count(.expired, lane.provider, ended.expired)
            counters.count(.cancelled, lane.provider, ended.cancelled)
            counters.count(.rejected, lane.provider, ended.failed.count)
            counters.count(.retried, lane.provider, ended.retried)
            if ended.expired + ended.cancelled > 0 {
                log.info(
                    "push_unsent",
                    [
                        "lane": .text(lane.rawValue), "expired": .number(ended.expired), "cancelled": .number(ended.cancelled),
                    ])
            }
            for failed in ended.failed {
                log.warning("push_rejected", failed.fields(lane))
                observers.failed(failed, lane)
            }
        }
    }

    /// Notifies a worker that the store did not write its report. The worker sends it again later.
    func returnRejected(_ report: PushReport) { worker(report.lane, report.worker)?.refused() }

    /// Counts and logs a removed device, whatever the reason, and withdraws its jobs from the workers.
    func record(removed device: RemovedDevice) {
        counters.removals.add(to: Self.removalReasons.contains(device.reason) ? device.reason : "other")
        log.info(
            "device_removed",
            [
                "provider": .text(device.provider.rawValue), "owner": .text(device.owner), "token": .text(device.maskedToken),
                "reason": .text(device.reason),
            ])
        observers.removed(device)
        withdraw(device.id)
    }

    /// Withdraws the jobs of a device from the workers.
    func withdraw(_ deviceID: String) {
        for worker in workers { worker.withdraw(deviceID) }
    }

    /// The values of the label `reason`. Other reasons count as `other`, so that a provider's new reason does not
    /// create a new time series.
    private static let removalReasons: Set = [
        "Unregistered", "ExpiredToken", "BadDeviceToken", "DeviceTokenNotForTopic", "UNREGISTERED", "SENDER_ID_MISMATCH",
        "INVALID_ARGUMENT", "unregistered", "replaced", "new_owner", "too_many_devices", "erased", "stale",
    ]

    // MARK: From operators

    /// Replaces the notification catalogue, and the keys, certificates and addresses of providers. Pushes use them from
    /// now on.
    ///
    /// A lane whose provider has changed first waits for the responses under way, at most for `seconds`; meanwhile its
    /// other jobs stay in the store, which must run. Blocks until then.
    /// - Throws: ``CredentialError`` if a key cannot be used; nothing has changed then.
    func use(
        _ settings: Settings.Push, _ catalogue: NotificationCatalogue, withinSeconds seconds: Int
    ) throws(CredentialError) {
        let current = state.withLock { $0.providers }
        let providers = try PushProviders(settings, replacing: current)
        let templates = PushCatalogue(catalogue, mode: mode)
        for worker in workers { worker.use(templates) }
        let changed = lanes.filter { providers.differs(from: current, for: $0.provider) }
        let replaced = workers.filter { changed.contains($0.lane) }
        for worker in replaced { worker.stop(withinSeconds: seconds) }
        for worker in replaced { worker.wait() }
        state.withLock { $0.providers = providers }
        start(changed, catalogue)
    }

    /// Makes the workers start no new requests and wait for the responses to open ones, at most for this time. The
    /// store must run meanwhile, because the workers report the results to it.
    func finish(withinSeconds seconds: Int) {
        for worker in workers { worker.stop(withinSeconds: seconds) }
    }

    /// Blocks until all workers have stopped. Call ``finish(withinSeconds:)`` first.
    func wait() {
        for worker in workers { worker.wait() }
        // A worker reports to the store, whose commits refer to this object: a cycle.
        state.withLock { state in
            state.workers = []
            state.makeWorker = nil
        }
    }

    /// Keeps the lanes' queues in the store for metrics.
    func record(_ queues: [PushLane: PushQueue]) { queued.withLock { $0 = queues.filter { lanes.contains($0.key) } } }

    /// The status and the queue of every lane; nil if the lane is not enabled.
    var statuses: [(lane: PushLane, status: LaneStatus?, queue: PushQueue?)] {
        let queues = queued.withLock { $0 }
        return PushLane.allCases.map { ($0, worker($0)?.status, queues[$0]) }
    }

    /// The commands that wait for each lane's thread.
    var queues: [(name: String, depth: Int)] { workers.map { ($0.lane.rawValue, $0.commandCount) } }

    /// The number of pushes with an outcome, over all lanes.
    func count(_ outcome: PushCounters.Outcome) -> Int { counters.total(outcome) }

    /// The pushes queued in the store, for all enabled lanes.
    var queuedCount: Int { queued.withLock { $0.values.reduce(0) { $0 + $1.depth } } }

    var families: [MetricFamily] {
        let now = Clock.unixMilliseconds()
        let queued = queued.withLock { $0 }
        let queues = PushProvider.allCases.map { provider in
            let queues = queued.filter { $0.key.provider == provider }.values
            let oldestAt = queues.compactMap(\.oldestAt).min()
            return (
                provider: provider.rawValue, depth: queues.reduce(0) { $0 + $1.depth },
                seconds: oldestAt.map { Int(max(0, now - $0) / 1000) } ?? 0
            )
        }
        return counters.families + [
            MetricFamily(
                "push_queue_depth", .gauge, "Pushes queued in the store.", by: "provider",
                queues.map { ($0.provider, $0.depth) }),
            MetricFamily(
                "push_queue_oldest_seconds", .gauge, "Age of the oldest queued push in seconds.", by: "provider",
                queues.map { ($0.provider, $0.seconds) }),
            MetricFamily(
                "push_lane_running", .gauge, "1 while a push lane sends, 0 while it is paused or stopped.", by: "lane",
                workers.map { ($0.lane.rawValue, $0.status.state == .running ? 1 : 0) }),
        ]
    }

    private func worker(_ lane: PushLane) -> PushWorker? {
        workers.first { $0.lane == lane }
    }

    /// Nil if another worker has taken its place.
    private func worker(_ lane: PushLane, _ number: Int) -> PushWorker? {
        workers.first { $0.lane == lane && $0.number == number }
    }

    // MARK: From the workers

    private func record(_ event: LaneEvent, _ lane: PushLane) {
        let name = Log.Value.text(lane.rawValue)
        switch event {
        case .accepted(let job, let seconds):
            counters.count(.accepted, lane.provider)
            counters.observe(seconds: seconds, lane.provider)
            if log.writes(.debug) { log.debug("push_accepted", job.fields(lane)) }
        case .rejected(let job, let reason, let seconds):
            // The rejection is not counted here. The store decides whether the push has failed or is sent again,
            // because the device may have registered a new token in the meantime.
            counters.observe(seconds: seconds, lane.provider)
            if log.writes(.debug) { log.debug("push_refused", job.fields(lane, reason)) }
        case .retried(let job, let reason, let seconds):
            counters.count(.retried, lane.provider)
            counters.observe(seconds: seconds, lane.provider)
            if log.writes(.debug) { log.debug("push_retried", job.fields(lane, reason)) }
        case .expired(let job):
            counters.count(.expired, lane.provider)
            log.warning("push_expired", job.fields(lane))
        case .cancelled(let job, let reason):
            counters.count(.cancelled, lane.provider)
            if log.writes(.debug) { log.debug("push_cancelled", job.fields(lane, reason)) }
        case .alarm(let text): log.error("push_alarm", ["lane": name, "reason": .text(text)])
        case .paused(let reason, let milliseconds):
            log.warning(
                "push_paused", ["lane": name, "reason": .text(reason), "milliseconds": .number(Int(milliseconds ?? 0))])
        case .resumed: log.info("push_resumed", ["lane": name])
        case .credentialRenewed(let kind):
            counters.renewals.add(to: kind)
            log.info("push_credential_renewed", ["lane": name, "kind": .text(kind)])
        case .connectionRetired(let reason):
            log.warning("push_connection_retired", ["lane": name, "reason": .text(reason)])
        }
    }
}

extension FailedPush {
    fileprivate func fields(_ lane: PushLane) -> KeyValuePairs<String, Log.Value> {
        [
            "lane": .text(lane.rawValue), "notification": .text(notificationID), "notified": .text(event),
            "recipient": .text(recipient), "token": .text(device), "attempts": .number(attempts), "reason": .text(reason),
        ]
    }
}

extension PushJob {
    fileprivate func fields(_ lane: PushLane, _ reason: String = "") -> KeyValuePairs<String, Log.Value> {
        [
            "lane": .text(lane.rawValue), "notification": .text(notification.id), "notified": .text(notification.event),
            "recipient": .text(recipient), "token": .text(device.token.masked), "attempts": .number(attempts + 1),
            "reason": .text(reason),
        ]
    }
}
