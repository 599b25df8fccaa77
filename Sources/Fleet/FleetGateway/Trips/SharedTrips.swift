import Access
import FanOut
import Fleet
import PusherAPI
import PusherProtocol
import Realtime
import Threads

/// The followed trips, protected by a lock, and what follows from their changes. Any thread may use it.
///
/// Effects are performed while the lock is held: positions reach the hub in order, none after the event that ends the
/// trip. So this lock is taken before those of the hub and of the store's queue, never after.
final class SharedTrips: Sendable {
    private struct State {
        var trips: LiveTrips
        /// Queues a command; nil until the store is open.
        var post: (@Sendable (CommandRequest) -> PostResult?)?
    }

    private let state: Lock<State>
    private let hub: SharedHub
    private let app: AppIndex
    private let policy: ChannelPolicy
    private let counters: FleetCounters
    /// `admin-channel` and its mirror; none unless they are for admins only.
    private let adminChannels: [ChannelName]
    private let onExcess: @Sendable (LiveTrips.Excess) -> Void

    /// - Parameter onExcess: a job is followed or shown no more, because its driver or booking has too many.
    init(
        _ rules: TripRules, hub: SharedHub, app: AppIndex, policy: ChannelPolicy, counters: FleetCounters,
        onExcess: @escaping @Sendable (LiveTrips.Excess) -> Void = { _ in }
    ) {
        self.onExcess = onExcess
        state = Lock(State(trips: LiveTrips(rules)))
        self.hub = hub
        self.app = app
        self.policy = policy
        self.counters = counters
        adminChannels = Self.channels(FleetChannel.admin, policy).filter(policy.isForAdminsOnly)
    }

    /// Sets where steps go. Call it once the store is open.
    func connect(post: @escaping @Sendable (CommandRequest) -> PostResult?) { state.withLock { $0.post = post } }

    // MARK: Commits

    /// Publishes what a command has changed.
    /// - Parameters:
    ///   - isOwn: whether it is a commit of this gateway, which then shows the position that it contains.
    ///   - publish: publishes the events; gets the order that changed. No position of the order is published meanwhile.
    func committing(_ effects: [CommitEffect], isOwn: Bool, publish: (Order?) -> Void) {
        var order: Order?
        for case .orderChanged(let changed) in effects { order = changed }
        state.withLock { state in
            let concerned = effects.filter { $0.concerns(state.trips) }
            if case .orderChanged(let order)? = concerned.first { state.trips.beginUpdate(order) }
            publish(order)
            for effect in concerned { apply(effect, card: effects.card, isOwn: isOwn, &state) }
        }
    }

    private func apply(_ effect: CommitEffect, card: DriverCard?, isOwn: Bool, _ state: inout State) {
        switch effect {
        case .orderChanged(let order): follow(order, card: card, &state)
        case .cardShown(let card): state.trips.update(card)
        case .personErased(let person): state.trips.erase(driverID: person.id)
        case .positionReported(let position) where isOwn:
            change(&state) {
                _ = $0.report([position.position], ofDriver: position.driverID, isPartOfProgress: true, now: .now, &$1)
            }
        case .positionReported(let position):
            state.trips.record([position.position], ofDriver: position.driverID, isPartOfProgress: true, now: .now)
        case .accountChanged, .tokensEnded, .deviceRemoved, .lanesWoken, .codeToSend: break
        }
    }

    /// Records the store's answer to a step.
    func answered(_ step: TripStep, _ reply: CommandReply) {
        state.withLock { if case .unavailable = reply { $0.trips.failed(step) } else { $0.trips.finished(step) } }
    }

    /// Follows the orders that were under way when the process before ended, from where their drivers were.
    func restore(from executor: CommandExecutor) throws(DatabaseError) {
        var followed: [Order] = []
        try executor.openOrders { if $0.isFollowed { followed.append($0) } }
        for order in followed {
            guard let driver = order.assignment.driver?.id.text else { continue }
            let card = try executor.shownCard(ofDriver: driver)
            state.withLock { follow(order, card: card, &$0) }
        }
        try executor.eachDriverPosition { position in
            state.withLock { state in change(&state) { $0.restore(position, now: .now, &$1) } }
        }
    }

    private func follow(_ order: Order, card: DriverCard?, _ state: inout State) {
        let excess = state.trips.update(order, card: card)
        if !excess.isEmpty { onExcess(excess) }
    }

    // MARK: Positions

    /// Takes positions of a driver.
    func report(_ positions: [Position], ofDriver id: String) -> LocationReceipt {
        state.withLock { state in
            let receipt = change(&state) { $0.report(positions, ofDriver: id, now: .now, &$1) }
            if hub.isClustered, receipt.accepted + receipt.jumps > 0 {
                hub.tell(PositionNote(driverID: id, positions: positions).note)
            }
            return receipt
        }
    }

    /// Takes positions that another node has got.
    func record(_ note: PositionNote) {
        state.withLock { $0.trips.record(note.positions, ofDriver: note.driverID, now: .now) }
    }

    /// Does what time makes due. Call it once a second.
    func tick() { state.withLock { state in change(&state) { $0.tick(.now, &$1) } } }

    /// Sends a new subscriber of a tracking channel the driver's position. Call it on the loop of the connection, then
    /// drain that loop's mailbox.
    /// - Returns: whether there is one.
    func sendLocation(to socket: SocketID, on channel: ChannelName, loop: Int) -> Bool {
        guard let reference = policy.reference(of: channel),
            ChannelPolicy.plainName(of: channel).utf8.elementsEqual(FleetChannel.tracking(reference).name.utf8)
        else { return false }
        return state.withLock { state in
            guard let view = state.trips.view(reference: reference, now: Clock.unixMilliseconds()), view.position != nil,
                hub.read({ $0.isSubscribed(socket, to: channel) })
            else { return false }
            var frame = ServerMessage.event(LocationEvents.location, channel, data: view.locationData)
            let names = hub.read { $0.hiddenMembers(from: socket, on: channel) }
            if !names.isEmpty { frame = ServerMessage.event(frame, on: channel, hiding: names) }
            hub.post(.instruction(.send(frame, to: socket)), to: loop)
            return true
        }
    }

    // MARK: Reading

    /// The trip with this reference; nil if no order with it is followed.
    func view(reference: String) -> TripView? {
        state.withLock { $0.trips.view(reference: reference, now: Clock.unixMilliseconds()) }
    }

    /// The drivers whose positions are read under one lock.
    private static let slice = 200

    /// The positions of all drivers that have one, by the driver's id. Of ten thousand drivers this takes tens of
    /// milliseconds: do not call it on a loop. Loops that report positions meanwhile wait for one slice only.
    func views() -> [TripView] {
        let ids = state.withLock { $0.trips.driverIDs }.sorted()
        return stride(from: 0, to: ids.count, by: Self.slice).flatMap { start in
            let slice = ids[start..<min(start + Self.slice, ids.count)]
            return state.withLock { $0.trips.views(ofDrivers: slice, now: Clock.unixMilliseconds()) }
        }
    }

    func track(ofDriver id: String) -> Track { state.withLock { $0.trips.track(ofDriver: id) } }

    func takeUnsaved() -> [DriverPosition] { state.withLock { $0.trips.takeUnsaved() } }

    func putBack(_ positions: [DriverPosition]) { state.withLock { $0.trips.putBack(positions) } }

    /// The number of orders that are followed.
    var count: Int { state.withLock { $0.trips.count } }

    // MARK: Effects

    private func change<Result>(
        _ state: inout State, _ body: (inout LiveTrips, inout [LiveTrips.Effect]) -> Result
    ) -> Result {
        var effects: [LiveTrips.Effect] = []
        let result = body(&state.trips, &effects)
        for effect in effects { perform(effect, &state) }
        return result
    }

    private func perform(_ effect: LiveTrips.Effect, _ state: inout State) {
        switch effect {
        case .take(let step):
            // The step's events will be published even to full mailboxes.
            guard hub.hasRoom, state.post?(CommandRequest(IssuedCommand(step), replyTo: nil)) == .queued else {
                return state.trips.failed(step)
            }
        case .showLocation(let view):
            let reference = view.order.reference
            let channels = Self.channels(.tracking(reference), policy).filter {
                policy.reference(of: $0)?.utf8.elementsEqual(reference.utf8) == true
            }
            if !publish(LocationEvents.location, on: channels, view.locationData) {
                state.trips.delayLocation(of: reference)
            }
        case .showDriver(let view):
            // If a mailbox is full, the next position follows soon.
            _ = publish(LocationEvents.driver, on: adminChannels, view.driverLocationData)
        }
    }

    /// - Returns: false if a mailbox was full.
    private func publish(_ event: String, on channels: [ChannelName], _ data: @autoclosure () -> [UInt8]) -> Bool {
        let results = channels.map { channel in
            hub.publish(on: channel, app: app) { [ServerMessage.event(event, channel, data: data())] }
        }
        guard !results.contains(.rejected) else { return false }
        if !channels.isEmpty { counters.countEvent(event, isHeard: results.contains(.published)) }
        return true
    }

    /// A channel and its mirror.
    private static func channels(_ channel: FleetChannel, _ policy: ChannelPolicy) -> [ChannelName] {
        guard let name = ChannelName(channel.name, lengthMax: 256) else { return [] }
        return [name] + (policy.mirror(of: name).map { [$0] } ?? [])
    }
}

extension CommitEffect {
    /// Whether it changes what is known of followed trips. An order comes first among a command's effects.
    fileprivate func concerns(_ trips: LiveTrips) -> Bool {
        switch self {
        case .orderChanged(let order): trips.isConcerned(by: order)
        case .cardShown, .positionReported: true
        case .personErased(let person): person.role == .driver
        case .accountChanged, .tokensEnded, .deviceRemoved, .lanesWoken, .codeToSend: false
        }
    }
}

extension LiveTrips.Time {
    fileprivate static var now: LiveTrips.Time {
        LiveTrips.Time(wall: Clock.unixMilliseconds(), monotonic: Clock.monotonicMilliseconds())
    }
}

extension IssuedCommand {
    /// The driver is the actor, whose job it is; the audit log names the gateway.
    fileprivate init(_ step: TripStep) {
        self.init(
            step, by: Identity(role: .driver, id: step.driverID),
            correlationID: "trips-" + String(UInt64.random(in: .min ... .max), radix: 16))
    }
}
