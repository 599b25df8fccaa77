extension Schema {
    /// Version 22: what is found in slices although it may be much.
    static let openJobs = [
        // Open orders and routes by their last change: those that nobody ends are ended, and a start reads pages.
        "CREATE INDEX orders_idle ON orders (updated_at, code) WHERE status NOT IN ('completed', 'cancelled')",
        "CREATE INDEX routes_idle ON routes (updated_at, id) WHERE status NOT IN ('completed', 'cancelled')",
        // The account of an erased driver, whose reports about orders of batches are cleared in slices.
        "ALTER TABLE erasures ADD COLUMN account_id TEXT",
    ]
}
