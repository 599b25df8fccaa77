import FanOut
import PusherProtocol

/// What a seed decides before the first step: the size of its world, and which actions it likes.
struct Scenario {
    /// The kinds of actions a seed weighs. A new feature adds its kinds here, misuse included.
    enum Kind: CaseIterable {
        case open, close, replace
        case subscribe, subscribeAgain, unsubscribe, unsubscribeFromNothing
        case publish, publishToMany, publishExcept
        case speakAfterClose
        case drain, drainPartly, flush, settle
    }

    let loopCount: Int
    let appCount: Int
    let connectionsMax: Int
    /// Instructions in a mailbox beyond which publishes to its loop are refused.
    let highWater: Int
    let channels: [ChannelName]
    /// How often each kind comes up, against the others; one that never does is missing.
    let weights: [(kind: Kind, weight: Int)]

    init(using dice: inout Dice) {
        loopCount = dice.within(1...4)
        appCount = dice.within(1...2)
        connectionsMax = dice.within(2...40)
        highWater = dice.within(1...32)
        let channelCount = dice.within(1...10)
        channels = (0..<channelCount).compactMap { index in
            ChannelName(index.isMultiple(of: 3) ? "private-\(index)" : "open-\(index)", lengthMax: 200)
        }
        var weights: [(Kind, Int)] = []
        for kind in Kind.allCases {
            let weight = Self.weight(of: kind, using: &dice)
            if weight > 0 { weights.append((kind, weight)) }
        }
        self.weights = weights
    }

    /// Swarm testing: what a seed never does lets the rest go further. Some never unsubscribe, some close constantly.
    private static func weight(of kind: Kind, using dice: inout Dice) -> Int {
        let drawn = dice.chance(percent: 30) ? 0 : 1 << dice.below(6)
        switch kind {
        case .open, .subscribe, .publish: return drawn + 16
        case .close, .replace, .drain, .flush: return drawn / 2
        case .settle: return min(drawn, 1)
        default: return drawn
        }
    }

    func kind(using dice: inout Dice) -> Kind {
        var rest = dice.below(weights.reduce(0) { $0 + $1.weight })
        for (kind, weight) in weights {
            if rest < weight { return kind }
            rest -= weight
        }
        return .flush
    }
}
