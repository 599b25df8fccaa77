import FleetRules
import Threads

/// What a worker's thread does, and owns.
struct PushWorkerLoop {
    /// Milliseconds that it sleeps at most: clocks may be set.
    private static let sleepMax: Int64 = 5_000
    /// Milliseconds that the store has to take the last report, when the time to stop is over.
    private static let drainTime: Int64 = 1_000

    private let environment: PushWorker.Environment
    private let shared: PushWorker.Shared
    private let connection: ProviderConnection
    private var lane: Lane
    private var templates: PushTemplates
    private var dice = SystemRandomNumberGenerator()
    /// By the clock that nobody sets, in milliseconds: when connections are cut, and when nothing is waited for any more.
    private var (cutAt, endAt) = (Int64.max, Int64.max)
    private var isFinished = false

    init(
        _ lane: PushLane, _ link: ProviderConnection, _ rules: LaneRules, _ texts: PushTemplates,
        _ surroundings: PushWorker.Environment, _ shared: PushWorker.Shared
    ) {
        self.environment = surroundings
        self.shared = shared
        self.connection = link
        self.templates = texts
        self.lane = Lane(lane, rules, hasCredential: link.hasCredential, at: surroundings.now())
        // From now on commands are answered at once. Those left before are found in the first turn.
        shared.waker.withLock { $0 = link.waker }
    }

    /// Serves until it is told to stop, and all is settled or the time is over.
    mutating func run() {
        while !isFinished, Clock.monotonicMilliseconds() < endAt {
            let now = environment.now()
            let hasMore = turn(now)
            if !hasMore, !isFinished { connection.wait(milliseconds: Int(sleep(now))) }
        }
        if !isFinished { sendFinalReport() }
    }

    /// The time is over, and the store has not taken all: what it does not hear it would have sent again after the next start.
    private mutating func sendFinalReport() {
        let now = environment.now()
        apply(connection.retire(at: now, using: &dice), now)
        // Nothing can be done any more for what cannot be told now.
        if let report = lane.lastReport { _ = environment.report(report) }
    }

    /// Takes in what has happened, and does what is to be done; true when that has made something happen.
    mutating func turn(_ now: Int64) -> Bool {
        readLetters(now)
        apply(connection.turn(at: now, using: &dice), now)
        if Clock.monotonicMilliseconds() >= cutAt {
            cutAt = .max
            apply(connection.retire(at: now, using: &dice), now)
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
        if let texts = commands.templates { self.templates = texts }
        // First what the store has handed over: it did so before the devices went, or knows that they have.
        if let supply = commands.supply { lane.hear(.supplied(supply), at: now, using: &dice) }
        if !commands.lost.isEmpty {
            lane.hear(.lost(devices: commands.lost), at: now, using: &dice)
            apply(connection.withdraw(commands.lost), now)
        }
        if commands.isRefused { lane.hear(.refused, at: now, using: &dice) }
        if commands.isWoken { lane.hear(.wake, at: now, using: &dice) }
        if let end = commands.stop, end + Self.drainTime < endAt {
            lane.hear(.stop, at: now, using: &dice)
            cutAt = end
            endAt = end + Self.drainTime
        }
    }

    private mutating func apply(_ happenings: [ProviderConnection.Event], _ now: Int64) {
        for happening in happenings {
            switch happening {
            case .completed(let ending): lane.hear(.completed(ending), at: now, using: &dice)
            case .withdrawn(let number): lane.hear(.withdrawn(number), at: now, using: &dice)
            case .outdated(let reason): lane.hear(.outdated(reason: reason), at: now, using: &dice)
            case .credential(let news): lane.hear(.credential(news), at: now, using: &dice)
            case .renewed(let kind): environment.event(.credentialRenewed(kind))
            }
        }
    }

    /// Does what the lane wants done; true when that has made something happen that it should hear of at once.
    private mutating func act(_ now: Int64) -> Bool {
        var hasMore = false
        let effects = lane.act(at: now, using: &dice) { [templates, environment] job in
            PushDecision(
                on: job, texts: templates, now: now, minuteOfDay: LocalTime.minuteOfDay, isConnected: environment.isConnected)
        }
        for effect in effects {
            switch effect {
            case .retireConnections:
                apply(connection.retire(at: now, using: &dice), now)
                hasMore = true
            case .send(let job, let message): connection.send(job, message, at: now)
            case .getCredential(let generation):
                apply(connection.renew(after: generation, at: now, using: &dice), now)
                hasMore = true
            case .report(let report):
                if !environment.report(report) { lane.hear(.refused, at: now, using: &dice) }
            case .emit(let event): environment.event(event)
            case .finished: isFinished = true
            }
        }
        return hasMore
    }

    /// Milliseconds until there is something to do, if nobody has anything to say.
    private func sleep(_ now: Int64) -> Int64 {
        let turn = min(lane.nextTurn(at: now), connection.nextTurn(at: now))
        let end = min(cutAt, endAt)
        let untilEnd = end == .max ? Self.sleepMax : end - Clock.monotonicMilliseconds()
        let untilTurn = turn <= now ? 0 : min(turn - now, Self.sleepMax)
        return max(0, min(untilTurn, untilEnd))
    }
}
