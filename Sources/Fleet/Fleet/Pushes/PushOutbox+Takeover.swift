/// What an earlier process, an earlier worker of a lane, or the node that led before has left behind: jobs of which nobody
/// knows whether they were sent, in any number. They are queued again in slices, the first one at once; until the last one of
/// a lane is, the lane gets no jobs.
extension PushOutbox {
    /// The most rows of a slice.
    static let takeoverMax = 500

    /// Queues again what a lane's earlier worker was sending, at most `most` jobs.
    /// - Returns: their number. If it is less than `most`, nothing is left.
    func requeue(_ lane: PushLane, most: Int) throws(DatabaseError) -> Int {
        guard leftBehind.contains(lane), !requeued.contains(lane) else { return 0 }
        let count = try jobs.requeueSending(lane, most: most)
        if count < most { requeued.insert(lane) }
        return count
    }

    /// Whether jobs of an earlier worker may be left in a lane.
    func isLeftBehind(_ lane: PushLane) -> Bool { leftBehind.contains(lane) && !requeued.contains(lane) }

    /// Takes the next slice over: the jobs of all lanes, also of those that are not enabled; then tries tokens with an
    /// unknown environment at production again, and ends quarantines, because an operator may have corrected the
    /// configuration.
    /// - Returns: whether more may be left, and the lanes that have jobs again.
    func takeOverSome() throws(DatabaseError) -> (foundWork: Bool, woken: Set<PushLane>) {
        var left = Self.takeoverMax
        var woken: Set<PushLane> = []
        for lane in PushLane.allCases where isLeftBehind(lane) {
            let count = try requeue(lane, most: left)
            if count > 0 { woken.insert(lane) }
            left -= count
            guard left > 0 else { return (true, woken) }
        }
        let retried = try jobs.retryAtProduction(most: left)
        if retried > 0 { woken.insert(.apns) }
        left -= retried
        guard left > 0 else { return (true, woken) }
        let released = try devices.release(most: left)
        if released > 0 { woken.formUnion(lanes) }
        return (released == left, woken)
    }

    /// The transaction is committed.
    func committed() {
        leftBehind.subtract(requeued)
        requeued = []
        devices.counts.commit()
    }

    /// The transaction is rolled back.
    func rolledBack() {
        requeued = []
        devices.counts.rollBack()
    }
}
