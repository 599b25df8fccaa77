import Access
import PusherProtocol

/// Who is connected, who subscribes to what, and what each event must cause, on all loops of this node.
///
/// It performs nothing: no sockets, clock or randomness, so a run is replayed by replaying its inputs. One lock guards
/// it, so it does little: it knows *which loops* hold subscribers of a channel, not which sockets. Its effects name
/// slots and loops, and nothing is copied per subscriber. What backends are to be told lies apart, for it is for no loop.
package struct Hub {
    package enum Input: Sendable {
        case opened(SocketID, app: AppIndex)
        case subscribe(SocketID, SubscriptionGrant)
        case unsubscribe(SocketID, ChannelName)
        case signin(SocketID, SignedInUser)
        case clientEvent(SocketID, ClientEvent, on: ChannelName)
        case publish([Publication], app: AppIndex, except: SocketID?)
        case terminate(userID: String, app: AppIndex)
        /// Whoever is at this connection has proved who he is.
        case identify(SocketID, Identity)
        /// Who has an order now.
        case assignment(JobAssignment, app: AppIndex)
        case closed(SocketID)
        /// Time has come this far: milliseconds on a clock that never goes back.
        case tick(Int64)
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

    let loopCount: Int
    var apps: [AppState]
    var channels: [Channel] = []
    private var freeSlots: [ChannelSlot] = []
    private var connections: [[Connection]]
    /// As of the last tick.
    var now: Int64 = 0
    var counting = SubscriptionCountThrottle()
    /// What backends are to be told, in the order in which it happened; see ``takeNotices(_:)``.
    var webhookEvents: [AppWebhookEvent] = []

    /// Subscriptions of all connections.
    package internal(set) var subscriptionCount = 0
    /// Channels with at least one subscriber.
    package var channelCount: Int { channels.count - freeSlots.count }

    /// - Parameters:
    ///   - loopCount: how many loops there are (1–64, see ``LoopSet/loopsMax``).
    ///   - apps: the applications, in the order of their indices.
    package init(loopCount: Int, apps: [AppRules]) {
        precondition((1...LoopSet.loopsMax).contains(loopCount), "a loop out of range would never hear an event")
        self.loopCount = loopCount
        self.apps = apps.map { AppState($0) }
        connections = Array(repeating: [], count: loopCount)
    }

    /// Applies `input` and appends what it causes to `effects`, in the order in which it must happen.
    package mutating func apply(_ input: Input, _ effects: inout [Effect]) {
        switch input {
        case .opened(let socket, let app): open(socket, app)
        case .subscribe(let socket, let grant): subscribe(socket, grant, &effects)
        case .unsubscribe(let socket, let channel): unsubscribe(socket, from: channel, &effects)
        case .signin(let socket, let user): signin(socket, user, &effects)
        case .clientEvent(let socket, let event, let channel): relay(event, from: socket, on: channel, &effects)
        case .publish(let publications, let app, let sender):
            for publication in publications { publish(publication, app, except: sender, &effects) }
        case .terminate(let userID, let app): terminate(userID, app, &effects)
        case .identify(let socket, let identity): identify(for: socket, identity, &effects)
        case .assignment(let holding, let app): record(holding, app, &effects)
        case .closed(let socket): close(socket, &effects)
        case .tick(let now): tick(now, &effects)
        }
    }

    // MARK: Connections

    private mutating func open(_ socket: SocketID, _ app: AppIndex) {
        let missing = socket.slot + 1 - connections[socket.loop].count
        if missing > 0 { connections[socket.loop].append(contentsOf: repeatElement(Connection(), count: missing)) }
        precondition(connections[socket.loop][socket.slot].socket == nil, "a slot is not reused while its connection is open")
        connections[socket.loop][socket.slot] = Connection(socket: socket, app: app)
        apps[app].connectionCount += 1
    }

    private mutating func close(_ socket: SocketID, _ effects: inout [Effect]) {
        guard isOpen(socket) else { return }
        let connection = self[socket]
        for membership in connection.subscriptions { leave(membership, socket, &effects) }
        if let user = connection.user { signOut(user, socket, connection.app, &effects) }
        for identity in connection.identities { forgetIdentity(identity, socket) }
        apps[connection.app].connectionCount -= 1
        self[socket] = Connection()
    }

    /// A message may still name a connection that has gone: its slot is empty, or another's.
    func isOpen(_ socket: SocketID) -> Bool {
        socket.loop < loopCount && socket.slot < connections[socket.loop].count
            && connections[socket.loop][socket.slot].socket == socket
    }

    subscript(socket: SocketID) -> Connection {
        get { connections[socket.loop][socket.slot] }
        set { connections[socket.loop][socket.slot] = newValue }
    }

    // MARK: Channels

    mutating func makeChannel(_ name: ChannelName, _ app: AppIndex) -> ChannelSlot {
        let channel = Channel(name: name, app: app, loopCount: loopCount)
        let slot: ChannelSlot
        if let free = freeSlots.popLast() {
            slot = free
            channels[slot] = channel
        } else {
            slot = channels.count
            channels.append(channel)
        }
        apps[app].slots[name] = slot
        return slot
    }

    /// The slot may be given away at once: every loop learns of the last leave before it can learn of a new tenant.
    mutating func removeChannel(_ slot: ChannelSlot) {
        apps[channels[slot].app].slots[channels[slot].name] = nil
        freeSlots.append(slot)
    }

    // MARK: Effects

    func send(_ socket: SocketID, _ frame: Frame, _ effects: inout [Effect]) {
        effects.append(Effect(loop: socket.loop, instruction: .send(frame, to: socket)))
    }

    func sendError(_ socket: SocketID, _ text: String, code: Int? = nil, _ effects: inout [Effect]) {
        send(socket, ServerMessage.error(ProtocolError(text, code: code)), &effects)
    }

    func fanOut(_ frame: Frame, on slot: ChannelSlot, except sender: SocketID? = nil, _ effects: inout [Effect]) {
        for loop in channels[slot].loops {
            effects.append(Effect(loop: loop, instruction: .fanOut(frame, slot, except: sender)))
        }
    }
}

/// An application's place in the configured list.
package typealias AppIndex = Int

/// A channel's dense index, the same on the hub and on every loop, reused after the channel is vacated.
package typealias ChannelSlot = Int

/// What the hub knows of one connection.
struct Connection {
    /// Nil while the slot is vacant.
    var socket: SocketID?
    var app: AppIndex = 0
    /// In the order of subscribing, so that a close has one outcome.
    var subscriptions: [Subscription] = []
    /// Nil until signed in.
    var user: SignedInUser?
    /// Whom our authorization endpoint has recognised at it.
    var identities: [Identity] = []

    /// Whether nobody has proved who he is at it. That changes once at most: see ``Hub/recognise(_:)``.
    var isAnonymous: Bool { user == nil && identities.isEmpty }
}

/// One subscription of a connection.
struct Subscription {
    let slot: ChannelSlot
    /// On presence channels: who it is for.
    let userID: String?
}

/// What the hub keeps for an application.
struct AppState {
    let rules: AppRules
    var slots: [ChannelName: ChannelSlot] = [:]
    var cache: EventCache
    var users = UserDirectory()
    var jobs = JobAssignments()
    /// Connections by the identities they have proved.
    var socketsByIdentity: [String: [SocketID]] = [:]
    var connectionCount = 0

    init(_ rules: AppRules) {
        self.rules = rules
        cache = EventCache(bytesMax: rules.limits.cacheBytes)
    }
}
