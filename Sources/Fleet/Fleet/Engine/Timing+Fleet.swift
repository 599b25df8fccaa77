import Primitives

/// The constants of time of the fleet and its store.
extension Timing {
    // MARK: Positions, codes and pushes

    /// The shortest time between two positions that are shown to the followers of one booking.
    static let bookingPositionInterval = milliseconds(1_000)
    /// The shortest time between two positions of one driver that are shown to dispatchers.
    static let driverPositionInterval = milliseconds(2_000)
    /// A crash loses the positions of at most so much time.
    static let positionSaveInterval = milliseconds(15_000)
    /// The shortest time between two lines about codes that the same limit has refused.
    package static let codeReportInterval = milliseconds(60_000)
    /// An SMS that has been on its way for longer is one of a node that has died: attempts end sooner.
    static let smsSendingMax = milliseconds(30_000)
    /// After this time a push is considered again that has expired by the wall clock only.
    static let pushWaitWhileDoubtful = milliseconds(60_000)
    /// After the clock was set back, a push waits for at most this time.
    static let pushWaitAfterSetBack = milliseconds(5_000)

    // MARK: The store

    /// The longest time that the writer waits for a request. After it, the writer checks whether retention or a background
    /// task is due.
    static let writerWaitMax = milliseconds(1_000)
    /// The same while the last commits are not recorded as published: soon after a burst of commands they are.
    static let writerUnpublishedWaitMax = milliseconds(100)
    /// After an error, the writer tries once per this time whether the store can be written again.
    static let writerProbeInterval = milliseconds(1_000)
    /// How often the writer looks for notifications that nobody has confirmed.
    static let deliveryCheckInterval = milliseconds(1_000)
    /// How often the writer looks for orders and routes that are idle.
    static let idleJobsInterval = milliseconds(1_000)
    /// How often the writer looks for commands that are due.
    static let dueCommandsInterval = milliseconds(1_000)
    /// From the end of a round through all orders and routes, or drivers who are online, to the next.
    static let roundInterval = milliseconds(600_000)
    /// From the failure of a background task to its next attempt.
    static let taskPauseAfterFailure = milliseconds(5_000)
    /// From a round of retention that deleted nothing to the next.
    static let retentionPause = milliseconds(60_000)
    /// From one measurement of how late retention is to the next.
    static let retentionMeasureInterval = milliseconds(10_000)
    /// From a slice of retention that failed to the next.
    static let retentionPauseAfterFailure = milliseconds(5_000)
    /// From one checkpoint that truncates the log to the next: jobs end all the time, and truncating the log for each would be
    /// too much work.
    static let truncatingCheckpointInterval = milliseconds(600_000)
    /// The shortest time from the end of a reader's count to the next, so that a metric is at most a second old.
    static let countInterval = milliseconds(500)
    /// The shortest time between two counts of the notifications whose lifetime has ended.
    static let expiryCountInterval = milliseconds(1_000)
    /// From one save of the clock to the next while nothing changes. After a restart of the machine, the time since the
    /// last save counts as part of the outage, so this is short.
    static let clockSaveInterval = milliseconds(60_000)
    /// From one look for a confirmation to the next, while the wall clock is not trusted.
    static let clockConfirmationInterval = milliseconds(1_000)
    /// The first and the longest pause between two attempts to connect to PostgreSQL.
    static let (postgresPause, postgresPauseMax) = (milliseconds(250), milliseconds(10_000))
    /// The longest time until a PostgreSQL server accepts a connection.
    static let postgresConnectMax = milliseconds(2_000)
    /// The longest time of a response of PostgreSQL.
    static let postgresResponseMax = milliseconds(2_000)

    // MARK: The cluster

    /// How long a node that does not commit stays the leader.
    static let leaderLease = milliseconds(6_000)
    /// By how much sooner the leader stops than others take over: the database's clock is read before the wait for the
    /// lock.
    static let leaderLeaseMargin = milliseconds(1_000)
    /// How often a node that has nothing to write looks at the log.
    static let clusterLogLook = milliseconds(2_000)
    /// A node that was seen this much before the last one had ended before.
    static let publicationNodeMax = milliseconds(10_000)
    /// How long a commit waits for its predecessor.
    static let commitOrderPatience = milliseconds(200)
}
