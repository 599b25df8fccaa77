import FleetRules

/// Counts what happens to notifications in the transaction that runs. The writer publishes the counts after the commit;
/// a transaction that is rolled back counts nothing. Used only on the writer's thread.
final class DeliveryCounter {
    var counts = DeliveryCounts()

    /// Returns the counts and starts again at zero. Call it after each commit.
    func drain() -> DeliveryCounts {
        defer { counts = DeliveryCounts() }
        return counts
    }
}
