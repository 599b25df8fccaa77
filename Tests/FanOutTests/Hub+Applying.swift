import FanOut
import HubFixture

extension Hub {
    /// The listed channels, read with one slice after the other.
    func listed(app: AppIndex, _ prefix: String) -> [(name: String, occupancy: Occupancy)] {
        Hub.occupiedChannels(app: app, prefix: prefix) { $0(self) }
    }

    /// Applies `inputs` in order and returns all their effects.
    mutating func apply(_ inputs: Input...) -> [Received] {
        var effects: [Effect] = []
        for input in inputs { apply(input, &effects) }
        return effects.map(Received.init)
    }
}
