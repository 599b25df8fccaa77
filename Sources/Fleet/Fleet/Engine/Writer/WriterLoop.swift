import Primitives
import Threads

/// The writer thread's state and its loop: take queued requests, execute them in a transaction, commit, publish, then
/// run one slice of a background task. `+Tasks` has what it does besides requests, `+Failures` what it does once the store
/// cannot be trusted.
struct WriterLoop {
    let executor: CommandExecutor
    let queue: RequestQueue
    /// Nil if the store is on a PostgreSQL server.
    let checkpointer: Checkpointer?
    private let newRules: Lock<NotificationRules?>
    let counts: Lock<StoreStatistics>
    let heartbeat: Heartbeat
    let readClock: @Sendable () -> ClockReading
    private let onCommit: @Sendable (Commit) -> Void
    let takePublished: @Sendable () -> Published
    let onEvent: @Sendable (StoreEvent) -> Void
    let takePositions: @Sendable () -> [DriverPosition]
    let returnPositions: @Sendable ([DriverPosition]) -> Void
    var batchSize: TransactionSize
    /// ``StoreWriter/Options/admitsOwnCommand``
    let admitsOwnCommand: @Sendable () -> Bool
    /// ``StoreWriter/Options/keepsAccounts``
    let keepsAccounts: Bool
    var clock: ClockKeeper
    var retention: RetentionSchedule
    /// When to look next for notifications that were not confirmed in time, in milliseconds since 1970.
    var checkAt: Int64 = 0
    var positionSchedule = PositionSchedule()
    var dueCommands: DueCommands
    var taskFailures = BackgroundTaskFailures()
    /// The background task that has run last.
    var lastTask: BackgroundTask?
    /// In a cluster: when the log was looked at last, in monotonic milliseconds.
    var lookedAt: Int64 = 0
    /// What is published and not recorded.
    private var published = Published()
    /// The id of the last notification that was committed and is not recorded as published.
    private var unpublished: String?
    /// Receipts that could not be written. The next transactions write them first, a slice each, so that commands do not
    /// wait for all. A subscription must see what was confirmed before it, and the last transaction must leave none
    /// behind.
    private var refusedReceipts: [Receipt] = []
    /// The most of them in one transaction.
    private static let refusedReceiptsSlice = 1_000
    /// More of them are dropped, the oldest first: they take memory, and the next subscription waits for them.
    static let refusedReceiptsMax = 10_000
    /// The number of commands that got 503 since the store could no longer be written; nil while it can be written.
    private var refusedInOutage: Int?
    /// The reason of the outage that was reported last.
    private var reportedReason = ""
    /// When it was last tried whether the store can be written again, in nanoseconds on the monotonic clock.
    private var probedAt: UInt64 = 0

    init(
        _ executor: CommandExecutor, _ clock: ClockKeeper, _ options: StoreWriter.Options,
        _ queue: RequestQueue, _ checkpointer: Checkpointer?, _ newRules: Lock<NotificationRules?>,
        _ counts: Lock<StoreStatistics>, _ heartbeat: Heartbeat, onCommit: @escaping @Sendable (Commit) -> Void,
        takePublished: @escaping @Sendable () -> Published, onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) {
        self.executor = executor
        self.queue = queue
        self.checkpointer = checkpointer
        self.newRules = newRules
        self.counts = counts
        self.heartbeat = heartbeat
        self.clock = clock
        readClock = options.readClock
        self.onCommit = onCommit
        self.takePublished = takePublished
        self.onEvent = onEvent
        batchSize = TransactionSize(most: options.batchMax, milliseconds: options.batchMilliseconds)
        (admitsOwnCommand, keepsAccounts) = (options.admitsOwnCommand, options.keepsAccounts)
        dueCommands = DueCommands(keepsAccounts: options.keepsAccounts, openDays: options.openDays)
        (takePositions, returnPositions) = (options.takePositions, options.returnPositions)
        retention = RetentionSchedule(
            days: options.retentionDays, sliceMilliseconds: RetentionSchedule.sliceMillisecondsMax)
    }

    consuming func run() {
        updateStatistics()
        var batch: [StoreWriter.Request] = []
        var batchesSinceRetention = 0
        while true {
            heartbeat.beat()
            if counts.failure != nil { return refuseUntilClosed() }
            restartLogIfDue()
            probeIfUnavailable()
            let now = observeClock()
            let isRetentionDue = retention.isDue(now - clock.lead)
            let wait = wait(now, isRetentionDue: isRetentionDue && executor.isLeader)
            let taken = queue.take(into: &batch, most: batchSize.value, waiting: wait)
            guard isUsable() else {
                publish(refuse(batch))
                if taken == .closed { return closeFailed() }
                continue
            }
            switch taken {
            case .closed:
                heartbeat.end()
                close()
                return
            case .timedOut:
                recordPublished()
                if canWriteRefusedReceipts { publish(execute([])) }
                batchesSinceRetention = RetentionSchedule.batchesMax
            case .items:
                serve(&batch)
                batchesSinceRetention += 1
            }
            guard counts.failure == nil else { continue }
            runTasks()
            if isRetentionDue, executor.isLeader, batchesSinceRetention >= retention.batchesBetweenSlices {
                runRetention()
                batchesSinceRetention = 0
            }
        }
    }

    /// How long to wait for a request, in milliseconds.
    private func wait(_ now: Int64, isRetentionDue: Bool) -> Int64 {
        if nextBackgroundTask(now) != nil || canWriteRefusedReceipts { return 0 }
        let most = min(
            unpublished == nil ? Timing.writerWaitMax : Timing.writerUnpublishedWaitMax,
            dueCommands.wait(at: Clock.monotonicMilliseconds()))
        // Half of an idle writer's time, so that a request seldom comes in the middle of a slice.
        return isRetentionDue ? min(most, RetentionSchedule.sliceMillisecondsMax) : most
    }

    /// Executes the requests of a batch, except those that have waited too long, and publishes what they have caused.
    private mutating func serve(_ batch: inout [StoreWriter.Request]) {
        if let rules = newRules.withLock({ $0.take() }) { executor.rules = rules }
        refuseExpired(in: &batch)
        let start = Clock.monotonicMilliseconds()
        publish(execute(batch))
        // Not the wait for other nodes: with smaller transactions, each would wait more often.
        let begin = max(start, executor.clusterLog?.lockedAt ?? start)
        batchSize.record(batch.count, took: Clock.monotonicMilliseconds() - begin)
        reportUnreadableRows()
    }

    /// What is due between two batches, besides retention.
    private mutating func runTasks() {
        lookAtLogIfDue()
        saveClock()
        checkConfirmations()
        executeDueCommands()
        savePositionsIfDue()
        runBackgroundTask()
        publishLog()
    }

    /// Mutating, so that its argument is evaluated first: `publish(execute(batch))` sees the outage that the batch has begun.
    mutating func publish(_ commit: Commit) {
        var commit = commit
        commit.log += executor.clusterLog?.take() ?? []
        updateStatistics()
        if !commit.isEmpty { onCommit(commit) }
    }

    private func updateStatistics() {
        let devices = executor.outbox.devices.counts.committed
        let isUnavailable = refusedInOutage != nil
        let leadsUntil = executor.clusterLog?.leadsUntil ?? .max
        let rows = executor.rowCounts
        // A commit whose outcome was unknown for a while has made the store unavailable.
        let wasUnavailable = counts.withLock { counts in
            counts.devices = devices
            counts.leadsUntil = leadsUntil
            counts.rows = rows
            defer { counts.isUnavailable = isUnavailable }
            return counts.isUnavailable
        }
        if wasUnavailable, !isUnavailable { onEvent(.recovered(refused: 0)) }
    }

    private func reportUnreadableRows() {
        for row in executor.outbox.drainUnreadableRows() { onEvent(.unreadable(row)) }
    }

    /// Copies the rest of the write-ahead log if it has become long, so that the next commit begins it anew.
    private mutating func restartLogIfDue() {
        guard let checkpointer, let file = executor.database.sqlite, checkpointer.committed(pages: file.logPages) else {
            return
        }
        do throws(DatabaseError) {
            _ = try file.copyLog()
        } catch {
            record(error, of: BackgroundTask.checkpoint.rawValue, readClock().wall)
        }
    }

    private mutating func close() {
        recordPublished()
        writeRefusedReceipts()
        savePositions()
        saveLastRequests()
        saveClock()
        leaveCluster()
        checkpointer?.stop()
        do throws(DatabaseError) { try executor.database.sqlite?.checkpoint() } catch { onEvent(.checkpointFailed(error)) }
    }

    // MARK: Commands and reports

    /// Removes the commands that have waited too long, and replies to them.
    private mutating func refuseExpired(in batch: inout [StoreWriter.Request]) {
        let now = Clock.monotonicMilliseconds()
        let expired = batch.filter { $0.isExpired(at: now) }
        guard !expired.isEmpty else { return }
        batch.removeAll { $0.isExpired(at: now) }
        counts.withLock { $0.unavailable += expired.count }
        publish(Commit(notExecuted: expired, reply: .unavailable("The store did not get to it in time")))
    }

    /// Executes requests in one transaction. If one of them makes the transaction fail, executes each request in a
    /// separate transaction.
    mutating func execute(_ batch: [StoreWriter.Request]) -> Commit {
        let changesBefore = executor.database.totalChangedRows
        do throws(DatabaseError) {
            if batch.contains(where: \.isSubscription) {
                while refusedReceipts.count > Self.refusedReceiptsSlice { publish(try executeInTransaction([])) }
            }
            let commit = try executeInTransaction(batch)
            // A commit without changes succeeds on a full disk, too, so it does not prove that the outage is over.
            if executor.database.totalChangedRows != changesBefore { endOutage() }
            return commit
        } catch {
            if error.kind == .damaged { counts.fail(.damaged(error), onEvent: onEvent) }
            if error.isTransient { beginOutage(error) }
            if error.isTransient || error.kind == .damaged { return refuse(batch) }
            // Receipts that have waited may be the cause. From now on they are a request as any other.
            let waiting = Array(receiptsToWrite(with: batch))
            refusedReceipts.removeFirst(waiting.count)
            if waiting.isEmpty, batch.count <= 1 { return fail(batch, error) }
            let requests: [StoreWriter.Request] = (waiting.isEmpty ? [] : [.receipts(waiting)]) + batch
            // In a cluster, other nodes may commit in between.
            if executor.clusterLog != nil {
                for request in requests { publish(execute([request])) }
                return Commit()
            }
            return requests.reduce(into: Commit()) { $0.append(execute([$1])) }
        }
    }

    private mutating func executeInTransaction(_ batch: [StoreWriter.Request]) throws(DatabaseError) -> Commit {
        let time = observeClock()
        let start = Clock.monotonicNanoseconds()
        published.append(takePublished())
        let (published, heartbeat) = (published, heartbeat)
        let refused = receiptsToWrite(with: batch)
        var commit = try executor.transaction(declaring: published.recovered.count) { () throws(DatabaseError) in
            let now = executor.transactionTime(or: time)
            var commit = Commit()
            try executor.record(published)
            for receipt in refused { commit.confirmations += try executor.record(receipt, now: now) }
            for request in batch {
                heartbeat.beat()
                let start = executor.database.totalChangedRows
                defer { executor.checkRows(since: start, request.rows, request.correlationID) }
                switch request {
                case .command(let request):
                    commit.replies.append((request, try executor.execute(request.issued, now: now)))
                case .report(let report) where !executor.isLeader:
                    commit.leases.append(PushLease(lane: report.lane, worker: report.worker))
                case .report(let report):
                    executor.declare(report.rows)
                    let reply = try executor.outbox.handle(report, now: now)
                    commit.leases.append(reply.lease)
                    commit.wake.formUnion(reply.woken)
                    if executor.outbox.isLeftBehind(report.lane) { executor.backgroundTasks.insert(.takeover) }
                case .receipts(let receipts):
                    for receipt in receipts { commit.confirmations += try executor.record(receipt, now: now) }
                case .subscription(let request):
                    commit.subscriptions.append(try executor.subscribe(request, now: now))
                case .look(let address): if let address { commit.looked.append(address) }
                }
            }
            commit.updates = executor.counter.drainUpdates()
            try executor.log(commit)
            return commit
        }
        let nanoseconds = Clock.monotonicNanoseconds() - start
        didRecordPublished()
        refusedReceipts.removeFirst(refused.count)
        unpublished = commit.lastNotificationID ?? unpublished
        // Drain after each commit: if a later transaction fails, `CommandExecutor.transaction` discards all finished
        // jobs that have not been drained.
        commit.finished = executor.outbox.drainFinished()
        commit.counts = executor.counter.drain()
        commit.codes = executor.drainCodeCounts()
        counts.withLock { $0.count(commit, nanoseconds: nanoseconds) }
        return commit
    }

    // MARK: Publication

    /// Records what is published, in a transaction of its own. While commands arrive, their transactions do it.
    private mutating func recordPublished() {
        published.append(takePublished())
        let now = observeClock()
        guard !published.isEmpty, !taskFailures.isPaused(PublicationTable.name, at: now) else { return }
        let published = published
        do throws(DatabaseError) {
            try executor.transaction(declaring: published.recovered.count + 1) { () throws(DatabaseError) in
                try executor.record(published)
            }
            didRecordPublished()
        } catch {
            // If no later transaction records it, the next process publishes once more what clients have got, with the
            // same ids.
            record(error, of: PublicationTable.name, now)
        }
    }

    private mutating func didRecordPublished() {
        taskFailures.remove(PublicationTable.name)
        if published.position == unpublished { unpublished = nil }
        published = Published()
    }

    // MARK: Outages

    /// The reply if the store cannot be written now: commands get 503, receipts wait, other requests are sent again.
    mutating func refuse(_ batch: [StoreWriter.Request]) -> Commit {
        var commit = Commit(notExecuted: batch, reply: .unavailable("The store cannot write now"))
        for case .receipts(let receipts) in batch { refusedReceipts += receipts }
        commit.droppedReceipts = max(0, refusedReceipts.count - Self.refusedReceiptsMax)
        refusedReceipts.removeFirst(commit.droppedReceipts)
        let count = commit.replies.count
        counts.withLock { $0.unavailable += count }
        if let refused = refusedInOutage { refusedInOutage = refused + count }
        return commit
    }

    /// Notes that the store cannot be written, and reports the reason once.
    mutating func beginOutage(_ error: DatabaseError) {
        if refusedInOutage == nil { probedAt = Clock.monotonicNanoseconds() }
        // A server that is away may come back and refuse for another reason, such as a second gateway.
        if refusedInOutage == nil || error.message != reportedReason { onEvent(.unavailable(error)) }
        reportedReason = error.message
        refusedInOutage = refusedInOutage ?? 0
        counts.withLock { $0.isUnavailable = true }
    }

    /// The receipts that have waited and that the transaction of a batch writes. In an outage only a subscription needs
    /// them, and all this work is probably in vain.
    private func receiptsToWrite(with batch: [StoreWriter.Request]) -> ArraySlice<Receipt> {
        let isNeeded = refusedInOutage == nil || batch.isEmpty || batch.contains(where: \.isSubscription)
        return isNeeded ? refusedReceipts.prefix(Self.refusedReceiptsSlice) : []
    }

    private var canWriteRefusedReceipts: Bool { refusedInOutage == nil && !refusedReceipts.isEmpty }

    /// Writes all receipts that have waited, until an error.
    private mutating func writeRefusedReceipts() {
        var left = Int.max
        while !refusedReceipts.isEmpty, refusedReceipts.count < left {
            left = refusedReceipts.count
            publish(execute([]))
        }
    }

    private mutating func endOutage() {
        guard let refused = refusedInOutage else { return }
        refusedInOutage = nil
        counts.withLock { $0.isUnavailable = false }
        onEvent(.recovered(refused: refused))
    }

    /// Tries once a second whether the store can be written again. A load balancer that looks at `/readyz` may send no
    /// commands meanwhile.
    private mutating func probeIfUnavailable() {
        let now = Clock.monotonicNanoseconds()
        guard refusedInOutage != nil, now - probedAt >= UInt64(Timing.writerProbeInterval) * 1_000_000 else { return }
        probedAt = now
        // An error means that the outage goes on, which has been reported.
        if (try? executor.probeWriting()) != nil { endOutage() }
    }

    /// The reply if the request itself causes the error: a command gets 500, receipts are dropped, and other requests are
    /// sent again.
    private func fail(_ batch: [StoreWriter.Request], _ error: DatabaseError) -> Commit {
        counts.withLock { $0.failed += batch.count }
        for request in batch { onEvent(.failed(error, correlationID: request.correlationID)) }
        var commit = Commit(notExecuted: batch, reply: .failed("The store failed"))
        for case .receipts(let receipts) in batch { commit.droppedReceipts += receipts.count }
        return commit
    }
}
