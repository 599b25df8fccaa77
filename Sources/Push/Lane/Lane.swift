import FleetRules
import HTTPClient

/// What stands between the store's queue and one provider: which jobs are in hand, what is in flight, and what becomes of it.
///
/// It performs nothing: a turn takes in what has happened (``hear(_:at:using:)``) and then says what is to be done
/// (``act(at:using:deciding:)``). Jobs come only as there is room to send them, and go back as soon as there is none: the
/// store may cancel what it has, but not what a lane holds. So there is one list of what waits, and it is the store's.
///
/// Every job that the store hands over is reported once. What has to be sent again at once is reported as unsent, too: the
/// store's answer to that very report brings it back, if nobody has cancelled it meanwhile.
package struct Lane {
    /// What has happened.
    package enum Input: Sendable {
        /// The store may have jobs.
        case wake
        /// The store's answer to the report under way.
        case supplied(PushLease)
        /// The store could not take the report under way.
        case refused
        case completed(Completion)
        /// Devices that are gone, or somebody else's now: what is in hand for them goes back to the store, which knows.
        case lost(devices: Set<String>)
        /// A request was taken back before it was on the wire: its device is among those.
        case withdrawn(Int64)
        case credential(CredentialUpdate)
        /// The connections must not be used for what comes next.
        case outdated(reason: String)
        /// Nothing new is to be sent.
        case stop
    }

    /// How a request ended.
    package struct Completion: Sendable {
        /// The job's.
        package let number: Int64
        package let result: Result<SendResult, HTTPClientError>
        /// From its start.
        package let seconds: Double
        /// The generation of the credential that it went with.
        package let credential: Int

        package init(number: Int64, result: Result<SendResult, HTTPClientError>, seconds: Double, credential: Int) {
            self.number = number
            self.result = result
            self.seconds = seconds
            self.credential = credential
        }
    }

    /// What has become of the credential.
    package enum CredentialUpdate: Equatable, Sendable {
        /// There is one, and it is new.
        case ready
        /// It has run out while nobody needed it.
        case expired
        /// There is none for the time being.
        case missing(reason: String)
        /// There will be no other one, as things are. The lane stops; what it has, if anything, is good for probes.
        case refused(reason: String)
        /// There will be no other one, as things are, but the one there is still serves.
        case renewalFailed(reason: String)
    }

    /// What is to be done, in this order.
    package enum Effect: Equatable, Sendable {
        /// Throw the connections away, and tell how what was in flight has ended.
        case retireConnections
        case send(PushJob, PushMessage)
        /// Get a credential that is newer than that generation; -1: any.
        case getCredential(after: Int)
        case report(PushReport)
        /// Tell those who count and those who look.
        case emit(LaneEvent)
        /// It was told to stop, and all is reported.
        case finished
    }

    /// A request in flight.
    package struct InFlight: Sendable {
        package let job: PushJob
        /// Milliseconds since 1970.
        package let begunAt: Int64
        let era: Int
    }

    enum Credential {
        case ready
        /// There is none, and none is needed before there is something to send.
        case expired
        /// One is on its way, and without it there is no point in sending.
        case awaited
        case missing
    }

    /// Milliseconds after which somebody should look whether it really is the provider that asks for as much.
    private static let longPause: Int64 = 3_600_000

    package let lane: PushLane
    let rules: LaneRules
    var congestion: CongestionControl
    var backoff: DeviceBackoff
    var poisonJobs = PoisonJobs()
    var reports: ReportBuffer
    var effects: [Effect] = []
    private(set) var inFlight: [Int64: InFlight] = [:]
    /// In hand and not sent, from `head` on: taking from the front of an array would move the rest.
    private var ready: [PushJob] = []
    private var head = 0
    var credential: Credential
    /// The newest generation for which a successor has been asked for.
    var renewalAskedAfter = Int.min
    private var isStopping = false
    private var isFinished = false
    var notes: LaneNotes

    /// - Parameter hasCredential: false when the first has yet to be fetched, once it is needed.
    package init(_ lane: PushLane, _ rules: LaneRules, hasCredential: Bool, at now: Int64) {
        self.lane = lane
        self.rules = rules
        congestion = CongestionControl(rules, at: now)
        backoff = DeviceBackoff(waitMax: rules.deviceWaitMax)
        reports = ReportBuffer(rules, at: now)
        credential = hasCredential ? .ready : .expired
        notes = LaneNotes(since: now)
    }

    /// The request that carries a job; nil when none does.
    package func inFlight(_ number: Int64) -> InFlight? { inFlight[number] }

    /// When, if nothing happens until then, there is something to be done: milliseconds since 1970.
    package func nextTurn(at now: Int64) -> Int64 {
        var turn = congestion.nextTurn(after: now) ?? .max
        if let report = reports.nextTurn(room: room(now)) { turn = min(turn, report) }
        return turn
    }

    // MARK: What has happened

    package mutating func hear(_ input: Input, at now: Int64, using dice: inout some RandomNumberGenerator) {
        switch input {
        case .wake: reports.wake()
        case .supplied(let supply): take(supply, now)
        case .refused:
            reports.refused(at: now)
            notes.fail("the store cannot write", now)
        case .completed(let ending):
            guard let ticket = inFlight.removeValue(forKey: ending.number) else { return }
            end(ticket, ending, at: now, using: &dice)
        case .credential(let news): handle(news, now)
        case .outdated(let reason): move(congestion.leaveConnections(reason, now), because: reason)
        case .lost(let devices): release { devices.contains($0.device.id) }
        case .withdrawn(let number):
            guard let ticket = inFlight.removeValue(forKey: number) else { return }
            congestion.withdraw(era: ticket.era)
            reports.add(PushOutcome(ticket.job, .returned, wasTried: false))
        case .stop: isStopping = true
        }
    }

    private mutating func take(_ supply: PushLease, _ now: Int64) {
        reports.taken(supply, at: now)
        // Once the lane forgets that they are dead, nothing in hand may be for them.
        if backoff.hasReported {
            release { [backoff] in backoff.isDead($0.device) }
            backoff.completeReport()
        }
        ready.append(contentsOf: supply.jobs)
        notes.depth = supply.depth
        notes.oldestAt = supply.oldestAt
    }

    /// Does what a change of pace brings with it.
    mutating func move(_ change: CongestionControl.Change, because reason: String) {
        switch change {
        case .nothing: return
        case .resumed: return emit(.resumed)
        case .setBack: break
        case .paused(let milliseconds):
            emit(.paused(reason: reason, milliseconds: milliseconds))
            if milliseconds > Self.longPause {
                emit(.alarm("\(lane.rawValue): paused for \(milliseconds / 60_000) minutes, as the provider asks: \(reason)"))
            }
        case .stopped: emit(.alarm("\(lane.rawValue): stopped, for the provider refuses us: \(reason)"))
        }
        release()
    }

    // MARK: What is to be done

    /// Everything that is to be done now.
    /// - Parameter decide: what to send of a job, if anything.
    package mutating func act(
        at now: Int64, using dice: inout some RandomNumberGenerator, deciding decide: (PushJob) -> PushDecision
    ) -> [Effect] {
        guard !isFinished else { return [] }
        if let reason = congestion.retire(total: inFlight.count, at: now) {
            effects.append(.retireConnections)
            emit(.connectionRetired(reason: reason))
        }
        send(now, decide)
        let room = isStopping ? 0 : room(now)
        if let outcomes = reports.next(room: room, at: now) {
            backoff.report()
            effects.append(.report(PushReport(lane: lane, outcomes: outcomes, room: room)))
        }
        if isStopping, inFlight.isEmpty, reports.isEmpty {
            isFinished = true
            effects.append(.finished)
        }
        defer { effects = [] }
        return effects
    }

    /// All that the store has not taken, or not said that it has; nil when that is nothing. It may be told twice: of a job that
    /// is not the lane's any more the store notes nothing.
    package var lastReport: PushReport? {
        let outcomes = reports.untaken
        return outcomes.isEmpty ? nil : PushReport(lane: lane, outcomes: outcomes, room: 0)
    }

    /// How many more jobs can be in hand.
    private func room(_ now: Int64) -> Int {
        guard !isStopping, credential == .ready || credential == .expired else { return 0 }
        return max(0, congestion.room(total: inFlight.count, at: now) - (ready.count - head))
    }

    private mutating func send(_ now: Int64, _ decide: (PushJob) -> PushDecision) {
        guard head < ready.count else { return }
        guard !isStopping, credential == .ready else {
            if credential == .expired, !isStopping { getCredential(after: -1) }
            return release()
        }
        var room = congestion.room(total: inFlight.count, at: now)
        if room == 0, congestion.mode != .running { return release() }
        while room > 0, head < ready.count {
            let job = ready[head]
            head += 1
            if let message = message(of: job, now, decide) {
                inFlight[job.number] = InFlight(job: job, begunAt: now, era: congestion.begin())
                effects.append(.send(job, message))
                room -= 1
            }
        }
        if head == ready.count { empty() }
    }

    /// What is to be sent of a job; nil when it has been settled instead.
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
        case .cancelled(let reason): cancel(job, reason)
        case .expired: expire(job, wasTried: false)
        }
        return nil
    }

    /// The store has what waits; nobody else. It knows, too, whether a phone that is dead to us has registered again, or its jobs
    /// have gone over to another.
    mutating func release(where isToGo: (PushJob) -> Bool = { _ in true }) {
        guard head < ready.count else { return }
        let jobs = ready[head...]
        empty()
        for job in jobs {
            if isToGo(job) { reports.add(PushOutcome(job, .returned, wasTried: false)) } else { ready.append(job) }
        }
    }

    private mutating func empty() {
        ready.removeAll(keepingCapacity: true)
        head = 0
    }

    mutating func emit(_ event: LaneEvent) { effects.append(.emit(event)) }
}
