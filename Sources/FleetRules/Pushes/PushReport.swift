/// A lane's results, and its request for further jobs.
package struct PushReport: Equatable, Sendable {
    package let lane: PushLane
    package var outcomes: [PushOutcome]
    /// The number of further jobs that the lane can send now; at least 0.
    package var capacity: Int

    package init(lane: PushLane, outcomes: [PushOutcome] = [], capacity: Int) {
        self.lane = lane
        self.outcomes = outcomes
        self.capacity = capacity
    }
}
