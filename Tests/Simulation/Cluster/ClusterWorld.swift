import Cluster
import FanOut
import PusherProtocol
import TestSupport

/// Three nodes and a bus, in simulated time.
struct ClusterWorld {
    /// The place of a node: of its successive processes.
    struct Seat {
        /// Nil while no process runs.
        var node: SimulatedNode?
        /// The number of its process among all nodes' processes.
        var life = 0
        /// From when on it accepts clients.
        var acceptsAt: Int64 = .max
        var isFrozen = false
        /// Since when it was frozen, until it has read what has come meanwhile.
        var frozenSince: Int64?
        /// Whether it has noticed that it was cut off.
        var hasNoticed = false
        /// What has come while it was frozen.
        var inbox: [BusEvent] = []
        /// Its open connections, and who has signed in with them.
        var sockets: [(socket: SocketID, user: String?)] = []
        /// When others last could not hear it, and since when; nil while they can.
        var awayUntil: Int64 = -100_000
        var awaySince: Int64? = 0
        /// When it was last cut off, died or froze.
        var wentAt: Int64 = 0
    }

    /// What happens at a time.
    enum Event {
        case transit(SimulatedBus.Transit)
        case tick(Int, life: Int)
        case turn(Int, life: Int)
        case connect(Int, life: Int)
        case notice(Int, life: Int)
        case thaw(Int, life: Int)
        case revive(Int)
    }

    /// A subscription that a client waits for.
    struct Pending {
        let socket: SocketID
        let channel: ChannelName
        let userID: String?
        let at: Int64
    }

    let scenario: ClusterScenario
    let fault: ClusterFault?
    private(set) var now: Int64 = 1_000
    private var agenda: [(at: Int64, order: Int, event: Event)] = []
    private var scheduled = 0
    var bus: SimulatedBus
    var seats: [Seat]
    var dice: SplitMix
    var frames: ClusterFrames
    var model = ClusterModel()
    var judge = ClusterJudge()
    var edges = ClusterEdges()
    var pending: [Pending] = []
    /// Connections whose users were terminated, by which node, and when.
    var mustClose: [SocketID: (node: Int, at: Int64)] = [:]
    /// No node is cut off, killed or frozen before.
    var faultsFrom: Int64 = 0
    private var lives = 0
    /// Pairs of nodes whose last heartbeat was dropped: not two in a row, or a node would be given up.
    private var droppedHeartbeats: Set<[Int]> = []
    var summary: ClusterSummary

    init(_ scenario: ClusterScenario, seed: UInt64, fault: ClusterFault?, using dice: SplitMix) throws(Discrepancy) {
        self.scenario = scenario
        self.fault = fault
        self.dice = dice
        bus = SimulatedBus(scenario, keepsLate: fault == .lateBuffer)
        seats = Array(repeating: Seat(), count: ClusterScenario.nodeCount)
        frames = ClusterFrames(scenario)
        summary = ClusterSummary(seed: seed)
        for index in seats.indices { try start(index) }
        try advance(by: 3_000)
    }

    // MARK: Time

    mutating func schedule(_ event: Event, at time: Int64) {
        scheduled += 1
        var index = agenda.count
        // The agenda is sorted from the last to the first; most events are near.
        while index > 0, (agenda[index - 1].at, agenda[index - 1].order) < (time, scheduled) { index -= 1 }
        agenda.insert((time, scheduled, event), at: index)
    }

    mutating func advance(by milliseconds: Int64) throws(Discrepancy) {
        let end = now + milliseconds
        while let next = agenda.last, next.at <= end {
            agenda.removeLast()
            now = max(now, next.at)
            try handle(next.event)
        }
        now = end
    }

    private mutating func handle(_ event: Event) throws(Discrepancy) {
        switch event {
        case .transit(.command(let command, let node, let session)): take(command, from: node, session)
        case .transit(.event(let event, let node, let session)):
            guard bus.reports(event, to: node, session: session) else { return }
            if seats[node].isFrozen { seats[node].inbox.append(event) } else { try report(event, to: node) }
        case .tick(let index, let life):
            guard seats[index].life == life, !seats[index].isFrozen else { return }
            schedule(.tick(index, life: life), at: now + 100)
            seats[index].node?.turn()
            seats[index].node?.tick(at: now)
            try collect(index)
        case .turn(let index, let life):
            guard seats[index].life == life, !seats[index].isFrozen else { return }
            seats[index].node?.turn()
            try collect(index)
        case .connect(let index, let life):
            guard seats[index].life == life else { return }
            try connect(index)
        case .notice(let index, let life):
            guard seats[index].life == life, !bus.isConnected(index) else { return }
            try notice(index)
        case .thaw(let index, let life):
            guard seats[index].life == life else { return }
            try thaw(index)
        case .revive(let index):
            try checkWithdrawn()
            if seats[index].node == nil { try start(index) }
        }
    }

    // MARK: The bus

    private mutating func take(_ command: BusCommand, from node: Int, _ session: Int) {
        var sent: [(SimulatedBus.Transit, Int64)] = []
        var lost: [(payload: [UInt8], receiver: Int)] = []
        // The closures may not use the world while its bus changes.
        let oneIn = scenario.dropsOneIn
        var dropDice = SplitMix(seed: oneIn == nil ? 0 : dice.next())
        var dropped = droppedHeartbeats
        bus.take(command, from: node, session: session, at: now, using: &dice) { payload, receiver in
            guard let oneIn else { return false }
            let isLost = dropDice.below(oneIn) == 0
            guard let body = ClusterMessage(payload)?.body else { return false }
            if case .heartbeat = body {
                guard isLost, dropped.insert([node, receiver]).inserted else {
                    dropped.remove([node, receiver])
                    return false
                }
                return true
            }
            guard isLost, body.mayBeLost else { return false }
            lost.append((payload, receiver))
            return true
        } _: {
            sent.append(($0, $1))
        }
        droppedHeartbeats = dropped
        for (transit, time) in sent { schedule(.transit(transit), at: time) }
        for (payload, receiver) in lost {
            guard case .event(let bytes, _)? = ClusterMessage(payload)?.body,
                case .event(let number)? = frames.meaning(Frame(encoded: Array(bytes)))
            else { continue }
            let sockets = Set(seats[receiver].sockets.map(\.socket))
            judge.dropped(number) { sockets.contains($0) }
        }
    }

    private mutating func report(_ event: BusEvent, to index: Int) throws(Discrepancy) {
        if case .granted(let tokens) = event {
            let subjects = Set(tokens.compactMap { bus.subject($0, of: index) })
            let names = Subjects(name: "sim")
            model.change { subscription in
                guard subscription.node == index, !subscription.isComplete else { return }
                subscription.isComplete = subjects.contains(names.channel(subscription.channel, app: "app"))
            }
        }
        seats[index].node?.report(event, at: now)
        try collect(index)
    }

    /// Passes on what a node has put out.
    mutating func collect(_ index: Int) throws(Discrepancy) {
        guard let commands = seats[index].node?.commands, let effects = seats[index].node?.effects else { return }
        seats[index].node?.commands = []
        seats[index].node?.effects = []
        for command in commands {
            if case .publish(_, let payload) = command {
                summary.messages += 1
                summary.trace.add(UInt64(payload.count))
            }
            var sent: [(SimulatedBus.Transit, Int64)] = []
            bus.post(command, of: index, at: now, using: &dice) { sent.append(($0, $1)) }
            for (transit, time) in sent { schedule(.transit(transit), at: time) }
        }
        for effect in effects { try notice(effect, of: index) }
        // The loop's thread is woken.
        if seats[index].node?.needsTurn == true {
            schedule(.turn(index, life: seats[index].life), at: now + Int64(dice.below(5)))
        }
    }

    // MARK: Lives

    private mutating func start(_ index: Int) throws(Discrepancy) {
        lives += 1
        let epoch = Epoch(dice.next() | 1)
        let node = ClusterNode(name: "n\(index)", epoch: epoch)
        seats[index] = Seat(
            node: SimulatedNode(node, scenario, fault, at: now), life: lives, awayUntil: seats[index].awayUntil,
            awaySince: seats[index].awaySince, wentAt: seats[index].wentAt)
        schedule(.tick(index, life: lives), at: now + Int64(dice.within(1...100)))
        schedule(.connect(index, life: lives), at: now + Int64(dice.within(1...50)))
        try collect(index)
    }

    /// A process ends, and with it all its connections.
    mutating func end(_ index: Int) {
        loseTraffic(of: index)
        for (socket, _) in seats[index].sockets { forget(socket) }
        bus.end(index)
        setAway(index, true)
        seats[index].node = nil
        seats[index].life = 0
        seats[index].isFrozen = false
        seats[index].inbox = []
        seats[index].sockets = []
    }

    private mutating func connect(_ index: Int) throws(Discrepancy) {
        guard !seats[index].isFrozen, !bus.isConnected(index) else { return }
        if seats[index].acceptsAt < .max { try notice(index) }
        var sent: [(SimulatedBus.Transit, Int64)] = []
        bus.connect(index, at: now, using: &dice) { sent.append(($0, $1)) }
        for (transit, time) in sent { schedule(.transit(transit), at: time) }
        setAway(index, false)
        seats[index].hasNoticed = false
        if seats[index].acceptsAt == .max { seats[index].acceptsAt = now + ClusterScenario.warmUp }
        try report(.up, to: index)
    }

    /// A node learns that it is cut off.
    private mutating func notice(_ index: Int) throws(Discrepancy) {
        guard !seats[index].hasNoticed, !seats[index].isFrozen else { return }
        seats[index].hasNoticed = true
        try report(.down, to: index)
    }

    private mutating func thaw(_ index: Int) throws(Discrepancy) {
        seats[index].isFrozen = false
        if now - (seats[index].awaySince ?? now) > 3 * ClusterScenario.heartbeat {
            // Before it reads anything, it finds that its epoch has ended.
            end(index)
            return try start(index)
        }
        setAway(index, false)
        schedule(.tick(index, life: seats[index].life), at: now + 100)
        if dice.chance(percent: 50) {
            seats[index].node?.tick(at: now)
            try collect(index)
        }
        let inbox = seats[index].inbox
        seats[index].inbox = []
        for event in inbox { try report(event, to: index) }
        seats[index].frozenSince = nil
    }

    // MARK: Helpers

    /// Whether the others cannot hear a node.
    func isAway(_ index: Int) -> Bool { seats[index].awaySince != nil }

    mutating func setAway(_ index: Int, _ isAway: Bool) {
        if isAway, seats[index].awaySince == nil { seats[index].wentAt = now }
        seats[index].awaySince = isAway ? seats[index].awaySince ?? now : nil
        seats[index].awayUntil = now
    }

    /// What is under way to or from a node is lost, and what comes before its subjects are acknowledged again.
    mutating func loseTraffic(of index: Int) {
        let sockets = Set(seats[index].sockets.map(\.socket))
        judge.lost(sender: seats[index].life, { sockets.contains($0) }, since: now - ClusterScenario.transitMax)
        model.change { if $0.node == index { $0.isComplete = false } }
        let start = now - ClusterScenario.transitMax
        mustClose = mustClose.filter { !sockets.contains($0.key) && ($0.value.node != index || $0.value.at < start) }
    }

    /// A connection has closed.
    mutating func forget(_ socket: SocketID) {
        judge.left(socket, nil)
        model.remove(at: now) { $0.socket == socket }
        pending.removeAll { $0.socket == socket }
        mustClose[socket] = nil
    }
}

extension ClusterMessage.Body {
    /// Whether the nodes must bear the loss of a message, or the judge knows what it excuses.
    fileprivate var mayBeLost: Bool {
        switch self {
        case .event, .memberJoined, .memberLeft, .members, .membersQuestion, .share, .sharesBegin, .sharesEnd, .sharesDigest,
            .sharesQuestion:
            true
        case .several(let bodies): bodies.allSatisfy(\.mayBeLost)
        default: false
        }
    }
}
