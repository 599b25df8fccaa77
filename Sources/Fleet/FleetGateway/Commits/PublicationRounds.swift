import FanOut
import Fleet

/// Finds out which notifications are written to their subscribers' connections.
///
/// Publishing appends an event to the mailboxes of the loops; the loops write it later. A round asks each loop to confirm
/// when it has written all that was in its mailbox when the round began. What was published before then is now certainly
/// written, or waits in a connection's outbox.
struct PublicationRounds {
    /// The shortest time between the beginnings of two rounds, in milliseconds. A round wakes all loops.
    private static let interval: Int64 = 10

    /// Published since the current round began.
    private var published = Published()
    /// Published before the current round began.
    private var inRound = Published()
    /// The loops that have not confirmed the current round; empty if there is none.
    private var awaited = LoopSet()
    private var confirmed = Published()
    private var beganAt = -interval

    /// Records that a notification and all that were committed before it have been appended to the mailboxes.
    mutating func add(position: String) { published.position = position }

    /// Records that a recovered notification has been appended to the mailboxes, or has expired.
    mutating func add(recovered id: String) { published.recovered.append(id) }

    /// Begins a round if something was published since the last one.
    /// - Parameter now: monotonic milliseconds.
    /// - Returns: whether a round has begun: the caller asks each loop to confirm it.
    mutating func begin(at now: Int64, loopCount: Int) -> Bool {
        guard awaited.isEmpty, !published.isEmpty, now - beganAt >= Self.interval else { return false }
        beganAt = now
        inRound = published
        published = Published()
        for loop in 0..<loopCount { awaited.insert(loop) }
        return true
    }

    /// Records that a loop has written all that was in its mailbox when the round began.
    mutating func confirm(loop: Int) {
        guard !awaited.isEmpty else { return }
        awaited.remove(loop)
        guard awaited.isEmpty else { return }
        confirmed.append(inRound)
        inRound = Published()
    }

    /// Records that the loops have drained and ended: all that was published is written.
    mutating func end() {
        confirmed.append(inRound)
        confirmed.append(published)
        (inRound, published, awaited) = (Published(), Published(), LoopSet())
    }

    /// What is known to be written since the last call.
    mutating func takeConfirmed() -> Published {
        defer { confirmed = Published() }
        return confirmed
    }
}
