import Primitives

/// What a loop has to do, and how much of it a turn does, so that a turn ends whatever others cause in whatever number.
///
/// What becomes ready is done at once as long as nothing of its kind waits and the turn has time. All else waits here, in
/// the order in which it came, over as many turns as it takes: nothing overtakes what waits, and what waits does not fill
/// the turn. Each kind that waits gets its part of every turn.
///
/// A pure value: times are nanoseconds of a monotonic clock, and are passed in.
struct Agenda<Work> {
    /// The kinds of work, in the order in which a turn does them.
    enum Kind: Int, CaseIterable {
        /// A small step of a connection: a request, a message, a response from another thread.
        case step
        /// Connections that come and go: they are accepted, shake hands, subscribe after a wait, expire, are closed.
        case change
        /// Connections with more than a small step, and those that have not been written to for long.
        case bulk
    }

    /// The time of a turn for all work, in nanoseconds. It ends with the first piece of work that reaches it.
    static var turn: UInt64 { 5_000_000 }
    /// What each kind but the first gets of a turn if some of it waits, in nanoseconds. It is less than the turn has left, so
    /// that the loop looks soon at what has become ready meanwhile.
    static var slice: UInt64 { 1_000_000 }

    private var queues = Kind.allCases.map { _ in FIFO<Work>() }
    /// When the turn began.
    private(set) var beganAt: UInt64 = 0
    /// The kind that the turn does now. Beyond the last one after its end.
    private var current = 0
    /// Whether the turn has done some of it: it does at least one piece of each kind.
    private var hasProgress = false
    private var sliceEnd: UInt64 = 0

    /// Whether nothing waits.
    var isEmpty: Bool { queues.allSatisfy { $0.isEmpty } }

    mutating func beginTurn(at now: UInt64) { (beganAt, current, hasProgress) = (now, 0, false) }

    /// Whether something that has become ready may be done at once.
    func permits(_ kind: Kind, at now: UInt64) -> Bool { queues[kind.rawValue].isEmpty && now < stepsEnd }

    /// Adds work, behind all of its kind.
    mutating func add(_ work: Work, _ kind: Kind) { queues[kind.rawValue].append(work) }

    /// Removes and returns what the turn does next.
    /// - Returns: nil if nothing waits, or the turn has no time left. Then this remains so until the next turn.
    mutating func next(at now: UInt64) -> (work: Work, kind: Kind)? {
        while let kind = Kind(rawValue: current) {
            let hasTime = now < (kind == .step ? stepsEnd : sliceEnd)
            if hasTime || !hasProgress, let work = queues[current].popFirst() {
                hasProgress = true
                return (work, kind)
            }
            (current, hasProgress, sliceEnd) = (current + 1, false, now + Self.slice)
        }
        return nil
    }

    /// When the turn has no more time for steps: it keeps that of the other kinds.
    var stepsEnd: UInt64 { beganAt + Self.turn - time(keptFor: .change) - time(keptFor: .bulk) }

    private func time(keptFor kind: Kind) -> UInt64 { queues[kind.rawValue].isEmpty ? 0 : Self.slice }
}
