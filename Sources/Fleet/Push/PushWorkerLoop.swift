import Fleet
import Primitives
import Threads

/// The state that the thread of a ``PushWorker`` owns, and the thread's loop.
struct PushWorkerLoop {
    private let environment: PushWorker.Environment
    private let shared: PushWorker.Shared
    private let connection: ProviderConnection
    private var lane: Lane
    private var templates: PushCatalogue
    private var rng = SystemRandomNumberGenerator()
    /// Monotonic milliseconds: when to close the connections, and when to end even with unconfirmed results.
    private var (cutAt, endAt) = (Int64.max, Int64.max)
    private var isFinished = false

    init(
        _ provider: Provider, _ templates: PushCatalogue, _ environment: PushWorker.Environment, _ shared: PushWorker.Shared
    ) {
        let connection = ProviderConnection(provider)
        self.environment = environment
        self.shared = shared
        self.connection = connection
        self.templates = templates
        lane = Lane(provider.lane, provider.rules, hasCredential: connection.hasInitialCredential, at: environment.now())
        // From now on a command wakes the thread. The first turn reads the commands posted before.
        shared.waker.withLock { $0 = connection.waker }
    }

    /// Runs until the lane has stopped and the store has confirmed its results, or until `endAt`.
    mutating func run() {
        while !isFinished, Clock.monotonicMilliseconds() < endAt {
            let now = environment.now()
            let hasMore = turn(now)
            if !hasMore, !isFinished { connection.wait(milliseconds: Int(sleepTime(now))) }
        }
        if !isFinished { sendFinalReport() }
    }

    /// Reports all results that the store has not confirmed, without waiting for a reply. Without this report, pushes
    /// that the provider accepted would be sent again after the next start.
    private mutating func sendFinalReport() {
        let now = environment.now()
        apply(connection.retire(at: now, using: &rng), now)
        // If the store's queue is full, nothing more can be done.
        if let report = lane.finalReport { _ = environment.report(report) }
    }

    /// Handles commands and events, then performs the lane's effects. Returns true if another turn must follow at once.
    mutating func turn(_ now: Int64) -> Bool {
        readCommands(now)
        // Before anything is written: the process may have been stopped for long.
        if !environment.leads() {
            apply(connection.withdraw(), now)
            lane.handle(.leaseEnded, at: now, using: &rng)
        }
        apply(connection.turn(at: now, using: &rng), now)
        if Clock.monotonicMilliseconds() >= cutAt {
            cutAt = .max
            apply(connection.retire(at: now, using: &rng), now)
        }
        let hasMore = performEffects(now)
        shared.status.withLock { $0 = lane.status }
        return hasMore
    }

    private mutating func readCommands(_ now: Int64) {
        let commands = shared.commands.withLock { commands in
            defer { commands = PushWorker.Commands() }
            return commands
        }
        if let templates = commands.templates { self.templates = templates }
        // Handle the lease before the lost devices: if the store issued the lease before it removed the devices, the
        // lease may contain jobs for them.
        if let lease = commands.lease { lane.handle(.supplied(lease), at: now, using: &rng) }
        if !commands.lostDevices.isEmpty {
            lane.handle(.lost(devices: commands.lostDevices), at: now, using: &rng)
            apply(connection.withdraw(commands.lostDevices), now)
        }
        if commands.isRefused { lane.handle(.refused, at: now, using: &rng) }
        if commands.isWoken { lane.handle(.wake, at: now, using: &rng) }
        if let end = commands.stopAt, end + Timing.pushConfirmation < endAt {
            lane.handle(.stop, at: now, using: &rng)
            cutAt = end
            endAt = end + Timing.pushConfirmation
        }
    }

    private mutating func apply(_ events: [ProviderConnection.Event], _ now: Int64) {
        for event in events {
            switch event {
            case .completed(let completion): lane.handle(.completed(completion), at: now, using: &rng)
            case .withdrawn(let number): lane.handle(.withdrawn(number), at: now, using: &rng)
            case .credential(.update(let update)): lane.handle(.credential(update), at: now, using: &rng)
            case .credential(.connectionsOutdated(let reason)):
                lane.handle(.connectionsOutdated(reason: reason), at: now, using: &rng)
            case .credential(.renewed(let kind)): environment.event(.credentialRenewed(kind: kind))
            }
        }
    }

    /// Performs the lane's effects. Returns true if they caused events, whose effects the next turn has to perform at
    /// once.
    private mutating func performEffects(_ now: Int64) -> Bool {
        var hasMore = false
        let effects = lane.nextEffects(at: now, using: &rng) { [templates, environment] job in
            PushDecision(
                on: job, templates: templates, now: now, minuteOfDay: LocalTime.minuteOfDay,
                presence: environment.presence)
        }
        for effect in effects {
            switch effect {
            case .retireConnections:
                apply(connection.retire(at: now, using: &rng), now)
                hasMore = true
            case .send(let job, let message): connection.send(job, message, at: now)
            case .renewCredential(let generation):
                apply(connection.renewCredential(after: generation, at: now), now)
                hasMore = true
            case .report(let report):
                if !environment.report(report) { lane.handle(.refused, at: now, using: &rng) }
            case .emit(let event): environment.event(event)
            case .finished: isFinished = true
            }
        }
        return hasMore
    }

    /// Milliseconds to sleep if no command or response wakes the thread earlier.
    private func sleepTime(_ now: Int64) -> Int64 {
        let turn = min(lane.nextTurn(at: now), connection.nextTurn(at: now))
        let end = min(cutAt, endAt)
        let untilEnd = end == .max ? Timing.pushSleepMax : end - Clock.monotonicMilliseconds()
        let untilTurn = turn <= now ? 0 : min(turn - now, Timing.pushSleepMax)
        return max(0, min(untilTurn, untilEnd))
    }
}
