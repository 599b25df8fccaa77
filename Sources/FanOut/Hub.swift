import PusherProtocol

/// Who is connected, who subscribes to what, and what each event must cause, on all loops of this node.
///
/// It performs nothing: no sockets, clock or randomness, so a run is replayed by replaying its inputs. One lock guards
/// it, so it does little: it knows *which loops* hold subscribers of a channel, not which sockets. Its effects name
/// slots and loops, and nothing is copied per subscriber.
package struct Hub {
    package enum Input: Sendable {
        case opened(SocketID, app: AppIndex)
        case subscribe(SocketID, SubscriptionGrant)
        case unsubscribe(SocketID, ChannelName)
        case publish([Publication], app: AppIndex, except: SocketID?)
        case closed(SocketID)
    }

    /// One event on one channel, encoded.
    package struct Publication: Equatable, Sendable {
        package let channel: ChannelName
        package let frame: Frame

        package init(channel: ChannelName, frame: Frame) {
            self.channel = channel
            self.frame = frame
        }
    }

    /// An instruction for one loop, to be appended to its mailbox before the hub is unlocked (the order rule).
    package struct Effect: Equatable, Sendable {
        package let loop: Int
        package let instruction: Instruction
    }

    private let loopCount: Int
    private var apps: [[ChannelName: ChannelSlot]]
    private var channels: [Channel] = []
    private var freeSlots: [ChannelSlot] = []
    private var connections: [[Connection]]

    /// Subscriptions of all connections.
    package private(set) var subscriptionCount = 0
    /// Channels with at least one subscriber.
    package var channelCount: Int { channels.count - freeSlots.count }

    /// - Parameters:
    ///   - loopCount: how many loops there are (1–64, see ``LoopSet/loopsMax``).
    ///   - appCount: how many applications there are.
    package init(loopCount: Int, appCount: Int) {
        precondition((1...LoopSet.loopsMax).contains(loopCount), "a loop out of range would never hear an event")
        self.loopCount = loopCount
        apps = Array(repeating: [:], count: appCount)
        connections = Array(repeating: [], count: loopCount)
    }

    /// Applies `input` and appends what it causes to `effects`, in the order in which it must happen.
    package mutating func apply(_ input: Input, _ effects: inout [Effect]) {
        switch input {
        case .opened(let socket, let app): open(socket, app)
        case .subscribe(let socket, let grant): subscribe(socket, to: grant.channel, &effects)
        case .unsubscribe(let socket, let channel): unsubscribe(socket, from: channel, &effects)
        case .publish(let publications, let app, let sender):
            for publication in publications { publish(publication, app, except: sender, &effects) }
        case .closed(let socket): close(socket, &effects)
        }
    }

    /// Which loops hold subscribers of a channel: those that a publish needs room on.
    package func loops(of channel: ChannelName, app: AppIndex) -> LoopSet {
        apps[app][channel].map { channels[$0].loops } ?? []
    }

    // MARK: Connections

    private mutating func open(_ socket: SocketID, _ app: AppIndex) {
        let missing = socket.slot + 1 - connections[socket.loop].count
        if missing > 0 { connections[socket.loop].append(contentsOf: repeatElement(Connection(), count: missing)) }
        precondition(connections[socket.loop][socket.slot].socket == nil, "a slot is not reused while its connection is open")
        connections[socket.loop][socket.slot] = Connection(socket: socket, app: app)
    }

    private mutating func close(_ socket: SocketID, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        for slot in connections[socket.loop][socket.slot].channels { leave(slot, socket, &effects) }
        connections[socket.loop][socket.slot] = Connection()
    }

    /// A message may still name a connection that has gone: its slot is empty, or another's.
    private func isOpen(_ socket: SocketID) -> Bool {
        socket.loop < loopCount && socket.slot < connections[socket.loop].count
            && connections[socket.loop][socket.slot].socket == socket
    }

    // MARK: Subscriptions

    private mutating func subscribe(_ socket: SocketID, to name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        let app = connections[socket.loop][socket.slot].app
        let slot = apps[app][name] ?? makeChannel(name, app)
        guard !connections[socket.loop][socket.slot].channels.contains(slot) else {
            tell(socket, ServerMessage.error(ProtocolError("Existing subscription to channel \(name.text)")), &effects)
            return
        }
        connections[socket.loop][socket.slot].channels.append(slot)
        channels[slot].add(loop: socket.loop)
        subscriptionCount += 1
        effects.append(Effect(loop: socket.loop, instruction: .join(slot, socket)))
        tell(socket, ServerMessage.subscriptionSucceeded(name), &effects)
    }

    private mutating func unsubscribe(_ socket: SocketID, from name: ChannelName, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        let app = connections[socket.loop][socket.slot].app
        guard let slot = apps[app][name],
            let index = connections[socket.loop][socket.slot].channels.firstIndex(of: slot)
        else {
            let text = "No current subscription to channel \(name.text), or subscription in progress"
            tell(socket, ServerMessage.error(ProtocolError(text)), &effects)
            return
        }
        connections[socket.loop][socket.slot].channels.remove(at: index)
        leave(slot, socket, &effects)
    }

    private mutating func leave(_ slot: ChannelSlot, _ socket: SocketID, _ effects: inout [Effect]) {
        subscriptionCount -= 1
        effects.append(Effect(loop: socket.loop, instruction: .leave(slot, socket)))
        if channels[slot].remove(loop: socket.loop) { return }
        // Vacated. The slot may be given away at once: every loop learns of the leave before it can learn of a new tenant.
        apps[channels[slot].app][channels[slot].name] = nil
        freeSlots.append(slot)
    }

    private mutating func makeChannel(_ name: ChannelName, _ app: AppIndex) -> ChannelSlot {
        let channel = Channel(name: name, app: app, loopCount: loopCount)
        let slot: ChannelSlot
        if let free = freeSlots.popLast() {
            slot = free
            channels[slot] = channel
        } else {
            slot = channels.count
            channels.append(channel)
        }
        apps[app][name] = slot
        return slot
    }

    // MARK: Publishing

    private func publish(_ publication: Publication, _ app: AppIndex, except sender: SocketID?, _ effects: inout [Effect]) {
        guard let slot = apps[app][publication.channel] else { return }
        for loop in channels[slot].loops {
            effects.append(Effect(loop: loop, instruction: .fanOut(publication.frame, slot, except: sender)))
        }
    }

    private func tell(_ socket: SocketID, _ frame: Frame, _ effects: inout [Effect]) {
        effects.append(Effect(loop: socket.loop, instruction: .send(frame, to: socket)))
    }
}

/// An application's place in the configured list.
package typealias AppIndex = Int

/// A channel's dense index, the same on the hub and on every loop, reused after the channel is vacated.
package typealias ChannelSlot = Int

/// What the hub tells one loop to do. In a loop's mailbox, instructions stand in the order of the hub.
package enum Instruction: Equatable, Sendable {
    /// The connection is a subscriber from here on.
    case join(ChannelSlot, SocketID)
    /// The connection gets nothing of the channel from here on.
    case leave(ChannelSlot, SocketID)
    /// An event for the channel's subscribers on this loop.
    case fanOut(Frame, ChannelSlot, except: SocketID?)
    /// A message for one connection.
    case send(Frame, to: SocketID)
}

/// What the hub knows of one connection.
private struct Connection {
    /// Nil while the slot is vacant.
    var socket: SocketID?
    var app: AppIndex = 0
    /// In the order of subscribing, so that a close has one outcome.
    var channels: [ChannelSlot] = []
}

/// A channel with at least one subscriber.
private struct Channel {
    let name: ChannelName
    let app: AppIndex
    /// Those with at least one subscriber.
    private(set) var loops = LoopSet()
    /// Subscribers by loop.
    private var subscribers: [UInt32]

    init(name: ChannelName, app: AppIndex, loopCount: Int) {
        self.name = name
        self.app = app
        subscribers = Array(repeating: 0, count: loopCount)
    }

    mutating func add(loop: Int) {
        subscribers[loop] += 1
        loops.insert(loop)
    }

    /// False when that was the last subscriber of all.
    mutating func remove(loop: Int) -> Bool {
        subscribers[loop] -= 1
        if subscribers[loop] == 0 { loops.remove(loop) }
        return !loops.isEmpty
    }
}
