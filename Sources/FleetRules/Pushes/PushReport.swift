/// What a lane tells the store, and how much it can take.
package struct PushReport: Equatable, Sendable {
    package let lane: PushLane
    package var outcomes: [PushOutcome]
    /// Jobs it has room for (0…).
    package var capacity: Int

    package init(lane: PushLane, outcomes: [PushOutcome] = [], room: Int) {
        self.lane = lane
        self.outcomes = outcomes
        self.capacity = room
    }
}
