import FleetRules
import Threads

/// What a worker's thread does, and owns.
struct PushWorkerLoop {
    /// Milliseconds that it sleeps at most: clocks may be set.
    private static let sleepMax: Int64 = 5_000
    /// Milliseconds that the store has to take the last report, when the time to stop is over.
    private static let farewell: Int64 = 1_000

    private let surroundings: PushWorker.Surroundings
    private let shared: PushWorker.Shared
    private let link: ProviderLink
    private var lane: Lane
    private var texts: PushTexts
    private var dice = SystemRandomNumberGenerator()
    /// By the clock that nobody sets, in milliseconds: when connections are cut, and when nothing is waited for any more.
    private var (cutAt, endAt) = (Int64.max, Int64.max)
    private var isFinished = false

    init(
        _ lane: PushLane, _ link: ProviderLink, _ rules: LaneRules, _ texts: PushTexts,
        _ surroundings: PushWorker.Surroundings, _ shared: PushWorker.Shared
    ) {
        self.surroundings = surroundings
        self.shared = shared
        self.link = link
        self.texts = texts
        self.lane = Lane(lane, rules, hasCredential: link.hasCredential, at: surroundings.now())
        // From now on commands are answered at once. Those left before are found in the first turn.
        shared.waker.withLock { $0 = link.waker }
    }

    /// Serves until it is told to stop, and all is settled or the time is over.
    mutating func run() {
        while !isFinished, Clock.monotonicMilliseconds() < endAt {
            let now = surroundings.now()
            let hasMore = turn(now)
            if !hasMore, !isFinished { link.wait(milliseconds: Int(sleep(now))) }
        }
        if !isFinished { sayLastWords() }
    }

    /// The time is over, and the store has not taken all: what it does not hear it would have sent again after the next start.
    private mutating func sayLastWords() {
        let now = surroundings.now()
        hear(link.retire(at: now, using: &dice), now)
        // Nothing can be done any more for what cannot be told now.
        if let report = lane.lastReport { _ = surroundings.report(report) }
    }

    /// Takes in what has happened, and does what is to be done; true when that has made something happen.
    mutating func turn(_ now: Int64) -> Bool {
        readLetters(now)
        hear(link.turn(at: now, using: &dice), now)
        if Clock.monotonicMilliseconds() >= cutAt {
            cutAt = .max
            hear(link.retire(at: now, using: &dice), now)
        }
        let hasMore = act(now)
        shared.status.withLock { $0 = lane.status }
        return hasMore
    }

    private mutating func readLetters(_ now: Int64) {
        let commands = shared.commands.withLock { commands in
            defer { commands = PushWorker.Commands() }
            return commands
        }
        if let texts = commands.texts { self.texts = texts }
        // First what the store has handed over: it did so before the devices went, or knows that they have.
        if let supply = commands.supply { lane.hear(.supplied(supply), at: now, using: &dice) }
        if !commands.lost.isEmpty {
            lane.hear(.lost(devices: commands.lost), at: now, using: &dice)
            hear(link.withdraw(commands.lost), now)
        }
        if commands.isRefused { lane.hear(.refused, at: now, using: &dice) }
        if commands.isWoken { lane.hear(.wake, at: now, using: &dice) }
        if let end = commands.stop, end + Self.farewell < endAt {
            lane.hear(.stop, at: now, using: &dice)
            cutAt = end
            endAt = end + Self.farewell
        }
    }

    private mutating func hear(_ happenings: [ProviderLink.Happening], _ now: Int64) {
        for happening in happenings {
            switch happening {
            case .ended(let ending): lane.hear(.ended(ending), at: now, using: &dice)
            case .withdrawn(let number): lane.hear(.withdrawn(number), at: now, using: &dice)
            case .outdated(let reason): lane.hear(.outdated(reason: reason), at: now, using: &dice)
            case .credential(let news): lane.hear(.credential(news), at: now, using: &dice)
            case .renewed(let kind): surroundings.event(.credentialRenewed(kind))
            }
        }
    }

    /// Does what the lane wants done; true when that has made something happen that it should hear of at once.
    private mutating func act(_ now: Int64) -> Bool {
        var hasMore = false
        let effects = lane.act(at: now, using: &dice) { [texts, surroundings] job in
            PushDecision(
                on: job, texts: texts, now: now, minuteOfDay: LocalTime.minuteOfDay, isConnected: surroundings.isConnected)
        }
        for effect in effects {
            switch effect {
            case .retireConnections:
                hear(link.retire(at: now, using: &dice), now)
                hasMore = true
            case .send(let job, let message): link.send(job, message, at: now)
            case .getCredential(let generation):
                hear(link.renew(after: generation, at: now, using: &dice), now)
                hasMore = true
            case .report(let report):
                if !surroundings.report(report) { lane.hear(.refused, at: now, using: &dice) }
            case .say(let event): surroundings.event(event)
            case .finished: isFinished = true
            }
        }
        return hasMore
    }

    /// Milliseconds until there is something to do, if nobody has anything to say.
    private func sleep(_ now: Int64) -> Int64 {
        let turn = min(lane.nextTurn(at: now), link.nextTurn(at: now))
        let end = min(cutAt, endAt)
        let untilEnd = end == .max ? Self.sleepMax : end - Clock.monotonicMilliseconds()
        let untilTurn = turn <= now ? 0 : min(turn - now, Self.sleepMax)
        return max(0, min(untilTurn, untilEnd))
    }
}
