/// Counts what happens to notifications in the transaction that runs, and collects what dispatchers are to learn of it.
/// The writer publishes both after the commit; a transaction that is rolled back counts nothing. Used only on the
/// writer's thread.
final class NotificationCounter {
    var counts = NotificationCounts()
    private var updates: [NotificationUpdate] = []

    /// Adds an update; nil if the notification does not concern dispatchers.
    func add(_ update: NotificationUpdate?) {
        if let update { updates.append(update) }
    }

    /// Returns the updates and removes them. Call it after each commit.
    func drainUpdates() -> [NotificationUpdate] {
        defer { updates = [] }
        return updates
    }

    /// Returns the counts and starts again at zero. Call it after each commit.
    func drain() -> NotificationCounts {
        defer { counts = NotificationCounts() }
        return counts
    }
}
