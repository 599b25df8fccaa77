import Primitives

/// A limit whose rejections are counted in the family `limited_total`, because it has no family of its own. The raw
/// value is the label `limit`: dashboards and alerts use it. It is the limit's configuration key, without its section; limits
/// that cannot be configured have a name of the same kind.
package enum Limit: String, CaseIterable, Sendable {
    case connectionsPerIP = "connections_per_ip"
    case handshakesPerIP = "handshakes_per_ip_per_second"
    case bufferBytes = "buffer_bytes"
    /// The memory for what clients have not taken yet. Connections are dropped, and lists get 503.
    case outgoingBytes = "outgoing_bytes"
    case messagesPerSecond = "messages_per_second"
    /// Subscribe, unsubscribe, sign in.
    case commandsPerSecond = "commands_per_second"
    case authRequestsPerSecond = "auth_requests_per_second"
    case fleetCommandsPerSecond = "fleet_commands_per_second"
    case fleetCommandsWaiting = "fleet_commands_waiting"
    case fleetQueriesPerSecond = "fleet_queries_per_second"
    case fleetQueriesWaiting = "fleet_queries_waiting"
    /// Stored responses of a subject; the oldest are deleted.
    case idempotencyKeys = "idempotency_keys"
    /// Devices of an owner whose place in a channel is remembered; the one used longest ago is forgotten.
    case devices
    /// Confirmations of notifications that wait for the store. The oldest are dropped, which costs repetitions.
    case receipts
    /// Events `delivery-updated` that were not published, because a loop's mailbox was full.
    case deliveryUpdates = "delivery_updates"
    case connections
    /// Open orders and routes on which nobody has acted for so long; they are cancelled.
    case openDays = "open_days"
    /// Pushes for a booking that has more customers, or more devices, than get them.
    case bookingCustomers = "booking_customers"
    /// Jobs of one driver that are followed; the one that began first is followed no more.
    case followedJobs = "followed_jobs"
    /// Jobs with one booking's reference that are shown under it; the one that began first is shown no more.
    case bookingJobs = "booking_jobs"
    /// Queues of requests that are neither publishes nor commands.
    case storeReaderQueue = "store_reader_queue"
    case tokenKeysQueue = "token_keys_queue"
    case channelQueriesQueue = "channel_queries_queue"
    /// Opaque tokens that are asked about at once; 503.
    case introspectedTokens = "introspected_tokens"
    /// Requests that wait for the answer about one opaque token; 503.
    case introspectionWaiters = "introspection_waiters"
    /// Answers about opaque tokens for which there was no room; their tokens are asked about again.
    case introspectionAnswers = "introspection_answers"
    /// The time for the store's response to a request; 503.
    case storeSeconds = "store_seconds"
    /// Publishes that were refused while the other nodes of the cluster could not be reached (`cluster.on_partition`).
    case clusterPartition = "cluster_partition"
    /// The size of a request's head; 431.
    case headBytes = "head_bytes"
    /// The size of a request's body; 413.
    case bodyBytes = "body_bytes"
    /// The size of what a peer sends behind its last response or a close frame; the connection is reset.
    case discardedBytes = "discarded_bytes"
    /// The time for a TLS handshake, a head or a body.
    case requestSeconds = "request_seconds"
}

/// Decides when rejections are logged: soon after the first one, then at most once per ``Timing/limitLogInterval`` and
/// limit, so that a flood of rejections does not become a flood of log lines.
package struct LimitLog {
    private var logged: [String: (count: Int, at: Int)] = [:]

    package init() {}

    /// The limits to log now, with their rejections since their last line. Call it once a second.
    /// - Parameters:
    ///   - counts: each limit's label, and its rejections so far.
    ///   - second: the current second, in the caller's own count.
    package mutating func due(_ counts: [(limit: String, count: Int)], at second: Int) -> [(limit: String, count: Int)] {
        counts.compactMap { limit, total in
            let last = logged[limit]
            let isDue = last.map { second - $0.at >= Timing.wholeSeconds(Timing.limitLogInterval) } ?? true
            guard total > last?.count ?? 0, isDue else { return nil }
            logged[limit] = (total, second)
            return (limit, total - (last?.count ?? 0))
        }
    }
}
