import Observability
import Testing

@testable import FleetGateway
@testable import Realtime

@Suite struct LimitTests {
    /// Labels are public. They are keys of the configuration, or named like them.
    @Test func labels() {
        #expect(
            Limit.ofServer.map(\.name) == [
                "connections_per_ip", "handshakes_per_ip_per_second", "buffer_bytes", "outgoing_bytes", "messages_per_second",
                "commands_per_second", "connections", "channel_queries_queue", "cluster_partition", "head_bytes", "body_bytes",
                "discarded_bytes", "request_seconds",
            ])
        #expect(
            Limit.ofFleet.map(\.name) == [
                "auth_requests_per_second", "fleet_commands_per_second", "fleet_commands_waiting",
                "fleet_queries_per_second", "fleet_queries_waiting", "idempotency_keys", "devices", "receipts",
                "delivery_updates", "open_days", "booking_customers", "followed_jobs", "booking_jobs", "store_reader_queue",
                "token_keys_queue", "introspected_tokens", "introspection_waiters", "introspection_answers",
                "store_seconds",
            ])
    }
}
