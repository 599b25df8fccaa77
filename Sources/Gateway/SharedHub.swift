import FanOut
import HTTPAPI
import PusherProtocol
import Server
import Threads

/// What can lie in a loop's mailbox.
enum Mail: Sendable {
    case instruction(Instruction)
    case adopt(Listener.Accepted)
    case drain(seconds: Int)
    case stop
}

/// The hub behind its lock, and the mailboxes its effects leave through.
///
/// **The order rule**: under the lock, every effect is appended to its loop's mailbox, those for the caller's own loop
/// too; after unlocking, the caller drains its own mailbox at once, and the others are woken. Carrying out local effects
/// directly would let a loop overtake what another has put in its mailbox.
///
/// **The room rule**: a publish is refused before it is applied when a mailbox it needs is above its high-water mark.
/// Joins, leaves and closes are always taken: they are bounded by the connections there are.
final class SharedHub: Sendable {
    /// Messages in a mailbox beyond which publishes are refused: some tens of milliseconds of fan-out.
    static let highWater = 16_384

    private struct State {
        var hub: Hub
        var effects: [Hub.Effect] = []
    }

    private let state: Lock<State>
    let mailboxes: [Mailbox<Mail>]
    private let wakeups: [Wakeup]

    init(wakeups: [Wakeup], appCount: Int) {
        self.wakeups = wakeups
        mailboxes = wakeups.map { _ in Mailbox(highWater: Self.highWater) }
        state = Lock(State(hub: Hub(loopCount: wakeups.count, appCount: appCount)))
    }

    /// Applies an input on `loop`'s thread, whose mailbox the caller drains next.
    func apply(_ input: Hub.Input, from loop: Int) {
        let woken = state.withLock { state in distribute(input, &state) }
        wake(woken, except: loop)
    }

    /// Publishes, or refuses when a mailbox it needs is full.
    /// - Returns: whether it was published.
    func publish(_ publications: [Hub.Publication], app: AppIndex, except: SocketID?, from loop: Int) -> Bool {
        let woken: LoopSet? = state.withLock { state in
            guard hasRoom(publications, app, state.hub) else { return nil }
            return distribute(.publish(publications, app: app, except: except), &state)
        }
        guard let woken else { return false }
        wake(woken, except: loop)
        return true
    }

    /// Posts what does not come from the hub, from any thread.
    func post(_ mail: Mail, to loop: Int) {
        if mailboxes[loop].append(mail) { wakeups[loop].signal() }
    }

    /// Occupied channels and subscriptions, as of now.
    var counts: (channels: Int, subscriptions: Int) {
        state.withLock { ($0.hub.channelCount, $0.hub.subscriptionCount) }
    }

    /// Appends all effects of `input` to their mailboxes; the loops whose mailboxes were empty.
    private func distribute(_ input: Hub.Input, _ state: inout State) -> LoopSet {
        var woken = LoopSet()
        state.hub.apply(input, &state.effects)
        for effect in state.effects where mailboxes[effect.loop].append(.instruction(effect.instruction)) {
            woken.insert(effect.loop)
        }
        state.effects.removeAll(keepingCapacity: true)
        return woken
    }

    private func hasRoom(_ publications: [Hub.Publication], _ app: AppIndex, _ hub: Hub) -> Bool {
        // Nearly always nothing is full, and nobody need be looked up.
        if mailboxes.allSatisfy(\.hasRoom) { return true }
        return publications.allSatisfy { publication in
            hub.loops(of: publication.channel, app: app).allSatisfy { mailboxes[$0].hasRoom }
        }
    }

    private func wake(_ loops: LoopSet, except own: Int) {
        for loop in loops where loop != own { wakeups[loop].signal() }
    }
}
