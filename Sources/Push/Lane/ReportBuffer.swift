import FleetRules

/// What a lane has to tell the store, and when it does.
///
/// One report is under way at a time: what comes up meanwhile goes with the next, so that a busy lane's outcomes share
/// transactions by themselves. What the store could not take is told again, whole.
struct ReportBuffer {
    private let rules: LaneRules
    private var pending: [PushOutcome] = []
    private var underway: [PushOutcome] = []
    /// Whether the store has a report that it has not answered.
    private(set) var isUnderway = false
    private var roomAsked = 0
    /// Whether the store may have jobs for us.
    private var mayHaveJobs = true
    private var nextDueAt: Int64?
    private var notBefore: Int64 = .min
    /// Whether the store could not take the last report.
    private var isRefused = false
    private var lastAt: Int64

    init(_ rules: LaneRules, at now: Int64) {
        self.rules = rules
        lastAt = now
    }

    /// Whether everything has been told, and taken.
    var isEmpty: Bool { pending.isEmpty && !isUnderway }

    /// What the store has not taken, or not said that it has.
    var untaken: [PushOutcome] { underway + pending }

    /// How much of that waits because the store could not take it.
    var refusedCount: Int { isRefused ? underway.count + pending.count : 0 }

    mutating func add(_ outcome: PushOutcome) {
        pending.append(outcome)
        if outcome.result == .returned { mayHaveJobs = true }
    }

    /// The store may have jobs for us.
    mutating func wake() { mayHaveJobs = true }

    /// What is to be reported now; nil when there is nothing, or not yet.
    /// - Parameter room: jobs that the lane could take.
    mutating func next(room: Int, at now: Int64) -> [PushOutcome]? {
        if let due = nextDueAt, now >= due {
            nextDueAt = nil
            mayHaveJobs = true
        }
        let isSetBack = now < lastAt  // the clock; nobody shall wait for it to catch up
        guard !isUnderway, now >= notBefore || isSetBack else { return nil }
        let isLong = now - lastAt >= rules.reportInterval || isSetBack
        guard !pending.isEmpty || room > 0 && mayHaveJobs || isLong else { return nil }
        isUnderway = true
        lastAt = now
        roomAsked = room
        if room > 0 { mayHaveJobs = false }
        underway = pending
        pending.removeAll(keepingCapacity: true)
        return underway
    }

    /// The store has taken the report, and answers.
    mutating func taken(_ supply: PushLease, at now: Int64) {
        isUnderway = false
        isRefused = false
        underway = []
        nextDueAt = supply.nextDueAt
        guard supply.hasMore else { return }
        // More, and yet none, and nothing out of the way: asking at once again could go on for ever.
        if supply.jobs.isEmpty, supply.dropped == 0, roomAsked > 0 {
            nextDueAt = min(nextDueAt ?? .max, now + rules.reportAgain)
        } else {
            mayHaveJobs = true
        }
    }

    /// The store has not taken it: once more, in a while.
    mutating func refused(at now: Int64) {
        guard isUnderway else { return }
        isUnderway = false
        isRefused = true
        pending = underway + pending
        underway = []
        notBefore = now + rules.reportAgain
        mayHaveJobs = true
    }

    /// When, if nothing happens until then, something is to be reported: milliseconds since 1970.
    func nextTurn(room: Int) -> Int64? {
        if isUnderway { return nil }
        var turn = lastAt + rules.reportInterval
        if room > 0, let nextDueAt { turn = min(turn, nextDueAt) }
        if !pending.isEmpty || room > 0 && mayHaveJobs { turn = min(turn, notBefore) }
        return max(turn, notBefore)
    }
}
