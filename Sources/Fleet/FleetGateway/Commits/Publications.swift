import FanOut
import Fleet
import Realtime
import Threads

/// The rounds in which the loops confirm what they have written of what was published (``PublicationRounds``). All threads
/// share it.
final class Publications: Sendable {
    private let rounds = Lock(PublicationRounds())

    /// Records that this notification, and all that were committed before it, are in the mailboxes.
    func add(upTo id: String) { rounds.withLock { $0.add(position: id) } }

    /// Records that a recovered notification has been appended to the mailboxes, or has expired.
    func add(recovered id: String) { rounds.withLock { $0.add(recovered: id) } }

    /// Records that a loop has written all that was in its mailbox when the round began.
    func confirm(loop: Int) { rounds.withLock { $0.confirm(loop: loop) } }

    /// What the loops have written since the last call. Asks them again if more was published. Only the store's writer
    /// calls this.
    func take(_ hub: SharedHub) -> Published {
        let now = Clock.monotonicMilliseconds()
        let loopCount = hub.mailboxes.count
        let (published, begins) = rounds.withLock { ($0.takeConfirmed(), $0.begin(at: now, loopCount: loopCount)) }
        if begins {
            for loop in 0..<loopCount { hub.post(FleetMessage.confirmPublication, to: loop) }
        }
        return published
    }

    /// Records that the loops have drained and ended.
    func end() { rounds.withLock { $0.end() } }
}
