extension Schema {
    /// Batches of orders, and drivers' switches. `delivered`, `failed` and `order_count` repeat what the orders say, for
    /// lists of batches and sums over many.
    static let batches = [
        """
        CREATE TABLE batches (
            id TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, version BIGINT NOT NULL, batch_number TEXT,
            meal_window TEXT, window_ends_at BIGINT, estimated_earnings TEXT, kitchen TEXT, zone_id TEXT, zone_name TEXT,
            zone_city TEXT, account_id TEXT, driver_id TEXT, driver_name TEXT, created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL, assigned_at BIGINT, dispatched_at BIGINT, picked_up_at BIGINT,
            completed_at BIGINT, closed_at BIGINT, delivered BIGINT NOT NULL, failed BIGINT NOT NULL,
            order_count BIGINT NOT NULL)
        """,
        "CREATE INDEX batches_collecting ON batches (window_ends_at) WHERE status = 'COLLECTING'",
        "CREATE INDEX batches_waiting ON batches (window_ends_at, id) WHERE status = 'READY_FOR_DISPATCH'",
        "CREATE INDEX batches_active ON batches (account_id) WHERE status IN ('DISPATCHED', 'IN_PROGRESS')",
        """
        CREATE INDEX batches_completed ON batches (account_id, completed_at) \
        WHERE status IN ('COMPLETED', 'PARTIAL_COMPLETE')
        """,
        "CREATE INDEX batches_by_driver ON batches (driver_id) WHERE driver_id IS NOT NULL",
        """
        CREATE INDEX batches_ended ON batches (updated_at) \
        WHERE status IN ('COMPLETED', 'PARTIAL_COMPLETE', 'CANCELLED')
        """,
        // An order may be in several batches, but all except one of these have ended.
        """
        CREATE TABLE batch_orders (
            batch_id TEXT NOT NULL, id TEXT NOT NULL, order_number TEXT NOT NULL, sequence BIGINT NOT NULL,
            customer_id TEXT, name TEXT, phone TEXT, flat_number TEXT, street TEXT, landmark TEXT, area TEXT, city TEXT,
            state TEXT, pincode TEXT, latitude TEXT, longitude TEXT, items TEXT NOT NULL, otp_digest BLOB,
            otp_key TEXT, assignment_id TEXT, assignment TEXT, assigned_at BIGINT, picked_up_at BIGINT,
            en_route_at BIGINT, arrived_at BIGINT, delivered_at BIGINT, failed_at BIGINT, reported_by TEXT,
            proof_kind TEXT, proof TEXT, proof_checked BIGINT, proof_at BIGINT, failure_reason TEXT, notes TEXT,
            cancelled_at BIGINT, cancelled_by TEXT, cancel_reason TEXT, cancelled_after_pickup BIGINT,
            report_response TEXT, PRIMARY KEY (batch_id, id))
        """,
        // The times of wrong codes for an order, in whichever batch it is: another batch must not bring new attempts.
        "CREATE TABLE wrong_codes (order_id TEXT NOT NULL PRIMARY KEY, times TEXT NOT NULL, updated_at BIGINT NOT NULL)",
        "CREATE INDEX wrong_codes_by_age ON wrong_codes (updated_at)",
        "CREATE INDEX batch_orders_by_id ON batch_orders (id)",
        "CREATE INDEX batch_orders_by_customer ON batch_orders (customer_id) WHERE customer_id IS NOT NULL",
        "CREATE INDEX batch_orders_by_reporter ON batch_orders (reported_by) WHERE reported_by IS NOT NULL",
        """
        CREATE TABLE driver_availability (
            account_id TEXT NOT NULL PRIMARY KEY, online BIGINT NOT NULL, since BIGINT NOT NULL, seen_at BIGINT NOT NULL)
        """,
        "CREATE INDEX driver_availability_online ON driver_availability (account_id) WHERE online = 1",
        "ALTER TABLE audit ADD COLUMN batch_id TEXT",
        "CREATE INDEX audit_by_batch ON audit (batch_id, id) WHERE batch_id IS NOT NULL",
        // Which drivers a broadcast is for: NULL for all, 'online' for those who are approved and online.
        "ALTER TABLE push_audiences ADD COLUMN audience TEXT",
    ]
}
