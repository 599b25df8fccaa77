/// Notifications that are published: written to the connections of all their subscribers, or to their outboxes.
package struct Published: Equatable, Sendable {
    /// The id of a notification that is published together with all that were committed before it. Nil: none was
    /// published since the last time.
    package var position: String?
    /// The ids of notifications that waited for a subscriber since the start (``CommandExecutor/recover(now:)``) and are
    /// published. Some may have expired instead.
    package var recovered: [String] = []

    package init() {}

    /// Whether nothing was published.
    package var isEmpty: Bool { position == nil && recovered.isEmpty }

    /// Adds what was published later.
    package mutating func append(_ later: Published) {
        position = later.position ?? position
        recovered += later.recovered
    }
}
