import Primitives
import Threads

/// What the writer does between batches of requests: clocks, checks, what time makes due, background tasks, retention.
extension WriterLoop {
    // MARK: Clock

    /// Reads the clocks, before each transaction: a jump of the wall clock must not reach a decision that cannot be
    /// undone.
    /// - Returns: the wall clock's time in milliseconds since 1970.
    mutating func observeClock() -> Int64 {
        let reading = readClock()
        // The nodes of a cluster use the database's clock.
        if let log = executor.clusterLog { return reading.wall + log.clockOffset }
        if let change = clock.observe(reading) { onEvent(.clock(change)) }
        executor.clockLead = clock.lead
        return reading.wall
    }

    mutating func saveClock() {
        guard executor.clusterLog == nil else { return }
        let reading = readClock()
        guard !taskFailures.isPaused(ClockKeeper.name, at: reading.wall) else { return }
        do throws(DatabaseError) {
            if let change = try clock.applyConfirmation(at: reading) { onEvent(.clock(change)) }
            try clock.save(at: reading)
            taskFailures.remove(ClockKeeper.name)
        } catch {
            record(error, of: ClockKeeper.name, reading.wall)
        }
    }

    // MARK: Cluster

    /// Looks at the log from time to time, although there is nothing to write: other nodes may have died before they told
    /// what they have committed, and the node that leads says that it still does.
    mutating func lookAtLogIfDue() {
        guard let log = executor.clusterLog else { return }
        let time = Clock.monotonicMilliseconds()
        // Also if it writes all the time: the row of the node says that it lives.
        guard time - lookedAt >= Timing.clusterLogLook else { return }
        lookedAt = time
        let now = observeClock()
        do throws(DatabaseError) {
            let hasMore = try executor.transaction(declaring: 3 * ClusterLog.deletedMax + 1) { () throws(DatabaseError) in
                try log.recordNode(written: nil)
                return try executor.isLeader ? log.deleteOld() : false
            }
            // The loop comes back at once, after the requests that wait.
            if hasMore { lookedAt = time - Timing.clusterLogLook }
            // What other nodes have begun.
            if executor.isLeader {
                executor.backgroundTasks.formUnion([.broadcasts, .readMarks, .erasures])
                _ = try executor.recoverCodes(sentBefore: now - Timing.smsSendingMax)
            }
            taskFailures.remove(ClusterLog.name)
        } catch {
            record(error, of: ClusterLog.name, now)
        }
    }

    /// Publishes what other nodes have committed, if a transaction without a commit of its own has read it.
    mutating func publishLog() {
        guard executor.clusterLog?.hasItems == true else { return }
        publish(Commit())
    }

    /// Another node leads from now on, without a wait.
    func leaveCluster() {
        guard let log = executor.clusterLog else { return }
        do throws(DatabaseError) {
            try executor.transaction { () throws(DatabaseError) in try log.leave() }
        } catch {
            onEvent(.backgroundTaskFailed(error, kind: ClusterLog.name))
        }
    }

    // MARK: Confirmations

    /// The name of the check in the operator's log.
    private static let checkName = "confirmations"

    /// Once a second: finds the notifications that were not confirmed in time.
    mutating func checkConfirmations() {
        guard executor.isLeader else { return }
        let now = observeClock()
        // After the clock was set back, the next check is not at the old time.
        guard now >= checkAt || checkAt - now > Timing.deliveryCheckInterval, !taskFailures.isPaused(Self.checkName, at: now)
        else { return }
        do throws(DatabaseError) {
            let (hasMore, commit) = try executor.transaction(declaring: 1) { () throws(DatabaseError) in
                let hasMore = try executor.checkConfirmations(now: executor.transactionTime(or: now))
                let commit = Commit(updates: executor.counter.drainUpdates())
                try executor.log(commit)
                return (hasMore, commit)
            }
            checkAt = hasMore ? now : now + Timing.deliveryCheckInterval
            taskFailures.remove(Self.checkName)
            publish(commit)
        } catch {
            record(error, of: Self.checkName, now)
        }
    }

    // MARK: Due commands

    /// Executes what time has made due, as commands of the gateway. A drain admits none: their events would come too late.
    mutating func executeDueCommands() {
        let monotonic = Clock.monotonicMilliseconds()
        guard dueCommands.isDue(at: monotonic) else { return }
        let now = observeClock()
        guard !taskFailures.isPaused(DueCommands.name, at: now) else { return dueCommands.postpone(at: monotonic) }
        do throws(DatabaseError) {
            let due = try dueCommands.next(
                executor, now: now, monotonic: monotonic, isClockTrusted: executor.clusterLog != nil || clock.isTrusted)
            taskFailures.remove(DueCommands.name)
            let admitted = due.prefix { _ in admitsOwnCommand() }
            if admitted.count < due.count { dueCommands.postpone(at: monotonic) }
            if !admitted.isEmpty { publish(execute(admitted.map { .command(CommandRequest($0, replyTo: nil)) })) }
        } catch {
            dueCommands.postpone(at: monotonic)
            record(error, of: DueCommands.name, now)
        }
    }

    /// Stores when online drivers were last seen, because otherwise they would seem to be away after a restart.
    mutating func saveLastRequests() {
        guard keepsAccounts else { return }
        let now = observeClock()
        do throws(DatabaseError) { try executor.saveLastRequests(now: now) } catch { record(error, of: DueCommands.name, now) }
    }

    // MARK: Positions

    mutating func savePositionsIfDue() {
        let time = Clock.monotonicMilliseconds()
        if positionSchedule.isSaveDue(at: time) { savePositions() }
        if executor.hasRemovedPositions, positionSchedule.isCheckpointDue(at: time) {
            executor.hasRemovedPositions = false
            executor.backgroundTasks.insert(.checkpoint)
        }
    }

    /// Stores the drivers' newest positions in slices. They come after the commits that end jobs, and this
    /// thread has published those, so none is of a driver who is no longer followed.
    mutating func savePositions() {
        var positions = takePositions()[...]
        guard !positions.isEmpty else { return }
        do throws(DatabaseError) {
            while !positions.isEmpty {
                heartbeat.beat()
                let slice = positions.prefix(PositionSchedule.sliceMax)
                try executor.transaction(declaring: slice.count) { () throws(DatabaseError) in try executor.save(slice) }
                positions.removeFirst(slice.count)
            }
            taskFailures.remove(PositionSchedule.name)
        } catch {
            returnPositions(Array(positions))
            record(error, of: PositionSchedule.name, readClock().wall)
        }
    }

    // MARK: Background tasks and retention

    func nextBackgroundTask(_ now: Int64) -> BackgroundTask? {
        guard executor.isLeader else { return nil }
        // In turn, so that none of them waits for another one's end.
        let all = BackgroundTask.allCases
        let start = lastTask.flatMap(all.firstIndex(of:)).map { $0 + 1 } ?? 0
        return (all[start...] + all[..<start]).first {
            executor.backgroundTasks.contains($0) && !taskFailures.isPaused($0.rawValue, at: now)
        }
    }

    mutating func runBackgroundTask() {
        let now = observeClock()
        guard let task = nextBackgroundTask(now) else { return }
        lastTask = task
        do throws(DatabaseError) {
            let woken = try executor.runSlice(of: task, now: now)
            taskFailures.remove(task.rawValue)
            publish(
                Commit(wake: woken, finished: executor.outbox.drainFinished(), counts: executor.counter.drain()))
        } catch {
            record(error, of: task.rawValue, now)
        }
    }

    mutating func runRetention() {
        let now = observeClock()
        do throws(DatabaseError) {
            let (deleted, removed) = try retention.runSlice(
                executor, now - executor.clockLead, isClockTrusted: executor.clusterLog != nil || clock.isTrusted)
            taskFailures.remove(RetentionSchedule.name)
            let lag = retention.lag
            counts.withLock {
                $0.deleted += deleted
                $0.retentionLag = lag
            }
            publish(Commit(finished: executor.outbox.drainFinished(), removed: removed))
        } catch {
            record(error, of: RetentionSchedule.name, now)
        }
    }

    mutating func record(_ error: DatabaseError, of task: String, _ now: Int64) {
        // A server that is away is an outage also for a gateway that has no commands to refuse.
        if error.kind == .unreachable { beginOutage(error) }
        // In normal operation, a checkpoint fails while a reader is active.
        let isExpected = task == BackgroundTask.checkpoint.rawValue && error.isBusy
        let isFirst = taskFailures.record(task, isExpected: isExpected, at: now)
        if isFirst { onEvent(.backgroundTaskFailed(error, kind: task)) }
    }
}
