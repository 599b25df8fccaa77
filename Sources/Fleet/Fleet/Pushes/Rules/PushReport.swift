/// A lane's results, and its request for further jobs.
package struct PushReport: Equatable, Sendable {
    package let lane: PushLane
    package var outcomes: [PushOutcome]
    /// The number of further jobs that the lane can send now; at least 0.
    package var capacity: Int
    /// Whether the lane has no jobs: the store has replied to none of its reports. Jobs that are leased to the lane
    /// anyway are those of an earlier worker, whose last results the store could not write; they are queued again.
    package var isFirst: Bool
    /// The number of the worker that reports. The reply is for this worker, not for one that has taken its place.
    package var worker = 0

    package init(lane: PushLane, outcomes: [PushOutcome] = [], capacity: Int, isFirst: Bool = false) {
        self.lane = lane
        self.outcomes = outcomes
        self.capacity = capacity
        self.isFirst = isFirst
    }
}
