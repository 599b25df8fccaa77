import FleetRules

/// Collects a lane's results and decides when to report them to the store.
///
/// One report is under way at a time; results that arrive meanwhile go with the next. So a busy lane's results share
/// transactions without a timer. A report that the store did not write is repeated, whole.
struct ReportBuffer {
    private let rules: LaneRules
    private var pending: [PushOutcome] = []
    private var underway: [PushOutcome] = []
    /// Whether the store has not replied to a report yet.
    private(set) var isUnderway = false
    private var requestedRoom = 0
    /// Whether the store may have jobs for the lane.
    private var mayHaveJobs = true
    private var nextDueAt: Int64?
    private var notBefore: Int64 = .min
    /// Whether the store did not write the last report.
    private var isRefused = false
    private var lastAt: Int64

    init(_ rules: LaneRules, at now: Int64) {
        self.rules = rules
        lastAt = now
    }

    /// Whether the store has confirmed all results.
    var isEmpty: Bool { pending.isEmpty && !isUnderway }

    /// Results that the store has not confirmed.
    var unconfirmed: [PushOutcome] { underway + pending }

    /// How many of them wait because the store did not write a report.
    var refusedCount: Int { isRefused ? underway.count + pending.count : 0 }

    mutating func add(_ outcome: PushOutcome) {
        pending.append(outcome)
        if outcome.result == .returned { mayHaveJobs = true }
    }

    /// The store may have jobs for the lane.
    mutating func wake() { mayHaveJobs = true }

    /// The results to report now; nil if no report is due.
    /// - Parameter room: how many more jobs the lane can hold.
    mutating func next(room: Int, at now: Int64) -> [PushOutcome]? {
        if let due = nextDueAt, now >= due {
            nextDueAt = nil
            mayHaveJobs = true
        }
        let isClockSetBack = now < lastAt  // Do not wait until the clock reaches `lastAt` again.
        guard !isUnderway, now >= notBefore || isClockSetBack else { return nil }
        let isIntervalOver = now - lastAt >= rules.reportInterval || isClockSetBack
        guard !pending.isEmpty || room > 0 && mayHaveJobs || isIntervalOver else { return nil }
        isUnderway = true
        lastAt = now
        requestedRoom = room
        if room > 0 { mayHaveJobs = false }
        underway = pending
        pending.removeAll(keepingCapacity: true)
        return underway
    }

    /// The store wrote the report and replied.
    mutating func taken(_ lease: PushLease, at now: Int64) {
        isUnderway = false
        isRefused = false
        underway = []
        nextDueAt = lease.nextDueAt
        guard lease.hasMore else { return }
        // More jobs, but none in the lease and none dropped: asking again at once could loop forever.
        if lease.jobs.isEmpty, lease.dropped == 0, requestedRoom > 0 {
            nextDueAt = min(nextDueAt ?? .max, now + rules.reportRetryDelay)
        } else {
            mayHaveJobs = true
        }
    }

    /// The store did not write the report: it is repeated after ``LaneRules/reportRetryDelay``.
    mutating func refused(at now: Int64) {
        guard isUnderway else { return }
        isUnderway = false
        isRefused = true
        pending = underway + pending
        underway = []
        notBefore = now + rules.reportRetryDelay
        mayHaveJobs = true
    }

    /// When a report is due without an event: milliseconds since 1970; nil while one is under way.
    func nextTurn(room: Int) -> Int64? {
        if isUnderway { return nil }
        var turn = lastAt + rules.reportInterval
        if room > 0, let nextDueAt { turn = min(turn, nextDueAt) }
        if !pending.isEmpty || room > 0 && mayHaveJobs { turn = min(turn, notBefore) }
        return max(turn, notBefore)
    }
}
