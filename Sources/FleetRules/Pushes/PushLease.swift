/// The store's reply to a lane's report, after the commit.
package struct PushLease: Equatable, Sendable {
    package let lane: PushLane
    /// To be sent now, at most the report's capacity. Leased to the lane until it reports their results.
    package var jobs: [PushJob] = []
    /// Whether more jobs are due than were leased.
    package var hasMore = false
    /// When the next delayed job is due: milliseconds since 1970; nil if none is delayed.
    package var nextDueAt: Int64?
    /// Jobs that the store ended while it looked for due ones: they had expired, or their device was removed.
    package var dropped = 0
    /// Queued and delayed jobs, counted at most a few seconds ago.
    package var depth = 0
    /// When the oldest of them was queued: milliseconds since 1970; nil if there is none.
    package var oldestAt: Int64?
    /// Devices that the store removed because of the reported results.
    package var removed: [RemovedDevice] = []

    package init(lane: PushLane) { self.lane = lane }
}
