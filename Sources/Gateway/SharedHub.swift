import FanOut
import HTTPAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// The hub, protected by a lock, and the loops' mailboxes, to which the hub's effects are appended.
///
/// **The order rule**: while the lock is held, each effect is appended to its loop's mailbox, even for the caller's own
/// loop. After unlocking, the caller drains its own mailbox and wakes the other loops. Performing local effects
/// directly would let them overtake effects that another loop has put into the caller's mailbox.
///
/// **The room rule**: a publish is rejected before it is applied if a mailbox that it needs has reached its high-water
/// mark. Joins, leaves and closes are always applied, with all their effects: if one were lost, clients would stay in a
/// wrong state.
///
/// Webhook events are appended to the webhook worker's inbox under the lock too, so that they keep the hub's order.
final class SharedHub: Sendable {
    /// Publishes are rejected while a mailbox contains at least this number of messages. A loop performs so many within
    /// tens of milliseconds.
    static let highWater = 16_384

    private struct State {
        var hub: Hub
        /// The effects of the current input. The array is kept to reuse its memory.
        var effects: [Hub.Effect] = []
    }

    private let state: Lock<State>
    let mailboxes: [Mailbox<LoopMessage>]
    private let wakeups: [Wakeup]
    private let webhookInbox: WebhookInbox?

    /// - Parameter webhookInbox: receives webhook events; nil discards them.
    init(wakeups: [Wakeup], apps: [AppRules], webhookInbox: WebhookInbox? = nil) {
        self.wakeups = wakeups
        self.webhookInbox = webhookInbox
        mailboxes = wakeups.map { _ in Mailbox(highWater: Self.highWater) }
        var hub = Hub(loopCount: wakeups.count, apps: apps)
        var effects: [Hub.Effect] = []
        hub.apply(.tick(Clock.monotonicMilliseconds()), &effects)
        state = Lock(State(hub: hub, effects: effects))
    }

    /// Applies an input. Call it on `loop`'s thread and drain that loop's mailbox next.
    func apply(_ input: Hub.Input, from loop: Int) {
        let woken = state.withLock { state in distribute(input, &state) }
        wake(woken, except: loop)
    }

    /// Opens a connection, unless its application has reached its quota.
    /// - Returns: whether the connection was opened.
    func open(_ socket: SocketID, app: AppIndex) -> Bool {
        state.withLock { state in
            guard state.hub.hasRoomForConnection(app: app) else { return false }
            distribute(.opened(socket, app: app), &state)
            return true
        }
    }

    /// Publishes committed events, then records the job's assignment. Any thread may call it. It ignores ``hasRoom``,
    /// which was checked before the command was accepted: committed events must be published.
    func publish(_ publications: [Hub.Publication], assignment: Hub.JobAssignment?, app: AppIndex) {
        guard !publications.isEmpty || assignment != nil else { return }
        var woken = ThreadsToWake()
        state.withLock { state in
            if !publications.isEmpty { woken.formUnion(distribute(.publish(publications, app: app, except: nil), &state)) }
            if let assignment { woken.formUnion(distribute(.assignment(assignment, app: app), &state)) }
        }
        wake(woken, except: nil)
    }

    /// Publishes all events, or none if a mailbox that they need is full. Call it on `loop`'s thread and drain that
    /// loop's mailbox next.
    func publish(_ request: PublishRequest, app: AppIndex, from loop: Int) -> PublishResult {
        var woken = ThreadsToWake()
        let result: PublishResult = state.withLock { state in
            guard hasRoom(request, app, state.hub) else { return .rejected }
            for event in request.events {
                // Two inputs, so that no array is allocated under the lock.
                woken.formUnion(distribute(.publish(event.publications, app: app, except: event.except), &state))
                guard !event.mirrored.isEmpty else { continue }
                woken.formUnion(distribute(.publish(event.mirrored, app: app, except: event.except), &state))
            }
            guard request.requestsAttributes else { return .published([]) }
            return .published(request.events.map { $0.publications.map { state.hub.occupancy(of: $0.channel, app: app) } })
        }
        wake(woken, except: loop)
        return result
    }

    enum PublishResult {
        /// The occupancy of each channel of each event; empty unless the request's `requestsAttributes` is set.
        case published([[Hub.Occupancy?]])
        /// A mailbox was full; nothing was published.
        case rejected
    }

    /// Whether all mailboxes have room. Client events and commands require it, because their effects can go to any
    /// loop.
    var hasRoom: Bool { mailboxes.allSatisfy { $0.hasRoom } }

    /// Reads from the hub, which is locked meanwhile: `body` must be quick.
    func read<Result>(_ body: (Hub) -> Result) -> Result { state.withLock { body($0.hub) } }

    /// Posts a message that is not an effect of the hub. Any thread may call it.
    func post(_ message: LoopMessage, to loop: Int) {
        if mailboxes[loop].append(message) { wakeups[loop].signal() }
    }

    /// The threads to wake after unlocking the hub: those whose queues were empty.
    private struct ThreadsToWake {
        var loops = LoopSet()
        var webhookWorker = false

        mutating func formUnion(_ other: ThreadsToWake) {
            loops.formUnion(other.loops)
            webhookWorker = webhookWorker || other.webhookWorker
        }
    }

    /// Applies `input`, appends its effects to the mailboxes, and its webhook events to the webhook worker's inbox.
    /// - Returns: the threads to wake.
    @discardableResult
    private func distribute(_ input: Hub.Input, _ state: inout State) -> ThreadsToWake {
        var woken = ThreadsToWake()
        state.hub.apply(input, &state.effects)
        for effect in state.effects where mailboxes[effect.loop].append(.instruction(effect.instruction)) {
            woken.loops.insert(effect.loop)
        }
        state.effects.removeAll(keepingCapacity: true)
        if state.hub.hasWebhookEvents {
            state.hub.drainWebhookEvents { if webhookInbox?.append($0) == true { woken.webhookWorker = true } }
        }
        return woken
    }

    private func hasRoom(_ request: PublishRequest, _ app: AppIndex, _ hub: Hub) -> Bool {
        // Usually no mailbox is full, so the loops of the subscribers need not be looked up.
        if hasRoom { return true }
        let fits = { (publication: Hub.Publication) in
            hub.loops(of: publication.channel, app: app).allSatisfy { self.mailboxes[$0].hasRoom }
        }
        return request.events.allSatisfy { $0.publications.allSatisfy(fits) && $0.mirrored.allSatisfy(fits) }
    }

    private func wake(_ woken: ThreadsToWake, except own: Int?) {
        for loop in woken.loops where loop != own { wakeups[loop].signal() }
        if woken.webhookWorker { webhookInbox?.wake() }
    }
}
