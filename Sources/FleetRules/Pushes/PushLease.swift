/// What the store answers a lane, once it is committed.
package struct PushLease: Equatable, Sendable {
    package let lane: PushLane
    /// To be sent now, at most as many as there was room for: in the lane's hands until it reports what became of them.
    package var jobs: [PushJob] = []
    /// Whether more are due than were handed over.
    package var hasMore = false
    /// When the next of those that wait for their time is due: milliseconds since 1970; nil when none waits.
    package var nextDueAt: Int64?
    /// Jobs that came to an end while the store looked for some to hand over: they had expired, or their device was gone.
    package var dropped = 0
    /// Jobs that are queued or wait for their time, as counted a few seconds ago at most.
    package var depth = 0
    /// When the oldest of them was queued: milliseconds since 1970; nil when there is none.
    package var oldestAt: Int64?
    /// Devices that the outcomes have removed.
    package var removed: [RemovedDevice] = []

    package init(lane: PushLane) { self.lane = lane }
}
