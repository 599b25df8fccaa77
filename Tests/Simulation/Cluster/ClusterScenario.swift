import FanOut
import PusherProtocol
import TestSupport

/// The choices that a seed makes before the first step: the weights of its steps, the bus's delays, what goes wrong.
struct ClusterScenario {
    static let nodeCount = 3
    static let heartbeat: Int64 = 2_000
    /// A node waits for so long after it is connected before it accepts clients, in milliseconds.
    static let warmUp: Int64 = 300
    /// After so long without steps and faults, all nodes must agree.
    static let recovery: Int64 = 16_000
    /// The longest way of a message from node to node.
    static let transitMax: Int64 = 80

    enum Kind: CaseIterable {
        case subscribe, unsubscribe, open, close, move, publish, clientEvent, terminate, pause, settle
        case cut, kill, freeze
    }

    let options: ClusterOptions
    let weights: [(kind: Kind, weight: Int)]
    /// The longest delay of each half of a message's way.
    private let delayMax: Int
    private let grantDelayMax: Int
    /// One in so many messages is lost; nil: none.
    let dropsOneIn: Int?
    /// Whether backends' publishes are refused while the bus is away.
    let refusesWhenPartitioned: Bool
    let rules: AppRules
    let channels: [ChannelName]
    let users = ["ann", "bob", "cem", "dan"]
    let connectionsMax: Int

    /// Whether nodes are cut off from the bus.
    var hasOutages: Bool { weights.contains { $0.kind == .cut } }
    /// Whether nodes die.
    var hasDeaths: Bool { weights.contains { $0.kind == .kill } }

    init(_ options: ClusterOptions, using dice: inout SplitMix) {
        self.options = options
        let without: Set<Kind> = Set((options.cuts ? [] : [.cut]) + (options.deaths ? [] : [.kill]))
        var weights: [(Kind, Int)] = []
        for kind in Kind.allCases {
            let weight = Self.weight(of: kind, using: &dice)
            if weight > 0, !without.contains(kind) { weights.append((kind, weight)) }
        }
        self.weights = weights
        delayMax = dice.pick([1, 5, 40]) ?? 1
        grantDelayMax = dice.pick([1, 50, 300, 1_500]) ?? 1
        let loses = dice.chance(percent: 30)
        dropsOneIn = options.losses && loses ? dice.within(5...60) : nil
        refusesWhenPartitioned = dice.chance(percent: 50)
        var rules = AppRules()
        rules.clientEvents = true
        rules.webhooks = .all
        rules.subscriptionCounts = dice.chance(percent: 50)
        self.rules = rules
        let names = ["room", "news", "private-desk", "presence-hall", "presence-yard"]
        channels = names.compactMap { ChannelName($0, lengthMax: 200) }
        connectionsMax = dice.within(3...14)
    }

    private static func weight(of kind: Kind, using dice: inout SplitMix) -> Int {
        let drawn = dice.chance(percent: 25) ? 0 : 1 << dice.below(5)
        switch kind {
        case .open: return drawn + 8
        case .subscribe: return drawn + 16
        case .publish: return drawn + 12
        case .pause: return drawn + 4
        case .unsubscribe, .close: return drawn / 2 + 1
        case .terminate: return drawn / 8
        case .settle: return dice.chance(percent: 30) ? 1 : 0
        case .cut, .kill, .freeze: return dice.chance(percent: 60) ? 0 : min(drawn, 3)
        case .move, .clientEvent: return drawn
        }
    }

    func kind(using dice: inout SplitMix) -> Kind {
        var rest = dice.below(weights.reduce(0) { $0 + $1.weight })
        for (kind, weight) in weights {
            if rest < weight { return kind }
            rest -= weight
        }
        return .pause
    }

    func delay(using dice: inout SplitMix) -> Int64 { Int64(dice.within(0...delayMax)) }

    /// What an acknowledgement takes beyond a message; seldom more than the node waits for.
    func grantDelay(using dice: inout SplitMix) -> Int64 {
        Int64(dice.chance(percent: 10) ? dice.within(0...grantDelayMax) : dice.within(0...min(grantDelayMax, 20)))
    }
}
