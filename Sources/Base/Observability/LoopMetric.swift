import Synchronization

/// The metrics that each event loop counts. To add a metric, add a case, the metric's line in ``family``, and the call
/// that counts.
///
/// `/metrics` lists the metrics in this order. Their names are public: dashboards and alerts use them.
package enum LoopMetric: Int, CaseIterable, Sendable {
    case connected
    case connectionsOpened
    case connectionsClosed
    case bytesReceived
    case bytesSent
    case messagesReceived
    case messagesSent
    case httpBytesReceived
    case httpBytesSent
    case outboxBytes
    case outboxBytesMax
    case slowConsumers
    case rejectedPublishes
    case limitedClientEvents
    case acceptPauses
    case replayedNotifications
    case gaps

    /// The metric's name without prefix, its type, and its help text.
    package var family: (name: String, kind: MetricFamily.Kind, help: String) {
        switch self {
        case .connected: ("connected", .gauge, "Open WebSocket connections.")
        case .connectionsOpened: ("new_connections_total", .counter, "WebSocket connections opened.")
        case .connectionsClosed: ("new_disconnections_total", .counter, "WebSocket connections closed.")
        case .bytesReceived: ("socket_received_bytes", .counter, "Bytes received over WebSockets, frame headers included.")
        case .bytesSent: ("socket_transmitted_bytes", .counter, "Bytes sent over WebSockets, frame headers included.")
        case .messagesReceived: ("ws_messages_received_total", .counter, "Messages received over WebSockets.")
        case .messagesSent: ("ws_messages_sent_total", .counter, "Messages sent over WebSockets.")
        case .httpBytesReceived: ("http_received_bytes", .counter, "Bytes of HTTP request bodies.")
        case .httpBytesSent: ("http_transmitted_bytes", .counter, "Bytes of HTTP responses, headers included.")
        case .outboxBytes: ("outbox_bytes", .gauge, "Bytes of memory for what clients have not taken yet.")
        case .outboxBytesMax: ("outbox_bytes_max", .gauge, "The most outbox_bytes: the share of server.outgoing_bytes.")
        case .slowConsumers: ("slow_consumer_total", .counter, "Connections dropped because their client took too little.")
        case .rejectedPublishes: ("publish_refused_total", .counter, "Publishes and client events refused: a queue was full.")
        case .limitedClientEvents: ("client_events_limited_total", .counter, "Client events rejected by the rate limit.")
        case .replayedNotifications:
            ("replayed_total", .counter, "Notifications sent again to owners that have subscribed.")
        case .gaps: ("gaps_total", .counter, "Gaps announced because a replay left out old notifications, or too many.")
        case .acceptPauses: ("accept_paused_total", .counter, "Times accept() was paused at the connection or descriptor limit.")
        }
    }
}

/// The metrics of one loop. Only the loop's thread writes; any thread reads.
package final class LoopMetrics: @unchecked Sendable {  // the values are atomic, the pointer never changes
    private let values: UnsafeMutablePointer<Atomic<Int>>
    /// How long the loop's turns take.
    package let turns = TurnTimes()

    /// All metrics start at 0.
    package init() {
        values = .allocate(capacity: LoopMetric.allCases.count)
        for metric in LoopMetric.allCases { (values + metric.rawValue).initialize(to: Atomic(0)) }
    }

    deinit {
        values.deinitialize(count: LoopMetric.allCases.count)
        values.deallocate()
    }

    /// The current value.
    package subscript(metric: LoopMetric) -> Int { values[metric.rawValue].load(ordering: .relaxed) }

    /// The families of all loops: one per ``LoopMetric``, with a sample per loop, and the loops' turns.
    package static func families(of loops: [LoopMetrics]) -> [MetricFamily] {
        LoopMetric.allCases.map { metric in
            let (name, kind, help) = metric.family
            return MetricFamily(name, kind, help, by: "loop", loops.enumerated().map { (String($0), $1[metric]) })
        } + [
            MetricFamily(
                "turn_seconds", "Time of a loop's turn, from waking up to waiting again, in seconds: so long others wait.",
                loops.enumerated().map { ([("loop", String($0))], $1.turns.histogram) })
        ]
    }

    /// Adds to a counter or gauge, on the loop's thread.
    package func add(_ amount: Int = 1, to metric: LoopMetric) {
        // A load and a store instead of an atomic addition: with a single writer no addition is lost, and counting a
        // message costs no locked instruction.
        values[metric.rawValue].store(self[metric] + amount, ordering: .relaxed)
    }
}
