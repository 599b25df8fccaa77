/// What a run of `fleetwire bench` does to a gateway.
package struct BenchPlan: Equatable, Sendable {
    package enum Scenario: String, CaseIterable, Sendable {
        /// Many subscribers of few channels, and a backend that publishes.
        case fanout
        /// Drivers on their own channels who confirm and accept, and a dispatcher who assigns.
        case fleet
    }

    /// The largest number of events: each needs some bytes of memory.
    package static let eventsMax = 10_000_000

    package var scenario = Scenario.fanout
    /// The WebSocket connections, each with one subscription.
    package var connections = 100
    /// The channels of the scenario `fanout`; `fleet` has one per connection.
    package var channels = 1
    /// Events per second, of all channels together.
    package var rate = 10.0
    /// Bytes of an event's data; `fleet` ignores it.
    package var eventBytes = 200
    /// How long events are published.
    package var seconds = 10
    /// New WebSocket connections per second.
    package var connectRate = 500.0
    /// Connections that send HTTP requests, one at a time each.
    package var requestConnections = 64
    /// How long to wait for deliveries and responses after the last event was due.
    package var drainSeconds = 5
    /// The largest 99th percentile of the delivery latency with which the run passes; nil: any.
    package var p99MillisecondsMax: Int?

    package init() {}

    /// The number of events.
    package var eventCount: Int { max(1, Int((rate * Double(seconds)).rounded())) }

    /// The channels that have subscribers.
    package var channelCount: Int { scenario == .fleet ? connections : min(channels, connections) }

    /// The descriptors that the run needs, with some for the process itself.
    package var descriptors: Int { connections + requestConnections + 32 }
}
