import FleetRules

/// How much a lane may have in flight, and whether it may send at all.
///
/// A connection begins with one request: APNs allows no second until it has accepted a token, and libcurl would answer a
/// crowd with a connection for each (PUSH.md sections 1 and 6). Every answer then makes room for one more, which doubles
/// what is in flight with every round trip. What goes wrong belongs to an *era*: a new one begins with every setback, and
/// what is still heard of an earlier one says nothing any more. So a connection that breaks under a thousand requests is one
/// misfortune, not a thousand.
struct CongestionControl {
    enum Mode: Equatable { case running, paused, stopped }

    /// What the end of a request says of provider and connection.
    enum Signal: Equatable {
        /// The provider dealt with the request, whatever it thought of it.
        case success
        /// It answered, which is all that can be said.
        case answered
        /// It cannot now, and perhaps says for how many milliseconds.
        case overloaded(after: Int64?)
        /// It will not, until somebody mends the configuration.
        case forbidden(newConnection: Bool)
        /// It has had enough of this connection, now or if that goes on.
        case goAway, tooManyTokens
        case notSent, lost, timedOut
    }

    /// What that changes. After all but `nothing` and `resumed`, what has not been sent is given back.
    enum Change: Equatable {
        case nothing
        /// There will be another connection, or it has become doubtful how good this one is.
        case setBack
        case paused(milliseconds: Int64)
        case stopped
        case resumed
    }

    private let rules: LaneRules
    private(set) var mode = Mode.running
    /// Since when: milliseconds since 1970.
    private(set) var since: Int64
    /// While it is paused or stopped: when one job may be tried, and since when that is known.
    private(set) var probeAt: Int64 = 0
    private var waitsSince: Int64 = 0
    private(set) var window = 1
    private(set) var epoch = 0
    /// Requests of this era.
    private var inFlight = 0
    /// Whether this era has had an answer.
    private var isWarm = false
    private var heardAt = Int64.min
    private var halvedAt = Int64.min
    private var failuresInRow = 0
    private var timeOutsInRow = 0
    private var retryAftersInRow = 0
    private var tooManyTokensInRow = 0
    private var pausesInRow = 0
    /// When the connections are to be thrown away, and why.
    private var retirement: (at: Int64, reason: String)?

    init(_ rules: LaneRules, at now: Int64) {
        self.rules = rules
        since = now
    }

    /// How many requests may be begun now.
    /// - Parameter total: requests in flight, those of earlier eras among them.
    func room(total: Int, at now: Int64) -> Int {
        guard retirement == nil else { return 0 }
        let room = mode == .running ? window - inFlight : mayProbe(now) ? 1 - inFlight : 0
        return max(0, min(room, rules.windowMax - total))
    }

    /// A clock that was set back must not make the wait longer than it was meant to be.
    private func mayProbe(_ now: Int64) -> Bool { now >= probeAt || now < waitsSince }

    /// When, if nothing happens until then, there is something to do: milliseconds since 1970.
    func nextTurn(after now: Int64) -> Int64? {
        if let retirement { return retirement.at }
        return mode != .running && !mayProbe(now) ? probeAt : nil
    }

    /// Counts a request that begins; returns the era that it belongs to.
    mutating func begin() -> Int {
        inFlight += 1
        return epoch
    }

    /// A request of an era has not come to be one.
    mutating func withdraw(epoch: Int) {
        if epoch == self.epoch { inFlight -= 1 }
    }

    /// Whether the lane sends as it likes, and what ends now of an era says something of that.
    func isRunning(epoch: Int) -> Bool { mode == .running && epoch == self.epoch }

    /// Why the connections are to be thrown away now; nil when they are not. Says so once.
    mutating func retirementDue(total: Int, at now: Int64) -> String? {
        guard let retirement, now >= retirement.at || total == 0 else { return nil }
        self.retirement = nil
        return retirement.reason
    }

    /// The connections are to be thrown away: nothing more is sent over them.
    mutating func retireConnections(_ reason: String, _ now: Int64) -> Change {
        retireLater(reason, now)
        return setBack()
    }

    /// The lane may probe at once: what hindered it has changed.
    mutating func probeNow(_ now: Int64) { probeAt = min(probeAt, now) }

    /// Takes in how a request ended that began in `era`, at `begun`.
    mutating func complete(
        _ signal: Signal, epoch: Int, startedAt: Int64, at now: Int64, using rng: inout some RandomNumberGenerator
    ) -> Change {
        guard epoch == self.epoch else { return .nothing }
        inFlight -= 1
        switch signal {
        case .success: return succeed(now)
        case .answered:
            handle(now)
            return .nothing
        case .overloaded(let after): return overloaded(after, now, &rng)
        case .forbidden(let newConnection):
            if newConnection { retireLater("the provider wants a new connection", now) }
            return stop(now)
        case .goAway: return leave(now, &rng)
        case .tooManyTokens: return spoilt(now, &rng)
        case .notSent: return notSent(startedAt, now, &rng)
        case .lost: return lost(now, &rng)
        case .timedOut: return timedOut(now, &rng)
        }
    }

    /// Stops, until a probe succeeds.
    mutating func stop(_ now: Int64) -> Change {
        waitUntil(now + rules.probeInterval, now)
        guard mode != .stopped else { return .nothing }
        enter(.stopped, now)
        return .stopped
    }

    // MARK: Answers

    private mutating func handle(_ now: Int64) {
        isWarm = true
        heardAt = now
        timeOutsInRow = 0
    }

    private mutating func succeed(_ now: Int64) -> Change {
        handle(now)
        failuresInRow = 0
        retryAftersInRow = 0
        tooManyTokensInRow = 0
        pausesInRow = 0
        window = min(window + 1, rules.windowMax)
        guard mode != .running else { return .nothing }
        mode = .running
        since = now
        return .resumed
    }

    private mutating func overloaded(_ after: Int64?, _ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        handle(now)
        failuresInRow += 1
        retryAftersInRow = after == nil ? 0 : retryAftersInRow + 1
        guard mode == .running else { return again(now, &rng, wish: after ?? 0) }
        if let after, retryAftersInRow >= rules.retryAftersMax { return pause(now, &rng, wish: after) }
        return failuresInRow >= rules.failuresMax ? pause(now, &rng) : .nothing
    }

    private mutating func leave(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        retireLater("the provider is leaving", now)
        // A connection whose first answer is that is not worth another at once.
        return isWarm && mode == .running ? setBack() : again(now, &rng)
    }

    private mutating func spoilt(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        tooManyTokensInRow += 1
        let change = overloaded(nil, now, &rng)
        guard tooManyTokensInRow >= rules.tooManyTokensMax else { return change }
        tooManyTokensInRow = 0
        let setBack = retireConnections("the provider has seen too many tokens over it", now)
        return change == .nothing ? setBack : change
    }

    // MARK: No answers

    private mutating func notSent(_ begun: Int64, _ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        guard mode == .running, isWarm else { return again(now, &rng) }
        guard now - begun >= rules.requestTime * 9 / 10 else { return setBack() }
        // It waited for its turn all that time. If others were not answered either, there is no connection any more…
        guard heardAt > begun else {
            retirement = (now, "nothing was heard for \(rules.requestTime / 1_000) s")
            return setBack()
        }
        // …else the server allows fewer at once.
        guard begun >= halvedAt else { return .nothing }  // it stood behind those for whom the window has been halved
        halvedAt = now
        window = max(1, window / 2)
        return .setBack
    }

    private mutating func lost(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        return mode == .running && isWarm && failuresInRow < rules.failuresMax ? setBack() : again(now, &rng)
    }

    /// A wait in itself: unless it happens again and again, no other is added.
    private mutating func timedOut(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        timeOutsInRow += 1
        let isEnough = timeOutsInRow >= rules.timeOutsMax
        if isEnough {
            timeOutsInRow = 0
            retirement = (now, "\(rules.timeOutsMax) requests in a row were not answered")
        }
        guard mode == .running, failuresInRow < rules.failuresMax else { return again(now, &rng) }
        return isEnough ? setBack() : .nothing
    }

    // MARK: Setbacks

    /// Begins anew with one request.
    private mutating func setBack() -> Change {
        epoch += 1
        inFlight = 0
        window = 1
        isWarm = false
        return .setBack
    }

    /// It does not work yet: waits once more.
    private mutating func again(
        _ now: Int64, _ rng: inout some RandomNumberGenerator, wish: Int64 = 0
    ) -> Change {
        mode == .stopped ? stop(now) : pause(now, &rng, wish: wish)
    }

    private mutating func pause(
        _ now: Int64, _ rng: inout some RandomNumberGenerator, wish: Int64 = 0
    ) -> Change {
        // Who says how long knows better; who says "at once" does not.
        let wait =
            wish >= 1_000
            ? min(wish, rules.retryAfterMax) : RetrySchedule.delay(afterAttempts: pausesInRow, using: &rng)
        pausesInRow = min(pausesInRow + 1, rules.pauseDoublings)
        waitUntil(now + wait, now)
        enter(.paused, now)
        return .paused(milliseconds: wait)
    }

    private mutating func waitUntil(_ time: Int64, _ now: Int64) {
        probeAt = time
        waitsSince = now
    }

    private mutating func enter(_ mode: Mode, _ now: Int64) {
        _ = setBack()
        failuresInRow = 0
        retryAftersInRow = 0
        if self.mode != mode { since = now }
        self.mode = mode
    }

    /// What is under way over the old connection may still be answered; a moment later it is cut off.
    private mutating func retireLater(_ reason: String, _ now: Int64) {
        if retirement == nil { retirement = (now + rules.drainTime, reason) }
    }
}
