import Access
import FanOut
import PusherProtocol
import TestSupport

/// The choices that a seed makes before the first step, such as the size of its world and the weights of its steps.
struct Scenario {
    /// The kinds of steps that a seed weighs. To simulate a new feature, add its kinds here, including its wrong uses.
    enum Kind: CaseIterable {
        /// `arrive` opens a connection and subscribes it at once. `replace` closes a connection and opens another in
        /// its slot.
        case open, close, replace, arrive
        case subscribe, subscribeAgain, unsubscribe, unsubscribeWithoutSubscription
        case publish, publishToMany, publishExcept
        case clientEvent, clientEventWithoutSubscription
        case signin, signinAgain, terminate
        /// `tick` advances the time by at most six seconds, `tickFar` by ten minutes or more, so that cached events
        /// expire.
        case tick, tickFar
        case authorize, subscribeAuthorized, authorizeDriver, assign, endJob, publishToMirrors
        /// An input of a connection that is already closed.
        case sendAfterClose
        case drain, drainPartly, flush, settle
    }

    let loopCount: Int
    let apps: [AppRules]
    let connectionsMax: Int
    /// The number of instructions in a loop's mailbox above which publishes to that loop are rejected.
    let highWater: Int
    /// The maximum number of writes of a flush.
    let writesMax: Int
    let channels: [ChannelName]
    let users: SimulatedUsers
    /// Nil in the few seeds without a fleet.
    let fleet: SimulatedFleet?
    /// The relative frequency of each kind. A kind that is left out never occurs.
    let weights: [(kind: Kind, weight: Int)]

    init(using dice: inout SplitMix) {
        // A few seeds have a channel with so many subscribers that its counts are delayed.
        let isCrowded = dice.chance(percent: 4)
        loopCount = dice.within(1...4)
        var apps = (0..<(isCrowded ? 1 : dice.within(1...2))).map { _ in Self.rules(isCrowded: isCrowded, using: &dice) }
        connectionsMax = isCrowded ? dice.within(105...125) : dice.within(2...40)
        highWater = dice.within(1...32)
        let fleet = !isCrowded && dice.chance(percent: 60) ? SimulatedFleet(appCount: apps.count, using: &dice) : nil
        for (app, rules) in (fleet?.rules ?? []).enumerated() { apps[app].channels = rules.map { ChannelPolicy($0) } }
        // The first application's webhooks want all kinds, the other's only occupancy.
        for app in apps.indices { apps[app].webhooks = app == 0 ? .all : [.channelOccupied, .channelVacated] }
        self.fleet = fleet
        users = SimulatedUsers(with: fleet == nil ? [] : SimulatedFleet.users(using: &dice), using: &dice)
        let others = Self.channels(of: users, isCrowded: isCrowded, using: &dice)
        channels = dice.chance(percent: 70) ? (fleet?.channels ?? []) + others : others + (fleet?.channels ?? [])
        var weights: [(Kind, Int)] = []
        for kind in Kind.allCases {
            if fleet == nil, kind.needsFleet { continue }
            let weight = isCrowded ? Self.crowdedWeight(of: kind) : Self.weight(of: kind, using: &dice)
            if weight > 0 { weights.append((kind, weight)) }
        }
        self.weights = weights
        // In half of the seeds a flush is usually cut short.
        writesMax = dice.chance(percent: 50) ? dice.within(1...5) : 1_000
        if dice.chance(percent: 10) { apps[0].limits.channels = dice.within(1...6) }
        if !isCrowded, dice.chance(percent: 10) { apps[0].limits.appSubscriptions = dice.within(4...30) }
        self.apps = apps
    }

    /// A random kind, by weight.
    func kind(using dice: inout SplitMix) -> Kind {
        var rest = dice.below(weights.reduce(0) { $0 + $1.weight })
        for (kind, weight) in weights {
            if rest < weight { return kind }
            rest -= weight
        }
        return .flush
    }
}

extension Scenario.Kind {
    /// Whether the kind needs fleet channels.
    var needsFleet: Bool {
        switch self {
        case .authorize, .subscribeAuthorized, .authorizeDriver, .assign, .endJob, .publishToMirrors: true
        default: false
        }
    }
}

// MARK: Random choices

extension Scenario {
    private static let prefixes = [
        "open-", "private-", "presence-", "cache-", "private-encrypted-", "private-cache-", "private-encrypted-cache-",
        "presence-cache-",
    ]

    /// The rules of an application, with limits small enough to be reached.
    private static func rules(isCrowded: Bool, using dice: inout SplitMix) -> AppRules {
        var rules = AppRules()
        rules.clientEvents = true
        rules.subscriptionCounts = isCrowded || dice.chance(percent: 30)
        if dice.chance(percent: 50) { rules.limits.presenceMembers = dice.within(1...4) }
        if dice.chance(percent: 50) { rules.limits.cacheBytes = dice.within(0...1_500) }
        if dice.chance(percent: 20) { rules.limits.subscriptions = dice.within(1...4) }
        if !isCrowded, dice.chance(percent: 20) { rules.limits.connections = dice.within(1...10) }
        return rules
    }

    /// The channels besides the fleet's. If `isCrowded`, the first one is the channel with many subscribers.
    private static func channels(of users: SimulatedUsers, isCrowded: Bool, using dice: inout SplitMix) -> [ChannelName] {
        var texts = isCrowded ? ["cache-crowd"] : []
        for index in 0..<dice.within(1...9) { texts.append("\(dice.pick(prefixes) ?? "")\(index)") }
        if dice.chance(percent: 40) { texts += users.users.map { "#server-to-user-\($0)" } }
        // Not every user id can occur in a channel's name.
        return texts.compactMap { ChannelName($0, lengthMax: 200) }
    }

    /// The weight of a kind; 0 leaves it out. Each seed leaves some kinds out (swarm testing), because the others then
    /// reach deeper states: some seeds never unsubscribe, others close often.
    private static func weight(of kind: Kind, using dice: inout SplitMix) -> Int {
        let drawn = dice.chance(percent: 30) ? 0 : 1 << dice.below(6)
        switch kind {
        case .open, .publish: return drawn + 16
        case .subscribe: return drawn + 32
        case .close, .replace, .drain, .flush, .tick: return drawn / 2
        case .terminate, .tickFar: return drawn / 8
        case .authorize: return drawn + 8
        case .authorizeDriver: return drawn + 16
        case .assign: return drawn / 2 + 4
        case .endJob: return drawn / 8
        case .settle: return min(drawn, 1)
        default: return drawn
        }
    }

    /// The weight of a kind in a crowded seed. Connections mostly join and sometimes leave, so that the number of
    /// subscribers crosses the limit for immediate counts in both directions.
    private static func crowdedWeight(of kind: Kind) -> Int {
        switch kind {
        case .arrive: 160
        case .close, .unsubscribe, .subscribe, .tick, .drain: 6
        case .publish, .flush: 2
        default: 0
        }
    }
}
