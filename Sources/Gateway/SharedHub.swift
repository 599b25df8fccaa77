import FanOut
import HTTPAPI
import PusherProtocol
import Server
import Threads
import Webhooks

/// The hub behind its lock, and the mailboxes its effects leave through.
///
/// **The order rule**: under the lock, every effect is appended to its loop's mailbox, those for the caller's own loop
/// too; after unlocking, the caller drains its own mailbox at once, and the others are woken. Carrying out local effects
/// directly would let a loop overtake what another has put in its mailbox.
///
/// **The room rule**: a publish is refused before it is applied when a mailbox it needs is above its high-water mark.
/// Joins, leaves and closes are always taken, with what others hear of them: losing one would leave everybody wrong for good.
///
/// What backends are told goes the same way: under the lock into the worker's box, in the order of the hub.
final class SharedHub: Sendable {
    /// Messages in a mailbox beyond which publishes are refused: some tens of milliseconds of fan-out.
    static let highWater = 16_384

    private struct State {
        var hub: Hub
        var effects: [Hub.Effect] = []
    }

    private let state: Lock<State>
    let mailboxes: [Mailbox<LoopMessage>]
    private let wakeups: [Wakeup]
    private let webhookInbox: WebhookInbox?

    /// - Parameter notices: where notices for backends go; nil: nowhere.
    init(wakeups: [Wakeup], apps: [AppRules], notices: WebhookInbox? = nil) {
        self.wakeups = wakeups
        self.webhookInbox = notices
        mailboxes = wakeups.map { _ in Mailbox(highWater: Self.highWater) }
        var hub = Hub(loopCount: wakeups.count, apps: apps)
        var effects: [Hub.Effect] = []
        hub.apply(.tick(Clock.monotonicMilliseconds()), &effects)
        state = Lock(State(hub: hub, effects: effects))
    }

    /// Applies an input on `loop`'s thread, whose mailbox the caller drains next.
    func apply(_ input: Hub.Input, from loop: Int) {
        let woken = state.withLock { state in distribute(input, &state) }
        wake(woken, except: loop)
    }

    /// Opens a connection unless its application has as many as it may.
    func open(_ socket: SocketID, app: AppIndex) -> Bool {
        state.withLock { state in
            guard state.hub.hasRoomForConnection(app: app) else { return false }
            distribute(.opened(socket, app: app), &state)
            return true
        }
    }

    /// Publishes what has been committed, and then notes who has the job: from any thread, whether or not there is room, for
    /// what is committed is told. (Whether there is room was asked before it was taken.)
    func publish(_ publications: [Hub.Publication], holding: Hub.JobAssignment?, app: AppIndex) {
        guard !publications.isEmpty || holding != nil else { return }
        var woken = Woken()
        state.withLock { state in
            if !publications.isEmpty { woken.formUnion(distribute(.publish(publications, app: app, except: nil), &state)) }
            if let holding { woken.formUnion(distribute(.assignment(holding, app: app), &state)) }
        }
        wake(woken, except: nil)
    }

    /// Publishes all events or, when a mailbox they need is full, none.
    /// - Returns: the occupancy of every channel of every event if they were published and `asksForInfo`.
    func publish(_ order: PublishRequest, app: AppIndex, from loop: Int) -> Published {
        var woken = Woken()
        let published: Published = state.withLock { state in
            guard hasRoom(order, app, state.hub) else { return .refused }
            for event in order.events {
                let input = Hub.Input.publish(event.publications + event.mirrored, app: app, except: event.except)
                woken.formUnion(distribute(input, &state))
            }
            guard order.asksForInfo else { return .published([]) }
            return .published(order.events.map { $0.publications.map { state.hub.occupancy(of: $0.channel, app: app) } })
        }
        wake(woken, except: loop)
        return published
    }

    enum Published {
        case published([[Hub.Occupancy?]])
        case refused
    }

    /// Whether every loop can take more. What clients cause among themselves waits for that: it may go to any of them.
    var hasRoom: Bool { mailboxes.allSatisfy(\.hasRoom) }

    /// Asks the hub something; quick, for it is locked meanwhile.
    func read<Answer>(_ question: (Hub) -> Answer) -> Answer { state.withLock { question($0.hub) } }

    /// Posts what does not come from the hub, from any thread.
    func post(_ mail: LoopMessage, to loop: Int) {
        if mailboxes[loop].append(mail) { wakeups[loop].signal() }
    }

    /// Who is to be woken once the hub is unlocked: those whose mailboxes were empty.
    private struct Woken {
        var loops = LoopSet()
        var worker = false

        mutating func formUnion(_ other: Woken) {
            loops.formUnion(other.loops)
            worker = worker || other.worker
        }
    }

    /// Appends all effects of `input` to their mailboxes, and what backends are told of it to the worker's box.
    @discardableResult
    private func distribute(_ input: Hub.Input, _ state: inout State) -> Woken {
        var woken = Woken()
        state.hub.apply(input, &state.effects)
        for effect in state.effects where mailboxes[effect.loop].append(.instruction(effect.instruction)) {
            woken.loops.insert(effect.loop)
        }
        state.effects.removeAll(keepingCapacity: true)
        if state.hub.hasWebhookEvents {
            state.hub.drainWebhookEvents { if webhookInbox?.append($0) == true { woken.worker = true } }
        }
        return woken
    }

    private func hasRoom(_ order: PublishRequest, _ app: AppIndex, _ hub: Hub) -> Bool {
        // Nearly always nothing is full, and nobody need be looked up.
        if hasRoom { return true }
        return order.events.allSatisfy { event in
            (event.publications + event.mirrored).allSatisfy { publication in
                hub.loops(of: publication.channel, app: app).allSatisfy { mailboxes[$0].hasRoom }
            }
        }
    }

    private func wake(_ woken: Woken, except own: Int?) {
        for loop in woken.loops where loop != own { wakeups[loop].signal() }
        if woken.worker { webhookInbox?.wake() }
    }
}
