/// Start-time fair queueing (Goyal, Vin, Cheng 1996): the order in which lanes send push jobs. A job's `turn` is the
/// paper's start tag; a lane's current turn is its virtual time.
///
/// A new job gets the lane's current turn, or the turn after its recipient's last open job, whichever is later. So a
/// lane alternates between recipients, and ten thousand pushes for one driver do not delay the first push for another
/// driver.
struct FairQueueing {
    /// The lanes' current turns. They only advance: if a transaction is rolled back, its turns stay unused, which is
    /// harmless.
    private var turns: [PushLane: Int64] = [:]

    /// The turn of the job that was leased to the lane last.
    func current(_ lane: PushLane) -> Int64 { turns[lane, default: 0] }

    /// Records that a job with this turn was leased.
    mutating func advance(_ lane: PushLane, to turn: Int64) { turns[lane] = max(turn, current(lane)) }

    /// The number to add to a job's turn when the job moves to another lane. Turns count from each lane's current turn,
    /// so the job keeps its distance to the current turn.
    func offset(from old: PushLane, to new: PushLane) -> Int64 { current(new) - current(old) }

    /// The turn of a recipient's next job.
    /// - Parameter last: the turn of the recipient's last open job in the lane; nil if there is none.
    func next(in lane: PushLane, after last: Int64?) -> Int64 { max(current(lane), last.map { $0 + 1 } ?? 0) }
}
