import Fleet

/// How many requests a lane may have in flight, and whether it may send at all: a congestion window with slow start, a
/// circuit breaker (paused, stopped) with probes (single requests that test whether the provider works again), and the
/// decision when to close connections.
///
/// A connection starts with one request: APNs allows no second one until it has accepted a token, and libcurl 7.88
/// would open a connection for each of several requests. Each success then widens the window by one, which doubles it
/// every round trip. A setback starts a new *epoch*, and results of earlier epochs are ignored: a connection that
/// breaks with a thousand requests in flight counts as one failure, not as a thousand.
struct CongestionControl {
    enum Mode: Equatable { case running, paused, stopped }

    /// What the result of a request says about provider and connection.
    enum Signal: Equatable {
        /// The provider processed the request, whether it accepted the push or not.
        case success
        /// The provider responded, which shows only that the connection works.
        case answered
        /// The provider cannot process requests now; `after`: its retry-after in milliseconds, if it gave one.
        case overloaded(after: Int64?)
        /// As `overloaded`, and the next attempt needs a new connection.
        case shutdown(after: Int64?)
        /// Something else than the provider responded, such as a proxy.
        case foreign
        /// The provider will process no request until the configuration is fixed. `newConnection`: the next attempt
        /// needs a new connection.
        case forbidden(newConnection: Bool)
        /// The provider is closing this connection.
        case goAway
        /// APNs got too many provider tokens over this connection.
        case tooManyTokens
        /// No response arrived: the cases of `HTTPClientError`.
        case notSent, lost, timedOut
    }

    /// The effect of a signal. After every change except `nothing` and `resumed`, the lane returns the jobs that it has
    /// not sent yet to the store.
    enum Change: Equatable {
        case nothing
        /// A new epoch started with one request, or the window was halved.
        case setBack
        case paused(milliseconds: Int64)
        case stopped
        case resumed
    }

    private let rules: LaneRules
    private(set) var mode = Mode.running
    /// When `mode` began: milliseconds since 1970.
    private(set) var since: Int64
    /// While paused or stopped: when to send a probe, and when that was decided.
    private var probeAt: Int64 = 0
    private var waitingSince: Int64 = 0
    /// Maximum number of requests in flight while the lane is running.
    private var window = 1
    /// The number of the present epoch.
    private var epoch = 0
    /// The number of requests in flight that started in this epoch.
    private var inFlight = 0
    /// Whether a response arrived in this epoch.
    private var hasResponse = false
    private var lastResponseAt = Int64.min
    /// When the window was last halved.
    private var halvedAt = Int64.min
    private var failuresInRow = 0
    private var timeOutsInRow = 0
    private var retryAftersInRow = 0
    private var tooManyTokensInRow = 0
    private var foreignInRow = 0
    private var pausesInRow = 0
    /// When to close the connections, and why; nil if they stay open.
    private var retirement: (at: Int64, reason: String)?

    init(_ rules: LaneRules, at now: Int64) {
        self.rules = rules
        since = now
    }

    /// How many requests may start now.
    /// - Parameter total: requests in flight, including those of earlier epochs.
    func room(total: Int, at now: Int64) -> Int {
        guard retirement == nil else { return 0 }
        let room = mode == .running ? window - inFlight : mayProbe(now) ? 1 - inFlight : 0
        return max(0, min(room, rules.windowMax - total))
    }

    /// Whether a paused or stopped lane may send a probe. A clock that was set back does not lengthen the wait.
    private func mayProbe(_ now: Int64) -> Bool { now >= probeAt || now < waitingSince }

    /// When to close connections or to send a probe if no request ends before: milliseconds since 1970; nil if never.
    func nextTurn(after now: Int64) -> Int64? {
        if let retirement { return retirement.at }
        return mode != .running && !mayProbe(now) ? probeAt : nil
    }

    /// Counts a request that starts. Returns its epoch.
    mutating func begin() -> Int {
        inFlight += 1
        return epoch
    }

    /// A request was withdrawn before it was written.
    mutating func withdraw(epoch: Int) {
        if epoch == self.epoch { inFlight -= 1 }
    }

    /// When a paused lane may send a probe: milliseconds since 1970; nil if it is not paused.
    var pausedUntil: Int64? { mode == .paused ? probeAt : nil }

    /// Whether ``Signal/foreign`` of a request of `epoch` would stop the lane, or keep it stopped.
    func stopsAtForeign(epoch: Int) -> Bool { epoch == self.epoch && foreignInRow + 1 >= rules.foreignResponsesMax }

    /// Whether the lane is running and `epoch` is the present epoch.
    func isRunning(epoch: Int) -> Bool { mode == .running && epoch == self.epoch }

    /// Returns the reason to close the connections, once: at the scheduled time, or before that as soon as no request
    /// is in flight. Nil if the connections stay open for now.
    /// - Parameter total: requests in flight, including those of earlier epochs.
    mutating func claimRetirement(total: Int, at now: Int64) -> String? {
        guard let retirement, now >= retirement.at || total == 0 else { return nil }
        self.retirement = nil
        return retirement.reason
    }

    /// Prevents further requests on the present connections. They are to be closed when all responses have arrived, at
    /// the latest after ``LaneRules/drainTime``.
    mutating func retireConnections(_ reason: String, _ now: Int64) -> Change {
        retireAfterDrain(reason, now)
        return setBack()
    }

    /// Allows a probe at once: the cause of the stop may be gone.
    mutating func probeNow(_ now: Int64) { probeAt = min(probeAt, now) }

    /// Records the result of a request of `epoch` that started at `startedAt`.
    mutating func complete(
        _ signal: Signal, epoch: Int, startedAt: Int64, at now: Int64, using rng: inout some RandomNumberGenerator
    ) -> Change {
        guard epoch == self.epoch else { return .nothing }
        inFlight -= 1
        switch signal {
        case .success: return succeed(now)
        case .answered:
            recordResponse(now)
            return .nothing
        case .overloaded(let after): return overloaded(after, now, &rng)
        case .shutdown(let after): return shutdown(after, now, &rng)
        case .foreign: return foreign(now, &rng)
        case .forbidden(let newConnection):
            if newConnection { retireAfterDrain("the provider requires a new connection", now) }
            return stop(now)
        case .goAway: return goAway(now, &rng)
        case .tooManyTokens: return tooManyTokens(now, &rng)
        case .notSent: return notSent(startedAt, now, &rng)
        case .lost: return lost(now, &rng)
        case .timedOut: return timedOut(now, &rng)
        }
    }

    /// Stops until a probe succeeds.
    mutating func stop(_ now: Int64) -> Change {
        wait(until: now + rules.probeInterval, now)
        guard mode != .stopped else { return .nothing }
        enter(.stopped, now)
        return .stopped
    }

    // MARK: Responses

    private mutating func recordResponse(_ now: Int64) {
        hasResponse = true
        lastResponseAt = now
        timeOutsInRow = 0
        foreignInRow = 0
    }

    private mutating func succeed(_ now: Int64) -> Change {
        recordResponse(now)
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
        recordResponse(now)
        failuresInRow += 1
        retryAftersInRow = after == nil ? 0 : retryAftersInRow + 1
        guard mode == .running else { return backOff(now, &rng, retryAfter: after ?? 0) }
        if let after, retryAftersInRow >= rules.retryAftersMax { return pause(now, &rng, retryAfter: after) }
        return failuresInRow >= rules.failuresMax ? pause(now, &rng) : .nothing
    }

    private mutating func shutdown(_ after: Int64?, _ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        let change = overloaded(after, now, &rng)
        let setBack = retireConnections("the provider is shutting down", now)
        return change == .nothing ? setBack : change
    }

    private mutating func foreign(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        let count = foreignInRow + 1
        recordResponse(now)
        foreignInRow = count
        guard count >= rules.foreignResponsesMax else { return mode == .running ? .nothing : backOff(now, &rng) }
        retireAfterDrain("the responses are not the provider's", now)
        return stop(now)
    }

    private mutating func goAway(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        foreignInRow = 0
        retireAfterDrain("the provider is closing the connection", now)
        // If this is the first response of the epoch, the first one on the next connection would probably be the same,
        // so pause.
        return hasResponse && mode == .running ? setBack() : backOff(now, &rng)
    }

    private mutating func tooManyTokens(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        tooManyTokensInRow += 1
        let change = overloaded(nil, now, &rng)
        guard tooManyTokensInRow >= rules.tooManyTokensMax else { return change }
        tooManyTokensInRow = 0
        let setBack = retireConnections("too many provider tokens on the connection", now)
        return change == .nothing ? setBack : change
    }

    // MARK: Missing responses

    private mutating func notSent(_ startedAt: Int64, _ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        guard mode == .running, hasResponse else { return backOff(now, &rng) }
        guard now - startedAt >= rules.requestTime * 9 / 10 else { return setBack() }
        // The request was queued until its time-out, which the pool measures with another clock: hence nine tenths. If
        // no response arrived meanwhile, the connection is dead.
        guard lastResponseAt > startedAt else {
            retirement = (now, "no response for \(rules.requestTime / 1_000) s")
            return setBack()
        }
        // If responses did arrive, the server allows fewer concurrent streams than the window: halve the window, once
        // for all requests that were queued.
        guard startedAt >= halvedAt else { return .nothing }
        halvedAt = now
        window = max(1, window / 2)
        return .setBack
    }

    private mutating func lost(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        return mode == .running && hasResponse && failuresInRow < rules.failuresMax ? setBack() : backOff(now, &rng)
    }

    /// A time-out has already delayed the lane, so the lane pauses only after ``LaneRules/failuresMax`` failures in a
    /// row.
    private mutating func timedOut(_ now: Int64, _ rng: inout some RandomNumberGenerator) -> Change {
        failuresInRow += 1
        timeOutsInRow += 1
        let isConnectionDead = timeOutsInRow >= rules.timeOutsMax
        if isConnectionDead {
            timeOutsInRow = 0
            retirement = (now, "\(rules.timeOutsMax) requests in a row timed out")
        }
        guard mode == .running, failuresInRow < rules.failuresMax else { return backOff(now, &rng) }
        return isConnectionDead ? setBack() : .nothing
    }

    // MARK: Setbacks

    /// Starts a new epoch with a window of one request.
    private mutating func setBack() -> Change {
        epoch += 1
        inFlight = 0
        window = 1
        hasResponse = false
        return .setBack
    }

    /// Pauses the lane. If the lane is stopped, delays its next probe instead.
    private mutating func backOff(
        _ now: Int64, _ rng: inout some RandomNumberGenerator, retryAfter: Int64 = 0
    ) -> Change {
        mode == .stopped ? stop(now) : pause(now, &rng, retryAfter: retryAfter)
    }

    private mutating func pause(
        _ now: Int64, _ rng: inout some RandomNumberGenerator, retryAfter: Int64 = 0
    ) -> Change {
        // The provider's retry-after replaces the schedule, unless it is shorter than a second.
        let delay =
            retryAfter >= 1_000
            ? min(retryAfter, rules.retryAfterMax) : RetrySchedule.delay(afterAttempts: pausesInRow, using: &rng)
        pausesInRow = min(pausesInRow + 1, rules.pauseDoublings)
        wait(until: now + delay, now)
        enter(.paused, now)
        return .paused(milliseconds: delay)
    }

    private mutating func wait(until time: Int64, _ now: Int64) {
        probeAt = time
        waitingSince = now
    }

    private mutating func enter(_ mode: Mode, _ now: Int64) {
        _ = setBack()
        failuresInRow = 0
        retryAftersInRow = 0
        if self.mode != mode { since = now }
        self.mode = mode
    }

    /// Schedules the closing of the connections after ``LaneRules/drainTime``: responses may still arrive until then.
    private mutating func retireAfterDrain(_ reason: String, _ now: Int64) {
        if retirement == nil { retirement = (now + rules.drainTime, reason) }
    }
}
