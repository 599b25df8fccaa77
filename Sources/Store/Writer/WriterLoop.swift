import FleetRules
import Threads

/// What the writer's thread does, and owns.
struct WriterLoop {
    /// Under load, old rows go between every so many batches.
    private static let batchesPerRetention = 4
    /// How long it sleeps at most, to look for old rows.
    private static let sleepMilliseconds: Int64 = 1000
    /// How long a chore rests that has failed.
    private static let pauseAfterFailure: Int64 = 5_000

    private let ledger: CommandExecutor
    private let environment: StoreWriter.Environment
    private let queue: WorkQueue<StoreWriter.Work>
    private let newRules: Lock<NotificationRules?>
    private let counts: Lock<StoreStatistics>
    private let batchMax: Int
    private var retention: Retention
    /// How many errands were answered 503 since the store could last be written; nil when it can be.
    private var refusedSinceFailure: Int?
    /// The kinds of chore that failed last time, until when they rest while the others go on, and whether that was told.
    private var failing: [String: (until: Int64, isTold: Bool)] = [:]
    /// What has ended in transactions that were committed.
    private var unpublished: [[PushLane: FinishedPushes]] = []

    init(
        _ ledger: CommandExecutor, _ settings: StoreWriter.Options, _ surroundings: StoreWriter.Environment,
        _ queue: WorkQueue<StoreWriter.Work>, _ newRules: Lock<NotificationRules?>, _ counts: Lock<StoreStatistics>
    ) {
        self.ledger = ledger
        self.environment = surroundings
        self.queue = queue
        self.newRules = newRules
        self.counts = counts
        batchMax = settings.batchMax
        retention = Retention(days: settings.retentionDays)
    }

    consuming func run() {
        var batch: [StoreWriter.Work] = []
        var batchesSinceRetention = 0
        while true {
            let isDue = retention.isDue(environment.now())
            let waiting = isDue || nextBackgroundTask(environment.now()) != nil ? 0 : Self.sleepMilliseconds
            switch queue.take(into: &batch, most: batchMax, waiting: waiting) {
            case .closed:
                close()
                return
            case .nothing:
                batchesSinceRetention = Self.batchesPerRetention
            case .items:
                if let rules = newRules.withLock({ $0.take() }) { ledger.rules = rules }
                for part in Self.transactions(of: batch) {
                    publish(settle(part))
                    publishFinished()
                }
                batchesSinceRetention += 1
            }
            runBackgroundTask()
            if isDue, batchesSinceRetention >= Self.batchesPerRetention {
                runRetention()
                batchesSinceRetention = 0
            }
        }
    }

    // MARK: Errands and reports

    /// What became of a piece of work.
    private enum Ending {
        case settled(CommandReply)
        case answered(PushOutbox.ReportReply)
        case refused(PushReport)
    }

    /// Notifications in one transaction, about: an announcement may have a thousand, and nobody should wait behind hundreds of those.
    private static let notificationsMax = 2_000

    /// The work as it shares transactions, in its order.
    private static func transactions(of batch: [StoreWriter.Work]) -> [[StoreWriter.Work]] {
        var parts: [[StoreWriter.Work]] = [[]]
        var weight = 0
        for work in batch {
            let own = work.weight
            if weight + own > notificationsMax, weight > 0 {
                parts.append([])
                weight = 0
            }
            parts[parts.count - 1].append(work)
            weight += own
        }
        return parts
    }

    private mutating func settle(_ batch: [StoreWriter.Work]) -> [Ending] {
        let before = ledger.database.changes
        do throws(DatabaseError) {
            let endings = try commit(batch)
            // A commit of nothing succeeds on a full disk, too.
            if ledger.database.changes != before { endFailure() }
            return endings
        } catch {
            if error.isTransient { return refuse(batch, error) }
            // One of them is the reason: alone, each succeeds or fails for itself.
            if batch.count > 1 { return batch.flatMap { settle([$0]) } }
            counts.withLock { $0.failed += batch.count }
            return batch.map { fail($0, error) }
        }
    }

    private mutating func commit(_ batch: [StoreWriter.Work]) throws(DatabaseError) -> [Ending] {
        let now = environment.now()
        let start = Clock.monotonicNanoseconds()
        let endings = try ledger.transaction { () throws(DatabaseError) in
            var endings: [Ending] = []
            endings.reserveCapacity(batch.count)
            for work in batch {
                switch work {
                case .command(let errand):
                    let settlement = try ledger.perform(errand.command, now: now)
                    endings.append(.settled(CommandReply(request: errand, outcome: .settled(settlement))))
                case .report(let report): endings.append(.answered(try ledger.outbox.handle(report, now: now)))
                }
            }
            return endings
        }
        let nanoseconds = Clock.monotonicNanoseconds() - start
        collectFinished()
        let reports = batch.count(where: \.isReport)
        counts.withLock {
            $0.countCommit(errands: batch.count - reports, reports: reports, nanoseconds: nanoseconds)
            $0.orphansRefused = ledger.orphansRefused
        }
        return endings
    }

    private func fail(_ work: StoreWriter.Work, _ error: DatabaseError) -> Ending {
        switch work {
        case .command(let errand):
            environment.report(.failed(error, correlationID: errand.command.correlationID))
            return .settled(CommandReply(request: errand, outcome: .failed("The store failed")))
        case .report(let report):
            environment.report(.failed(error, correlationID: "push-\(report.lane.rawValue)"))
            return .refused(report)
        }
    }

    private mutating func refuse(_ batch: [StoreWriter.Work], _ error: DatabaseError) -> [Ending] {
        let errands = batch.count { !$0.isReport }
        counts.withLock { $0.unavailable += errands }
        if refusedSinceFailure == nil { environment.report(.unavailable(error)) }
        refusedSinceFailure = (refusedSinceFailure ?? 0) + errands
        return batch.map { work in
            switch work {
            case .command(let errand):
                .settled(CommandReply(request: errand, outcome: .unavailable("The store cannot write now")))
            case .report(let report): .refused(report)
            }
        }
    }

    private mutating func endFailure() {
        guard let refused = refusedSinceFailure else { return }
        refusedSinceFailure = nil
        environment.report(.recovered(refused: refused))
    }

    /// Which push jobs ended in the transaction that has just been committed; the next one may fail and forget them.
    /// After each commit, for the next one may fail and take its own back.
    private mutating func collectFinished() {
        let endings = ledger.outbox.drainFinished()
        if !endings.isEmpty { unpublished.append(endings) }
    }

    /// After whoever waits for an answer has it: each failed push is a line of the log.
    private mutating func publishFinished() {
        for endings in unpublished { environment.ended(endings) }
        unpublished.removeAll()
    }

    /// After the commit: first what the lanes get, then who waits for an answer. A settlement may say that a phone has changed
    /// hands; the lane then withdraws what it has for it, and it must have all that the same commit gave it.
    private func publish(_ endings: [Ending]) {
        var settled: [CommandReply] = []
        var woken: Set<PushLane> = []
        for ending in endings {
            switch ending {
            case .settled(let one): settled.append(one)
            case .refused(let report): environment.reportRefused(report)
            case .answered(let answer):
                counts.withLock { $0.supplied += answer.supply.jobs.count }
                environment.supplied(answer.supply)
                woken.formUnion(answer.woken)
            }
        }
        if !settled.isEmpty { environment.settled(settled) }
        if !woken.isEmpty { environment.queued(woken) }
        for complaint in ledger.outbox.drainUnreadableRows() { environment.report(.unreadable(complaint)) }
    }

    // MARK: The rest

    private func nextBackgroundTask(_ now: Int64) -> BackgroundTask? {
        BackgroundTask.allCases.first { ledger.backgroundTasks.contains($0) && !isResting($0, now) }
    }

    /// A clock set back must not keep a chore away for long.
    private func isResting(_ chore: BackgroundTask, _ now: Int64) -> Bool {
        guard let until = failing[chore.rawValue]?.until else { return false }
        return now < until && until - now <= Self.pauseAfterFailure
    }

    private mutating func runBackgroundTask() {
        let now = environment.now()
        guard let chore = nextBackgroundTask(now) else { return }
        do throws(DatabaseError) {
            let woken = try ledger.runSlice(of: chore, now: now)
            failing[chore.rawValue] = nil
            collectFinished()
            publishFinished()
            if !woken.isEmpty { environment.queued(woken) }
        } catch {
            recordFailure(failed: chore.rawValue, error, now)
        }
    }

    private mutating func runRetention() {
        do throws(DatabaseError) {
            let count = try retention.step(ledger, environment.now())
            failing["retention"] = nil
            collectFinished()
            publishFinished()
            if count > 0 { counts.withLock { $0.deleted += count } }
        } catch {
            recordFailure(failed: "retention", error, environment.now())
        }
        let removed = retention.drainRemoved()
        if !removed.isEmpty { environment.removed(removed) }
    }

    private mutating func recordFailure(failed kind: String, _ error: DatabaseError, _ now: Int64) {
        // Somebody reads just now: no news.
        let isNews = kind != BackgroundTask.checkpoint.rawValue || !error.isBusy
        let wasTold = failing[kind]?.isTold ?? false
        if isNews, !wasTold { environment.report(.backgroundTaskFailed(error, kind: kind)) }
        failing[kind] = (now + Self.pauseAfterFailure, wasTold || isNews)
    }

    private func close() {
        do throws(DatabaseError) { try ledger.database.checkpoint() } catch { environment.report(.checkpointFailed(error)) }
    }
}

extension StoreWriter.Work {
    var isReport: Bool {
        if case .report = self { true } else { false }
    }

    /// About how many rows it writes.
    fileprivate var weight: Int {
        switch self {
        case .command(let errand): errand.command.action.weight
        case .report(let report): report.outcomes.count + report.capacity
        }
    }
}

extension Command.Action {
    fileprivate var weight: Int {
        switch self {
        case .announce(let announcement):
            if case .drivers(let drivers) = announcement.audience { drivers.count } else { 1 }
        case .telemetry(let events): events.count
        case .order, .route, .acceptJob, .acceptRoute, .progress, .markRead, .updatePreferences: 5
        case .device: 20
        case .erase: 500
        }
    }
}
