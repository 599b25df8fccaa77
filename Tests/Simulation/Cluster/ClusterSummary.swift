/// The statistics of a run of the cluster without violations.
package struct ClusterSummary: Equatable, Sendable, CustomStringConvertible {
    /// The run's seed.
    package let seed: UInt64
    /// Successful subscriptions.
    package internal(set) var successes = 0
    /// Events published, by backends and clients.
    package internal(set) var events = 0
    /// Events received.
    package internal(set) var delivered = 0
    /// Edges that webhooks were told.
    package internal(set) var edges = 0
    /// Messages of the bus, and those of them that were dropped.
    package internal(set) var messages = 0
    package internal(set) var dropped = 0
    /// Nodes that were cut off, killed and frozen.
    package internal(set) var cuts = 0
    package internal(set) var deaths = 0
    package internal(set) var freezes = 0
    /// A digest of all messages and frames in order.
    package var digest: UInt64 { trace.value }

    var trace = RunDigest()

    /// One line for the terminal.
    package var description: String {
        "seed \(seed), cluster: \(successes) subscriptions, \(events) events, \(delivered) received, \(edges) edges, "
            + "\(messages) messages, \(dropped) dropped, \(cuts) cuts, \(deaths) deaths, \(freezes) freezes, "
            + "digest \(String(digest, radix: 16))"
    }
}
