/// The store's reply to a lane's ``PushReport``: the lane's next jobs. The store sends it once the report's results are
/// committed.
package struct PushLease: Equatable, Sendable {
    package let lane: PushLane
    /// ``PushReport/worker``.
    package let worker: Int
    /// The jobs to send now, at most ``PushReport/capacity``. They are leased to the lane until it reports their
    /// results.
    package var jobs: [PushJob] = []
    /// Whether more jobs are due than were leased.
    package var hasMore = false
    /// When the next delayed job is due: milliseconds since 1970; nil if none is delayed.
    package var nextDueAt: Int64?
    /// The number of jobs that the store ended instead of leasing them: they had expired, or their device was removed.
    package var dropped = 0
    /// Devices that the store removed because of the reported results.
    package var removed: [RemovedDevice] = []
    /// The APNs environments that became known because of the reported results: one element for each device.
    package var foundEnvironments: [DeviceToken.Environment] = []

    package init(lane: PushLane, worker: Int = 0) {
        self.lane = lane
        self.worker = worker
    }
}
