import Configuration
import FleetRules
import Observability
import Push
import Server
import Threads

/// The lanes beside the store: a worker's thread for each that is enabled. What the store has for a lane goes to its worker,
/// and what became of it goes back; on the way it is counted, logged, and told to backends.
final class PushService: Sendable {
    /// Who is told what backends want to know.
    struct Observers: Sendable {
        /// A push has failed for good.
        var failed: @Sendable (FailedPush, PushLane) -> Void
        /// A device is gone.
        var removed: @Sendable (RemovedDevice) -> Void
    }

    let counters = PushCounters()
    private let providers: [Provider]
    private let mode: NotificationCatalogue.PushMode
    private let log: Log
    private let observers: Observers
    private let workers = Lock<[PushWorker]>([])

    /// - Throws: ``StartError`` when a key cannot be used.
    init(_ settings: Settings.Push, _ listeners: Observers, log: Log) throws(StartError) {
        do throws(CredentialError) {
            providers = try settings.providers()
        } catch {
            throw StartError("use \(error.key): \(error.problem)", isConfiguration: true)
        }
        mode = settings.mode
        self.observers = listeners
        self.log = log
    }

    var lanes: Set<PushLane> { Set(providers.map(\.lane)) }

    /// Begins to carry: the store is open.
    /// - Parameter report: takes a report to the store; false when it has no room.
    func start(
        _ catalogue: NotificationCatalogue, report: @escaping @Sendable (PushReport) -> Bool,
        isConnected: @escaping @Sendable (_ recipient: String) -> Bool
    ) {
        let texts = PushCatalogue(catalogue, mode: mode)
        let workers = providers.map { provider in
            PushWorker(
                provider, templates: texts,
                environment: PushWorker.Environment(
                    now: Clock.unixMilliseconds, report: report, isConnected: isConnected,
                    event: { self.record($0, provider.lane) }))
        }
        self.workers.withLock { $0 = workers }
        for worker in workers { worker.start() }
    }

    // MARK: What the store says

    /// These lanes have something to carry.
    func wake(_ lanes: Set<PushLane>) {
        for lane in lanes { worker(lane)?.wake() }
    }

    func supply(_ supply: PushLease) {
        for device in supply.removed { record(removed: device) }
        worker(supply.lane)?.supply(supply)
    }

    /// Pushes have failed, or have come to an end before they were sent.
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

    /// The store could not take the report.
    func reject(_ report: PushReport) { worker(report.lane)?.refused() }

    /// Counts and logs a removed device, for any reason.
    func record(removed device: RemovedDevice) {
        counters.countRemoval(Self.removalReasons.contains(device.reason) ? device.reason : "other")
        log.info(
            "device_removed",
            [
                "provider": .text(device.provider.rawValue), "owner": .text(device.owner), "token": .text(device.maskedToken),
                "reason": .text(device.reason),
            ])
        observers.removed(device)
        for worker in workers.withLock({ $0 }) { worker.withdraw(device.id) }
    }

    /// A metric's labels must not be whatever a provider says.
    private static let removalReasons: Set = [
        "Unregistered", "ExpiredToken", "BadDeviceToken", "DeviceTokenNotForTopic", "UNREGISTERED", "SENDER_ID_MISMATCH",
        "INVALID_ARGUMENT", "unregistered", "replaced", "new_owner", "too_many_devices", "erased", "stale",
    ]

    // MARK: What operators do

    /// Other texts from now on.
    func use(_ catalogue: NotificationCatalogue) {
        let texts = PushCatalogue(catalogue, mode: mode)
        for worker in workers.withLock({ $0 }) { worker.use(texts) }
    }

    /// Starts nothing new, and has the workers wait for answers, but no longer than that. The store has to go on meanwhile.
    func finish(withinSeconds seconds: Int) {
        for worker in workers.withLock({ $0 }) { worker.stop(withinSeconds: seconds) }
    }

    /// Waits until that is done.
    func wait() {
        for worker in workers.withLock({ $0 }) { worker.wait() }
    }

    /// How each lane is doing; nil of those that are not enabled.
    var statuses: [(lane: PushLane, status: LaneStatus?)] {
        PushLane.allCases.map { ($0, worker($0)?.status) }
    }

    func families(prefix: String) -> [MetricFamily] {
        let now = Clock.unixMilliseconds()
        let queues = PushProvider.allCases.map { provider in
            let statuses = statuses.filter { $0.lane.provider == provider }.compactMap(\.status)
            let oldestAt = statuses.compactMap(\.oldestAt).min()
            return (
                labels: [("provider", provider.rawValue)], depth: statuses.reduce(0) { $0 + $1.depth },
                seconds: oldestAt.map { max(0, now - $0) / 1000 } ?? 0
            )
        }
        return counters.families(prefix: prefix) + [
            MetricFamily(
                "\(prefix)_push_queue_depth", .gauge, help: "Pushes that wait in the store.",
                samples: queues.map { ($0.labels, String($0.depth)) }),
            MetricFamily(
                "\(prefix)_push_queue_oldest_seconds", .gauge, help: "For how long the oldest of them has waited.",
                samples: queues.map { ($0.labels, String($0.seconds)) }),
        ]
    }

    private func worker(_ lane: PushLane) -> PushWorker? {
        workers.withLock { $0.first { $0.lane == lane } }
    }

    // MARK: What workers say

    private func record(_ event: LaneEvent, _ lane: PushLane) {
        let name = Log.Value.text(lane.rawValue)
        switch event {
        case .accepted(let job, let seconds):
            counters.count(.accepted, lane.provider)
            counters.observe(seconds: seconds, lane.provider)
            if log.writes(.debug) { log.debug("push_accepted", job.fields(lane)) }
        case .rejected(let job, let reason, let seconds):
            // Whether that is its end, the store will say: there may be a new token by now.
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
            counters.countRenewal(kind)
            log.info("push_credential_renewed", ["lane": name, "kind": .text(kind)])
        case .connectionRetired(let reason):
            log.warning("push_connection_retired", ["lane": name, "reason": .text(reason)])
        }
    }
}

extension FailedPush {
    fileprivate func fields(_ lane: PushLane) -> KeyValuePairs<String, Log.Value> {
        [
            "lane": .text(lane.rawValue), "notification": .text(notificationID), "event": .text(event),
            "recipient": .text(recipient), "token": .text(device), "attempts": .number(attempts), "reason": .text(reason),
        ]
    }
}

extension PushJob {
    fileprivate func fields(_ lane: PushLane, _ reason: String = "") -> KeyValuePairs<String, Log.Value> {
        [
            "lane": .text(lane.rawValue), "notification": .text(notification.id), "event": .text(notification.event),
            "recipient": .text(recipient), "token": .text(device.token.masked), "attempts": .number(attempts + 1),
            "reason": .text(reason),
        ]
    }
}
