import Fleet

/// Collects a lane's results and decides when to report them to the store.
///
/// One report is under way at a time; results that arrive meanwhile go into the next report. In this way, the results
/// of a busy lane share transactions, without a timer. If the store did not write a report, the next report repeats all
/// of its results.
struct PushReportBuffer {
    private let rules: LaneRules
    /// Results for the next report.
    private var pending: [PushOutcome] = []
    /// The results of the report under way.
    private var underway: [PushOutcome] = []
    /// Whether a report is under way: the store has not replied to it yet.
    private(set) var isUnderway = false
    /// How many jobs the last report requested.
    private var requestedRoom = 0
    /// Whether the store may have jobs for the lane.
    private var mayHaveJobs = true
    /// When the store's next delayed job is due; nil if there is none.
    private var nextDueAt: Int64?
    /// No report is due before this time: milliseconds since 1970.
    private var notBefore: Int64 = .min
    /// Whether the store has replied to a report.
    private(set) var hasReply = false
    /// When the last report was made; before the first one, when the lane was created.
    private var lastAt: Int64

    init(_ rules: LaneRules, at now: Int64) {
        self.rules = rules
        lastAt = now
    }

    /// Whether the store has confirmed all results.
    var isEmpty: Bool { pending.isEmpty && !isUnderway }

    /// Results that the store has not confirmed.
    var unconfirmed: [PushOutcome] { underway + pending }

    mutating func add(_ outcome: PushOutcome) {
        pending.append(outcome)
        if outcome.result == .returned { mayHaveJobs = true }
    }

    /// Records that the store may have jobs for the lane.
    mutating func wake() { mayHaveJobs = true }

    /// The results to report now; nil if no report is due.
    /// - Parameter room: how many more jobs the lane can hold.
    mutating func next(room: Int, at now: Int64) -> [PushOutcome]? {
        if let due = nextDueAt, now >= due {
            nextDueAt = nil
            mayHaveJobs = true
        }
        let isClockSetBack = now < lastAt  // Then do not wait until the clock reaches `lastAt` again.
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

    /// The store wrote the report and replied with a lease.
    mutating func recordReply(_ lease: PushLease, at now: Int64) {
        isUnderway = false
        hasReply = true
        underway = []
        nextDueAt = lease.nextDueAt
        guard lease.hasMore else { return }
        // The store has more jobs but leased none and dropped none: requesting jobs again at once could loop forever.
        if lease.jobs.isEmpty, lease.dropped == 0, requestedRoom > 0 {
            nextDueAt = min(nextDueAt ?? .max, now + rules.reportRetryDelay)
        } else {
            mayHaveJobs = true
        }
    }

    /// The store did not write the report. A report with its results is due after ``LaneRules/reportRetryDelay``.
    mutating func recordRefusal(at now: Int64) {
        guard isUnderway else { return }
        isUnderway = false
        pending = underway + pending
        underway = []
        notBefore = now + rules.reportRetryDelay
        mayHaveJobs = true
    }

    /// When the next report is due if no event occurs before: milliseconds since 1970; nil while one is under way.
    func nextTurn(room: Int) -> Int64? {
        if isUnderway { return nil }
        var turn = lastAt + rules.reportInterval
        if room > 0, let nextDueAt { turn = min(turn, nextDueAt) }
        if !pending.isEmpty || room > 0 && mayHaveJobs { turn = min(turn, notBefore) }
        return max(turn, notBefore)
    }
}
