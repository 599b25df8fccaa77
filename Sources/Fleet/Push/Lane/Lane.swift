import Fleet
import HTTPClient

/// The work of one lane (``PushLane``): gets push jobs from the store, decides when to send each to the provider, and
/// reports the results. Jobs *in hand* are leased from the store and not sent yet; jobs *in flight* have a request
/// without a result; *suspended* jobs have a result that the lane doubts (``RejectionBreaker``).
///
/// Pure: ``handle(_:at:using:)`` handles an event, ``nextEffects(at:using:deciding:)`` returns what to do. The lane
/// requests only as many jobs as it can send now, and returns the jobs in hand when it can no longer send them: the
/// store can cancel queued jobs, but not leased ones. So the only queue is the store's.
///
/// The lane reports each leased job once, and a suspended job once more if it concerns the device. It does not send a
/// job again by itself, even if it could at once: it returns the job to the store, and the store's reply leases the job
/// again, unless it was cancelled meanwhile.
package struct Lane {
    /// An event that the lane handles.
    package enum Input: Sendable {
        /// The store may have jobs.
        case wake
        /// The store's reply to the report under way.
        case supplied(PushLease)
        /// The store did not write the report under way.
        case refused
        /// The jobs in hand are no longer leased to this process.
        case leaseEnded
        case completed(Completion)
        /// Devices that were removed or have another owner. Jobs in hand for these devices go back to the store, which
        /// cancels the jobs or assigns them to another device.
        case lost(devices: Set<String>)
        /// The request of the job with this number was withdrawn before it was written, because its device was lost.
        case withdrawn(Int64)
        case credential(CredentialUpdate)
        /// No further request may use the open connections.
        case connectionsOutdated(reason: String)
        /// Send nothing new, and finish.
        case stop
    }

    /// How the request of a job ended.
    package struct Completion: Sendable {
        /// The job's number.
        package let number: Int64
        package let result: Result<SendResult, HTTPClientError>
        /// Seconds from the request's start to its end.
        package let seconds: Double
        /// The generation of the credential that the request carried.
        package let credential: Int

        package init(number: Int64, result: Result<SendResult, HTTPClientError>, seconds: Double, credential: Int) {
            self.number = number
            self.result = result
            self.seconds = seconds
            self.credential = credential
        }
    }

    /// A change of the lane's credential.
    package enum CredentialUpdate: Equatable, Sendable {
        /// A valid credential is available.
        case ready
        /// The credential expired while no request needed it.
        case expired
        /// No credential is available for now.
        case missing(reason: String)
        /// The provider refuses to issue a credential: the configuration or this machine's clock is wrong. The lane
        /// stops; it probes with the present credential, if there is one.
        case refused(reason: String)
        /// As `refused`, but the present credential is still valid, so the lane continues.
        case renewalFailed(reason: String)
    }

    /// What the caller has to do. Effects are performed in the order in which they are returned.
    package enum Effect: Equatable, Sendable {
        /// Close the connections, and report each request in flight as completed.
        case retireConnections
        case send(PushJob, PushMessage)
        /// Get a credential newer than that of this generation; -1: any valid credential.
        case renewCredential(after: Int)
        case report(PushReport)
        /// Count and log an event.
        case emit(LaneEvent)
        /// The lane has stopped and reported everything.
        case finished
    }

    /// A job whose request is in flight.
    package struct InFlight: Sendable {
        package let job: PushJob
        /// When the request started: milliseconds since 1970.
        package let startedAt: Int64
        /// The epoch of ``CongestionControl`` in which the request started.
        let epoch: Int
    }

    enum Credential {
        case ready
        /// There is none, and none is needed before there is a job to send.
        case expired
        /// A renewal is under way; the lane does not send until it ends.
        case renewing
        /// The lane needs a credential and could not get one; it does not send until one is available.
        case missing
    }

    /// The lane's identity. The raw value is the lane's name in store, log and REST API.
    package let lane: PushLane
    let rules: LaneRules
    var congestion: CongestionControl
    var backoff: DeviceBackoff
    var poisonJobs = PoisonJobs()
    var breaker = RejectionBreaker()
    var reports: PushReportBuffer
    var effects: [Effect] = []
    /// The jobs in flight by number.
    private(set) var inFlight: [Int64: InFlight] = [:]
    /// The jobs in hand are those from index `head` on. (Removing the first element instead would move all others.)
    private var ready: [PushJob] = []
    private var head = 0
    var credential: Credential
    /// When `credential` last became ready or missing: milliseconds since 1970.
    var credentialSince: Int64
    /// The newest generation of a credential that the provider refused as expired and whose renewal was requested;
    /// `.min` if none.
    var renewalRequestedAfter = Int.min
    private(set) var isStopping = false
    private var isFinished = false
    /// The parts of ``status`` that events set. The other parts are calculated.
    var recorded = LaneStatus()
    var alarms = AlarmThrottle()

    /// - Parameter hasCredential: false if the first credential has yet to be fetched; the first job causes the fetch.
    package init(_ lane: PushLane, _ rules: LaneRules, hasCredential: Bool, at now: Int64) {
        self.lane = lane
        self.rules = rules
        congestion = CongestionControl(rules, at: now)
        backoff = DeviceBackoff(waitMax: rules.deviceWaitMax)
        reports = PushReportBuffer(rules, at: now)
        credential = hasCredential ? .ready : .expired
        credentialSince = now
    }

    /// The job's request in flight; nil if there is none.
    package func inFlight(_ number: Int64) -> InFlight? { inFlight[number] }

    /// When ``nextEffects(at:using:deciding:)`` has effects even if no event occurs: milliseconds since 1970; `.max` if
    /// never.
    package func nextTurn(at now: Int64) -> Int64 {
        var turn = min(congestion.nextTurn(after: now) ?? .max, breaker.nextTurn ?? .max)
        if let report = reports.nextTurn(room: room(now)) { turn = min(turn, report) }
        return turn
    }

    // MARK: Events

    /// Handles an event that happened at `now` (milliseconds since 1970). ``nextEffects(at:using:deciding:)`` then
    /// returns its effects.
    package mutating func handle(_ input: Input, at now: Int64, using rng: inout some RandomNumberGenerator) {
        switch input {
        case .wake: reports.wake()
        case .supplied(let lease): accept(lease, now)
        case .refused:
            reports.recordRefusal(at: now)
            recordError("the store cannot write", now)
        case .leaseEnded: release()
        case .completed(let completion):
            guard let request = inFlight.removeValue(forKey: completion.number) else { return }
            complete(request, completion, at: now, using: &rng)
        case .credential(let update): handle(update, now)
        case .connectionsOutdated(let reason): apply(congestion.retireConnections(reason, now), reason: reason)
        case .lost(let devices): release { devices.contains($0.device.id) }
        case .withdrawn(let number):
            guard let request = inFlight.removeValue(forKey: number) else { return }
            congestion.withdraw(epoch: request.epoch)
            reports.add(PushOutcome(request.job, .returned, wasTried: false))
        case .stop: isStopping = true
        }
    }

    private mutating func accept(_ lease: PushLease, _ now: Int64) {
        reports.recordReply(lease, at: now)
        // `completeReport` makes the lane forget the dead devices, so return their jobs in hand before that.
        if backoff.hasReported {
            release { [backoff] in backoff.isDead($0.device) }
            backoff.completeReport()
        }
        ready.append(contentsOf: lease.jobs)
    }

    /// Applies a change of the congestion control.
    mutating func apply(_ change: CongestionControl.Change, reason: String) {
        switch change {
        case .nothing: return
        case .resumed:
            breaker.close()
            return emit(.resumed)
        case .setBack: break
        case .paused(let milliseconds):
            emit(.paused(reason: reason, milliseconds: milliseconds))
            // An operator should check that the retry-after is the provider's and not a proxy's.
            if milliseconds >= rules.retryAfterMax {
                let minutes = milliseconds / 60_000
                let advice = "the response asks for this long or longer with retry-after"
                emit(.alarm("\(lane.rawValue): paused for \(minutes) minutes, because \(advice): \(reason)"))
            }
        case .stopped: emit(.alarm("\(lane.rawValue): stopped until a probe succeeds: \(reason)"))
        }
        release()
    }

    // MARK: Effects

    /// Returns everything that the caller has to do now.
    /// - Parameter decide: whether to send a job, and which message.
    package mutating func nextEffects(
        at now: Int64, using rng: inout some RandomNumberGenerator, deciding decide: (PushJob) -> PushDecision
    ) -> [Effect] {
        guard !isFinished else { return [] }
        if let reason = congestion.claimRetirement(total: inFlight.count, at: now) {
            effects.append(.retireConnections)
            emit(.connectionRetired(reason: reason))
        }
        decideRejections(now)
        send(now, decide)
        let room = isStopping ? 0 : room(now)
        if let outcomes = reports.next(room: room, at: now) {
            backoff.beginReport()
            effects.append(
                .report(PushReport(lane: lane, outcomes: outcomes, capacity: room, isFirst: !reports.hasReply)))
        }
        if isStopping, inFlight.isEmpty, reports.isEmpty {
            isFinished = true
            effects.append(.finished)
        }
        defer { effects = [] }
        return effects
    }

    /// All results that the store has not confirmed; nil if there are none. The store may have written some of them: it
    /// ignores results of jobs that are no longer leased to the lane.
    package var finalReport: PushReport? {
        let outcomes = reports.unconfirmed
        return outcomes.isEmpty ? nil : PushReport(lane: lane, outcomes: outcomes, capacity: 0)
    }

    /// How many more jobs the lane can hold.
    private func room(_ now: Int64) -> Int {
        guard !isStopping, credential == .ready || credential == .expired else { return 0 }
        return max(0, congestion.room(total: busyCount, at: now) - (ready.count - head))
    }

    /// The jobs that count against the window. Suspended jobs do, because nothing else limits their number.
    private var busyCount: Int { inFlight.count + breaker.suspended.count }

    private mutating func send(_ now: Int64, _ decide: (PushJob) -> PushDecision) {
        guard head < ready.count else { return }
        guard !isStopping, credential == .ready else {
            if credential == .expired, !isStopping { requestCredential(after: -1) }
            return release()
        }
        var room = congestion.room(total: busyCount, at: now)
        if room == 0, congestion.mode != .running { return release() }
        while room > 0, head < ready.count {
            let job = ready[head]
            head += 1
            if let message = message(of: job, now, decide) {
                inFlight[job.number] = InFlight(job: job, startedAt: now, epoch: congestion.begin())
                effects.append(.send(job, message))
                room -= 1
            }
        }
        if head == ready.count { removeReady() }
    }

    /// The message to send; nil if the job was reported instead.
    private mutating func message(of job: PushJob, _ now: Int64, _ decide: (PushJob) -> PushDecision) -> PushMessage? {
        if backoff.isDead(job.device) {
            reports.add(PushOutcome(job, .returned, wasTried: false))
            return nil
        }
        if let until = backoff.backoff(of: job.device.id, at: now) {
            postpone(job, until: until, "device_busy", wasTried: false)
            return nil
        }
        switch decide(job) {
        case .send(let message): return message
        case .wait(let until): postpone(job, until: until, "awaiting_confirmation", wasTried: false)
        case .cancelled(let reason): cancel(job, reason)
        case .expired: expire(job, wasTried: false)
        }
        return nil
    }

    /// Returns to the store the jobs in hand for which `isReleased` is true. For a job of a dead device, only the store
    /// knows whether the device registered again, and whether the job moved to another device.
    mutating func release(where isReleased: (PushJob) -> Bool = { _ in true }) {
        guard head < ready.count else { return }
        let jobs = ready[head...]
        removeReady()
        for job in jobs {
            if isReleased(job) {
                reports.add(PushOutcome(job, .returned, wasTried: false))
            } else {
                ready.append(job)
            }
        }
    }

    private mutating func removeReady() {
        ready.removeAll(keepingCapacity: true)
        head = 0
    }

    mutating func emit(_ event: LaneEvent) { effects.append(.emit(event)) }
}
