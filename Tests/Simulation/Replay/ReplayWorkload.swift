import Fleet
import PusherProtocol
import TestSupport

/// Chooses the steps of a delivery world.
struct ReplayWorkload {
    private let scenario: ReplayScenario
    private let total: Int
    private var isFull = false

    init(_ scenario: ReplayScenario) {
        self.scenario = scenario
        total = scenario.weights.reduce(0) { $0 + $1.weight }
    }

    /// A step that can happen now.
    mutating func next(in world: ReplayWorld, using dice: inout SplitMix) -> ReplayStep {
        for _ in 0..<50 {
            var point = dice.below(total)
            for (kind, weight) in scenario.weights {
                point -= weight
                guard point < 0 else { continue }
                if let step = step(kind, world, &dice) { return step }
                break
            }
        }
        return .wait(milliseconds: 1)
    }

    private mutating func step(
        _ kind: ReplayScenario.Kind, _ world: ReplayWorld, _ dice: inout SplitMix
    ) -> ReplayStep? {
        switch kind {
        case .connect, .subscribe, .unsubscribe, .cut, .notice, .read, .answer, .sendLatePong:
            return clientStep(kind, world, &dice)
        case .announce:
            return .announce(.drivers(scenario.drivers.filter { _ in dice.chance(percent: 70) } + ["1"]), lifetime: "WEEK")
        case .announceToAll: return .announce(.everyDriver, lifetime: dice.chance(percent: 50) ? "MINUTE" : "WEEK")
        case .acknowledge: return acknowledge(world, &dice)
        case .markRead: return .markRead(driver: dice.pick(scenario.drivers) ?? "1")
        case .write: return .write(most: dice.within(1...12))
        case .publish: return .publish(most: dice.within(1...12))
        case .readPages: return .readPages(most: dice.within(1...3))
        case .deliverPages: return .deliverPages(most: dice.within(1...3))
        case .drain: return .drain(loop: dice.below(scenario.loopCount))
        case .turn: return .turn(loop: dice.below(scenario.loopCount), writesMax: dice.within(1...5))
        case .tick: return .tick(loop: dice.below(scenario.loopCount))
        case .round: return .round
        case .wait: return .wait(milliseconds: Int64(dice.within(1...20_000)))
        case .waitLong: return .wait(milliseconds: Int64(dice.within(1...30)) * 3_600_000)
        case .kill: return .kill
        case .stop: return .stop
        case .fill:
            isFull.toggle()
            return .fill(isFull)
        }
    }

    /// Most devices have one connection; some come back before the gateway has noticed that the last one was cut.
    private func clientStep(
        _ kind: ReplayScenario.Kind, _ world: ReplayWorld, _ dice: inout SplitMix
    ) -> ReplayStep? {
        if kind == .connect { return connect(world, &dice) }
        guard let index = dice.pick(world.present) else { return nil }
        let connection = world.connections[index]
        switch kind {
        case .subscribe:
            let names = scenario.clients[connection.client].names
            // A few clients subscribe twice.
            let open = dice.chance(percent: 5) ? names : names.filter { !connection.wanted.contains($0) }
            guard connection.isOpen, let name = dice.pick(open) else { return nil }
            return .subscribe(connection: index, name)
        case .unsubscribe:
            let names = scenario.clients[connection.client].names.filter { connection.wanted.contains($0) }
            guard connection.isOpen, let name = dice.pick(names) else { return nil }
            return .unsubscribe(connection: index, name)
        case .read:
            guard !connection.isCut, connection.unread > 0 else { return nil }
            let few = dice.within(1...(dice.chance(percent: 50) ? 30 : 600))
            return .read(connection: index, bytes: dice.chance(percent: 60) ? connection.unread : few)
        case .answer:
            guard !connection.isClosed, !connection.messages.isEmpty else { return nil }
            return .answer(connection: index, messages: dice.within(1...8))
        case .sendLatePong:
            guard connection.isOpen, !connection.latePongs.isEmpty else { return nil }
            return .sendLatePong(connection: index, index: dice.below(connection.latePongs.count))
        case .cut: return connection.isCut ? nil : .cut(connection: index, keepsMessages: dice.chance(percent: 50))
        default: return connection.isCut && !connection.isClosed ? .notice(connection: index) : nil
        }
    }

    private func connect(_ world: ReplayWorld, _ dice: inout SplitMix) -> ReplayStep? {
        let client = dice.below(scenario.clients.count)
        let others = world.present.filter { world.connections[$0].client == client && world.connections[$0].isOpen }
        guard others.isEmpty || dice.chance(percent: 10), world.present.count < 12 else { return nil }
        let isPrompt = dice.chance(percent: scenario.promptPercent)
        let answers: ReplayStep.Answers = isPrompt ? .atOnce : dice.pick([.late, .never, .wrongly]) ?? .never
        return .connect(client: client, loop: dice.below(scenario.loopCount), answers, isQuick: dice.chance(percent: 75))
    }

    private func acknowledge(_ world: ReplayWorld, _ dice: inout SplitMix) -> ReplayStep? {
        let driver = dice.pick(scenario.drivers) ?? "1"
        let channel = dice.chance(percent: 70) ? "driver-\(driver)" : "drivers-channel"
        let last = Int(world.judge.model.last(of: channel))
        guard last > 0 else { return nil }
        // Mostly one of the newest.
        let sequence = dice.chance(percent: 70) ? max(1, last - dice.below(4)) : dice.within(1...last)
        return .acknowledge(driver: driver, channel: channel, sequence: sequence, dice.pick([.received, .viewed]) ?? .received)
    }
}
