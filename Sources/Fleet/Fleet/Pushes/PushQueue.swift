/// The unsent jobs of a push lane.
package struct PushQueue: Equatable, Sendable {
    /// The number of queued and waiting jobs.
    package let depth: Int
    /// When the oldest of them was queued, in milliseconds since 1970; nil if there is none.
    package let oldestAt: Int64?

    package init(depth: Int, oldestAt: Int64?) {
        self.depth = depth
        self.oldestAt = oldestAt
    }
}
