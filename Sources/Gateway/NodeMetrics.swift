import FanOut
import Observability
import PusherProtocol
import Server
import Synchronization
import Threads

/// What the node shows of itself: counters of every loop, closes by code, readiness. Written by many, read by anybody.
final class NodeMetrics: Sendable {
    let counters: [LoopCounters]
    let prefix: String
    private let closes = Lock<[CloseCode: Int]>([:])
    private let ready = Atomic<Bool>(false)
    private let drainedLoops = Atomic<Int>(0)

    init(loopCount: Int, prefix: String) {
        counters = (0..<loopCount).map { _ in LoopCounters() }
        self.prefix = prefix
    }

    /// Whether clients are welcome.
    var isReady: Bool { ready.load(ordering: .relaxed) }

    func setReady(_ isReady: Bool) { ready.store(isReady, ordering: .relaxed) }

    /// How many loops have drained, the caller's included.
    func recordDrained() -> Int { drainedLoops.wrappingAdd(1, ordering: .relaxed).newValue }

    func countCloses(_ code: CloseCode, _ count: Int) { closes.withLock { $0[code, default: 0] += count } }

    /// All families of `/metrics`.
    func families(hub: SharedHub) -> [MetricFamily] {
        let (channels, subscriptions, evictions) = hub.read { ($0.channelCount, $0.subscriptionCount, $0.cacheEvictions) }
        return traffic() + overload(hub) + [
            MetricFamily("\(prefix)_channels", .gauge, help: "Occupied channels.", value: channels),
            MetricFamily("\(prefix)_subscriptions", .gauge, help: "Subscriptions of all connections.", value: subscriptions),
            MetricFamily(
                "\(prefix)_cache_evicted_total", .counter, help: "Cached events that went early, for want of room.",
                value: evictions),
            MetricFamily(
                "\(prefix)_close_total", .counter, help: "Connections closed by the server, by close code.",
                samples: closes.withLock { $0 }.sorted { $0.key.rawValue < $1.key.rawValue }
                    .map { ([("code", String($0.key.rawValue))], String($0.value)) }),
        ]
    }

    private func traffic() -> [MetricFamily] {
        [
            perLoop("connected", .gauge, "WebSocket connections open now.") { $0.connections.value },
            perLoop("new_connections_total", .counter, "WebSocket connections opened.") { $0.opened.value },
            perLoop("new_disconnections_total", .counter, "WebSocket connections ended.") { $0.closed.value },
            perLoop("socket_received_bytes", .counter, "Payload bytes received over WebSockets.") { $0.bytesReceived.value },
            perLoop("socket_transmitted_bytes", .counter, "Frame bytes sent over WebSockets.") { $0.bytesSent.value },
            perLoop("ws_messages_received_total", .counter, "Messages received over WebSockets.") { $0.messagesReceived.value },
            perLoop("ws_messages_sent_total", .counter, "Messages sent over WebSockets.") { $0.messagesSent.value },
            perLoop("http_calls_received_total", .counter, "HTTP requests answered.") { $0.requests.value },
            perLoop("http_received_bytes", .counter, "Bytes of request bodies.") { $0.requestBytes.value },
            perLoop("http_transmitted_bytes", .counter, "Bytes of answers.") { $0.responseBytes.value },
        ]
    }

    private func overload(_ hub: SharedHub) -> [MetricFamily] {
        [
            perLoop("outbox_bytes", .gauge, "Bytes waiting for slow consumers.") { $0.outboxBytes.value },
            perLoop("slow_consumer_total", .counter, "Connections dropped because their outbox was full.") {
                $0.slowConsumers.value
            },
            perLoop("publish_refused_total", .counter, "Publishes and commands refused because a queue was full.") {
                $0.refusedPublishes.value
            },
            perLoop("client_events_limited_total", .counter, "Client events dropped by their rate limit.") {
                $0.limitedClientEvents.value
            },
            perLoop("accept_paused_total", .counter, "Times accepting stopped for want of descriptors.") {
                $0.acceptPauses.value
            },
            MetricFamily(
                "\(prefix)_mailbox_depth", .gauge, help: "Messages waiting for a thread.",
                samples: hub.mailboxes.enumerated().map { ([("thread", "loop-\($0)")], String($1.depth)) }),
        ]
    }

    private func perLoop(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: (LoopCounters) -> Int
    ) -> MetricFamily {
        MetricFamily(
            "\(prefix)_\(name)", kind, help: help,
            samples: counters.enumerated().map { ([("loop", String($0))], String(value($1))) })
    }
}

extension LoopCounters {
    /// Takes over what a loop has counted.
    func add(_ tally: TrafficCounts) {
        if tally.messagesReceived > 0 { messagesReceived.add(tally.messagesReceived) }
        if tally.messagesSent > 0 { messagesSent.add(tally.messagesSent) }
        if tally.bytesReceived > 0 { bytesReceived.add(tally.bytesReceived) }
        if tally.bytesSent > 0 { bytesSent.add(tally.bytesSent) }
        if tally.requests > 0 { requests.add(tally.requests) }
        if tally.requestBytes > 0 { requestBytes.add(tally.requestBytes) }
        if tally.responseBytes > 0 { responseBytes.add(tally.responseBytes) }
        if tally.outboxBytes != 0 { outboxBytes.add(tally.outboxBytes) }
        if tally.slowConsumers > 0 { slowConsumers.add(tally.slowConsumers) }
        if tally.acceptPauses > 0 { acceptPauses.add(tally.acceptPauses) }
    }
}
