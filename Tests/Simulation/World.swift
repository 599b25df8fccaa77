import Access
import FanOut
import PusherProtocol
import TestSupport

/// A node without sockets and threads: one hub, and loops with a mailbox and a fan-out each.
///
/// It follows the order rule as the real loops do: the loop that applies an input appends all effects to the mailboxes
/// and drains its own at once. The other loops drain in later steps, which the seed chooses.
struct World {
    /// The simulated part of a loop.
    private struct Loop {
        var mailbox: [Instruction] = []
        var fanOut = LoopFanOut()
        /// Connections to close at the end of the turn.
        var closing: [SocketID] = []

        var isIdle: Bool { mailbox.isEmpty && closing.isEmpty && !fanOut.isPending }
    }

    private let scenario: Scenario
    private let fault: Fault
    private var hub: Hub
    private var loops: [Loop]
    private(set) var model: ReferenceModel
    private var checkers = Checkers()
    /// The channel to check next.
    private var nextChannel = 0
    /// Open connections, in an order that depends on the seed only.
    private(set) var open: [SocketID] = []
    /// The last 16 closed connections.
    private(set) var recentlyClosed: [SocketID] = []
    private(set) var summary: Summary

    init(_ scenario: Scenario, seed: UInt64, steps: Int, fault: Fault) {
        self.scenario = scenario
        self.fault = fault
        hub = Hub(loopCount: scenario.loopCount, apps: scenario.apps, gate: FleetAccess(scenario.apps))
        model = ReferenceModel(scenario.apps, fleetRules: scenario.fleet?.rules ?? scenario.apps.map { _ in nil })
        loops = Array(repeating: Loop(), count: scenario.loopCount)
        summary = Summary(seed: seed, steps: steps, loopCount: scenario.loopCount)
    }

    /// Performs one step and checks its results.
    mutating func perform(_ step: Step) throws(Discrepancy) {
        switch step {
        case .input(let input, let loop): try apply(input, on: loop)
        case .open(let socket, let app): try open(socket, app)
        case .arrive(let socket, let app, let grant):
            try open(socket, app)
            try apply(.subscribe(socket, grant), on: socket.loop)
        case .close(let socket): try close(socket)
        case .replace(let socket, let successor, let app):
            try close(socket)
            try open(successor, app)
        case .drain(let loop, let most): try drain(loop, most: most)
        case .flush(let loop): try flush(loop)
        case .settle: try settle()
        }
    }

    /// A vacant slot for a new connection of `loop`.
    func vacantSlot(on loop: Int, using dice: inout SplitMix) -> Int {
        let taken = Set(open.filter { $0.loop == loop }.map(\.slot))
        let vacant = (0...taken.count).filter { !taken.contains($0) }
        return dice.pick(vacant) ?? taken.count
    }

    // MARK: Connections

    /// Opens a connection, unless its application is at its limit.
    private mutating func open(_ socket: SocketID, _ app: AppIndex) throws(Discrepancy) {
        guard hub.hasRoomForConnection(app: app) else {
            summary.rejectedConnections += 1
            return
        }
        loops[socket.loop].fanOut.open(socket)
        open.append(socket)
        checkers.opened(socket)
        summary.connections += 1
        try apply(.opened(socket, app: app), on: socket.loop)
    }

    private mutating func close(_ socket: SocketID) throws(Discrepancy) {
        try apply(.closed(socket), on: socket.loop)
        loops[socket.loop].fanOut.close(socket)
        checkers.closed(socket)
        open.removeAll { $0 == socket }
        recentlyClosed.append(socket)
        if recentlyClosed.count > 16 { recentlyClosed.removeFirst() }
    }

    // MARK: The order rule

    private mutating func apply(_ input: Hub.Input, on loop: Int) throws(Discrepancy) { try apply(.hub(input), on: loop) }

    private mutating func apply(_ input: SimulatedInput, on loop: Int) throws(Discrepancy) {
        guard hasRoom(for: input) else {
            summary.rejectedPublishes += 1
            return
        }
        var effects: [Hub.Effect] = []
        var webhookEvents: [AppWebhookEvent] = []
        switch input {
        case .hub(let input): if let input = fault.input(input) { hub.apply(input, &effects) }
        case .fleet(let input): if let input = fault.fleetInput(input) { hub.apply(input, &effects) }
        }
        hub.drainWebhookEvents { webhookEvents.append($0) }
        fault.webhookEvents(&webhookEvents)
        for effect in effects {
            loops[effect.loop].mailbox.append(effect.instruction)
            summary.trace.add(effect.instruction, for: effect.loop)
        }
        summary.instructions += effects.count
        model.apply(input)
        summary.revocations = model.revocations
        for effect in effects { try checkers.check(effect, against: model) }
        try checkers.check(assignmentsAfter: input, effects, against: model)
        try check(after: input)
        try checkers.check(webhookEvents, against: model)
        summary.webhookEvents += webhookEvents.count
        try drain(loop, most: .max)
    }

    /// The room rule: if one of the mailboxes that a publish requires is too full, the publish is rejected as a whole
    /// before it is applied. Nothing else is rejected.
    private func hasRoom(for input: SimulatedInput) -> Bool {
        guard case .hub(.publish(let publications, let app, _)) = input else { return true }
        return publications.allSatisfy { publication in
            hub.loops(of: publication.channel, app: app).allSatisfy { loops[$0].mailbox.count <= scenario.highWater }
        }
    }

    private mutating func drain(_ loop: Int, most: Int) throws(Discrepancy) {
        fault.mailbox(loop, &loops[loop].mailbox)
        let batch = loops[loop].mailbox.prefix(most)
        loops[loop].mailbox.removeFirst(batch.count)
        var signedIn: [SocketID] = []
        for instruction in batch {
            if case .openKeptNames(let socket) = instruction { signedIn.append(socket) }
            if case .close(let socket, let code) = instruction {
                try checkers.check(closeOf: socket, code, on: loop, against: model)
                loops[loop].closing.append(socket)
            }
            loops[loop].fanOut.apply(instruction)
        }
        for socket in signedIn { try openKeptNames(of: socket) }
    }

    /// Subscribes a connection that has signed in to the names that were refused before.
    private mutating func openKeptNames(of socket: SocketID) throws(Discrepancy) {
        while true {
            let (kept, expected) = (hub.takeKeptName(of: socket), model.takeKeptName(of: socket))
            guard kept?.channel == expected?.channel else {
                throw Discrepancy("\(socket) is subscribed to \(kept?.channel.text ?? "nothing") after its sign-in")
            }
            guard let kept else { return }
            summary.keptNames += 1
            try apply(.subscribe(socket, kept), on: socket.loop)
        }
    }

    /// Flushes, then closes, so that frames that precede a close are delivered.
    private mutating func flush(_ loop: Int) throws(Discrepancy) {
        var writes: [(SocketID, Frame)] = []
        let isUnfinished = loops[loop].fanOut.flush(writesMax: scenario.writesMax) {
            writes.append(contentsOf: fault.write($0, $1))
        }
        try receive(writes, on: loop)
        guard isUnfinished == loops[loop].fanOut.isPending else {
            throw Discrepancy("loop \(loop) reports wrongly whether its flush has left frames")
        }
        let closing = loops[loop].closing
        loops[loop].closing = []
        // The client may already have closed the connection, and another connection may be in its slot.
        for socket in closing where open.contains(socket) {
            var writes: [(SocketID, Frame)] = []
            loops[loop].fanOut.flush(socket) { writes.append(contentsOf: fault.write($0, $1)) }
            try receive(writes, on: loop)
            try close(socket)
            summary.terminated += 1
        }
    }

    private mutating func receive(_ writes: [(SocketID, Frame)], on loop: Int) throws(Discrepancy) {
        guard !writes.isEmpty else { return }
        for (socket, frame) in writes {
            summary.trace.add(socket)
            summary.trace.add(frame)
        }
        summary.frames += try checkers.check(writes, on: loop, against: model)
        summary.writes += writes.count
    }

    /// Drains and flushes all loops until they are idle, which may take several rounds: a close on one loop can cause
    /// events on others.
    private mutating func settle() throws(Discrepancy) {
        repeat {
            for loop in loops.indices {
                try drain(loop, most: .max)
                try flush(loop)
            }
        } while !loops.allSatisfy(\.isIdle)
        try checkAllChannels()
        for socket in open + recentlyClosed { try checkOwnerships(of: socket) }
        for socket in open { try checkers.checkComplete(socket, against: model) }
        try checkers.checkTerminated(against: model)
    }

    // MARK: Checks

    private mutating func check(after input: SimulatedInput) throws(Discrepancy) {
        try checkers.check(hub, against: model)
        switch input {
        case .hub(let input): try check(after: input)
        case .fleet(let input): try check(after: input)
        }
        // Channels that the input does not concern must be unchanged. For speed, each step checks one channel, in turn.
        nextChannel = (nextChannel + 1) % scenario.channels.count
        try check(scenario.channels[nextChannel])
    }

    private func check(after input: FleetInput) throws(Discrepancy) {
        switch input {
        case .authorized(let socket, _, _, _): try checkOwnerships(of: socket)
        case .notify(let notifications, _):
            for publication in notifications.flatMap(\.publications) { try check(publication.channel) }
        case .assignment, .restrict: try checkAllChannels()
        case .hold: break
        }
    }

    private mutating func check(after input: Hub.Input) throws(Discrepancy) {
        switch input {
        case .opened, .terminate: break
        case .signin(let socket, _): try checkOwnerships(of: socket)
        case .remoteMemberJoined, .remoteMemberLeft, .forgetRemoteMembers, .subscriptionCount, .cache, .remoteUser,
            .showWatchlist, .remoteClientEvent:
            break
        case .subscribe(let socket, let grant):
            try check(grant.channel)
            summary.ownerships += try checkOwnership(of: socket, on: grant.channel) ? 1 : 0
        case .unsubscribe(_, let channel), .clientEvent(_, _, let channel): try check(channel)
        case .publish(let publications, _, _):
            for publication in publications { try check(publication.channel) }
        case .closed, .tick, .endLegacy: try checkAllChannels()
        }
    }

    private func check(_ channel: ChannelName) throws(Discrepancy) {
        for app in scenario.apps.indices {
            try checkers.check(hub, ReferenceModel.ChannelKey(app: app, channel: channel), against: model)
        }
    }

    /// - Returns: whether the connection's user owns the channel.
    @discardableResult
    private func checkOwnership(of socket: SocketID, on channel: ChannelName) throws(Discrepancy) -> Bool {
        let app = model.connections[socket]?.app ?? 0
        return try checkers.check(hub, ownershipOf: socket, on: .init(app: app, channel: channel), against: model)
    }

    private func checkOwnerships(of socket: SocketID) throws(Discrepancy) {
        guard scenario.fleet != nil else { return }
        for channel in scenario.channels { try checkOwnership(of: socket, on: channel) }
    }

    /// Compares all channels, lists of channels, statistics and permissions with the model's.
    private func checkAllChannels() throws(Discrepancy) {
        for channel in scenario.channels { try check(channel) }
        for app in scenario.apps.indices {
            for prefix in ["", "presence-"] { try checkers.check(hub, channelsOf: app, prefix: prefix, against: model) }
            try checkers.check(hub, permissionsIn: app, on: scenario.channels, against: model)
        }
    }
}
