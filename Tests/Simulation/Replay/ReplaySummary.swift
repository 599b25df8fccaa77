/// The statistics of a run of a delivery world without violations.
package struct ReplaySummary: Equatable, Sendable, CustomStringConvertible {
    /// The run's seed.
    package let seed: UInt64
    /// Steps performed, without the final settling.
    package let steps: Int
    package internal(set) var connections = 0
    /// Notifications committed on durable channels.
    package internal(set) var notifications = 0
    /// Notifications that clients have read, with repetitions and copies.
    package internal(set) var received = 0
    /// Pages of replays that had notifications.
    package internal(set) var pages = 0
    /// Gaps that clients have read.
    package internal(set) var gaps = 0
    /// Receipts stored that confirm something.
    package internal(set) var confirmations = 0
    /// Transactions that a full disk has refused.
    package internal(set) var refused = 0
    package internal(set) var kills = 0
    package internal(set) var stops = 0
    /// A digest of everything that clients have read, in order.
    package var digest: UInt64 { trace.value }

    var trace = RunDigest()

    init(seed: UInt64, steps: Int) { (self.seed, self.steps) = (seed, steps) }

    /// One line for the terminal.
    package var description: String {
        "seed \(seed), delivery: \(connections) connections, \(notifications) notifications, \(received) received, "
            + "\(pages) pages, \(gaps) gaps, \(confirmations) confirmations, \(refused) refused, \(kills) kills, "
            + "\(stops) stops, digest \(String(digest, radix: 16))"
    }
}
