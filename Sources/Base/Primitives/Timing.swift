#if TIMING_DIVISOR
    import Glibc
#endif

/// How long the gateway waits for others, and how often it looks: the constants of time that a test may have to wait for,
/// in milliseconds.
///
/// What an operator may change is a key of the configuration. Lifetimes and windows that a client or an operator counts
/// on, such as those of codes, tokens and retention, are with their rules.
///
/// Debug builds (`-D TIMING_DIVISOR`) divide all of them by the environment's `TIMING_DIVISOR`, so that a test of a
/// deadline need not wait for it. The released program does not know that variable. What a loop counts in ticks of
/// ``deadlineTick``, such as `server.activity_seconds`, is divided with it.
package enum Timing {
    #if TIMING_DIVISOR
        /// At least 1; 1 if the environment does not say.
        package static let divisor = max(1, getenv("TIMING_DIVISOR").flatMap { Int64(String(cString: $0)) } ?? 1)
    #else
        package static var divisor: Int64 { 1 }
    #endif

    private static func milliseconds(_ time: Int64) -> Int64 { max(1, time / divisor) }

    /// One of these times for those who count in whole seconds, at least 1.
    package static func wholeSeconds(_ milliseconds: Int64) -> Int { max(1, Int(milliseconds / 1_000)) }

    // MARK: Clients' connections

    /// The step of the deadlines of connections.
    package static let deadlineTick = milliseconds(1_000)
    /// From the accept to the first byte through TLS.
    package static let handshakeDeadline = milliseconds(10_000)
    /// From the accept, or the first byte of a request's head, to the end of the head.
    package static let headDeadline = milliseconds(10_000)
    /// From the end of a request's head to the end of its body.
    package static let bodyDeadline = milliseconds(30_000)
    /// From a response to the first byte of the next request, and of a response that the socket does not take at once to
    /// its last byte.
    package static let idleDeadline = milliseconds(60_000)
    /// From the moment at which the outbox of a WebSocket exceeds its limit until it is empty.
    package static let outboxDeadline = milliseconds(10_000)
    /// From the gateway's close frame or last response to the client's close.
    package static let closeDeadline = milliseconds(5_000)
    /// A client whose messages have waited for their rate for so long is closed. Otherwise the kernel, which keeps
    /// megabytes of what a client has sent, would keep its connection for minutes, even after the client has gone.
    package static let floodMax = milliseconds(20_000)
    /// After this time a loop that has stopped accepting for lack of descriptors checks for free ones.
    package static let acceptRetry = milliseconds(100)
    /// From one wave of a drain's closes to the next.
    package static let drainTick = milliseconds(50)
    /// Time for clients to respond to their close frames after the last wave.
    package static let drainGrace = milliseconds(1_000)
    /// The shortest time between two counts of a large channel (protocol point N1).
    package static let subscriptionCountInterval = milliseconds(5_000)
    /// The shortest time between two positions that are shown to the followers of one booking.
    package static let bookingPositionInterval = milliseconds(1_000)
    /// The shortest time between two positions of one driver that are shown to dispatchers.
    package static let driverPositionInterval = milliseconds(2_000)

    // MARK: Threads, logs and keys

    /// How often the watchdog looks at the threads.
    package static let watchdogTick = milliseconds(1_000)
    /// An episode of a condition, which is logged once, ends when the condition has not been seen for so long.
    package static let episodeQuiet = milliseconds(10_000)
    /// The shortest time between two lines about rejections by the same limit.
    package static let limitLogInterval = milliseconds(10_000)
    /// The shortest time between two lines about codes that the same limit has refused.
    package static let codeReportInterval = milliseconds(60_000)
    /// The longest time that fetching an issuer's keys may take.
    package static let keyFetchMax = milliseconds(5_000)
    /// The shortest time between two fetches for unknown keys of which the first brought no new key.
    package static let keyFetchInterval = milliseconds(60_000)
    /// The shortest time between a fetch of keys that failed and the next: the issuer may be back at any moment.
    package static let keyFetchPauseAfterFailure = milliseconds(5_000)
    /// From a failed question about a token to the next one, if an older answer still counts.
    package static let introspectionPauseAfterFailure = milliseconds(5_000)

    // MARK: Webhooks and SMS

    /// `channel_vacated` and `member_removed` are sent so much later, and only if they still hold (protocol point V5).
    package static let webhookDebounce = milliseconds(3_000)
    /// How long the first event of a batch waits for others.
    package static let webhookLinger = milliseconds(1_000)
    /// The longest time of one request to an endpoint.
    package static let webhookRequestMax = milliseconds(10_000)
    /// The longest time from a request's first attempt to its last (protocol point V10).
    package static let webhookRetryWindow = milliseconds(300_000)
    /// The time from an endpoint's first failure to the next attempt, before jitter (±25 %). Each further one is twice as
    /// long.
    package static let webhookBackoff = milliseconds(1_000)
    /// The longest time between two attempts, before jitter.
    package static let webhookBackoffMax = milliseconds(60_000)
    /// From the refusal of a part of a batch to the next request. It bounds the requests to an endpoint that refuses
    /// everything: splitting a batch of a hundred events takes two hundred.
    package static let webhookSplitDelay = milliseconds(100)
    /// Each SMS has its outcome within this time.
    package static let smsOutcomeMax = milliseconds(10_000)
    /// An SMS that has been on its way for longer is one of a node that has died: attempts end sooner.
    package static let smsSendingMax = milliseconds(30_000)

    // MARK: Push

    /// The longest time of one request to a provider.
    package static let pushRequestMax = milliseconds(10_000)
    /// How long a lane waits for the responses under way before it closes connections that it no longer uses.
    package static let pushDrain = milliseconds(1_000)
    /// From a report that the store did not write to its repetition.
    package static let pushReportRetry = milliseconds(1_000)
    /// The longest time between two reports of a lane.
    package static let pushReportInterval = milliseconds(500)
    /// The back-off after a job's, a device's or a lane's first failure. Each further one is twice as long.
    package static let pushBackoff = milliseconds(1_000)
    /// The longest back-off of a job or a device, before jitter, unless the provider asks for more.
    package static let pushBackoffMax = milliseconds(60_000)
    /// The most that jitter adds to a job's back-off.
    package static let pushJitterMax = milliseconds(30_000)
    /// The time between two probes of a lane that has stopped.
    package static let pushProbeInterval = milliseconds(30_000)
    /// The longest `retry-after` honoured, by jobs, devices and the lane; a longer one counts as this.
    package static let pushRetryAfterMax = milliseconds(600_000)
    /// The longest sleep of the push thread. It is limited because the sleep is calculated from the wall clock, which may
    /// be set meanwhile.
    package static let pushSleepMax = milliseconds(5_000)
    /// Time for the store to confirm the last report, after the deadline of a stop.
    package static let pushConfirmation = milliseconds(1_000)
    /// From a rejection to the probe that confirms it, if most of the other answers are no such rejections.
    package static let rejectionConfirmation = milliseconds(500)
    /// The shortest time between two equal alarms of a lane.
    package static let laneEventInterval = milliseconds(60_000)
    /// The delay after an exceeded quota of FCM if the response has no `retry-after`.
    package static let fcmQuotaPause = milliseconds(60_000)
    /// The shortest time between two forced renewals of FCM's token. A renewal is forced when FCM refuses a token that has
    /// not expired. If FCM refuses the new token too, another one does not help.
    package static let fcmTokenForcedInterval = milliseconds(60_000)
    /// From a refused fetch of FCM's token to the next.
    package static let fcmTokenRefusedInterval = milliseconds(30_000)
    /// After this time a push is considered again that has expired by the wall clock only.
    package static let pushWaitWhileDoubtful = milliseconds(60_000)
    /// After the clock was set back, a push waits for at most this time.
    package static let pushWaitAfterSetBack = milliseconds(5_000)

    // MARK: The store

    /// The longest time that the writer waits for a request. After it, the writer checks whether retention or a background
    /// task is due.
    package static let writerWaitMax = milliseconds(1_000)
    /// The same while the last commits are not recorded as published: soon after a burst of commands they are.
    package static let writerUnpublishedWaitMax = milliseconds(100)
    /// After an error, the writer tries once per this time whether the store can be written again.
    package static let writerProbeInterval = milliseconds(1_000)
    /// How often the writer looks for notifications that nobody has confirmed.
    package static let deliveryCheckInterval = milliseconds(1_000)
    /// How often the writer looks for orders and routes that are idle.
    package static let idleJobsInterval = milliseconds(1_000)
    /// How often the writer looks for commands that are due.
    package static let dueCommandsInterval = milliseconds(1_000)
    /// From the end of a round through all orders and routes, or drivers who are online, to the next.
    package static let roundInterval = milliseconds(600_000)
    /// From the failure of a background task to its next attempt.
    package static let taskPauseAfterFailure = milliseconds(5_000)
    /// From a round of retention that deleted nothing to the next.
    package static let retentionPause = milliseconds(60_000)
    /// From one measurement of how late retention is to the next.
    package static let retentionMeasureInterval = milliseconds(10_000)
    /// From a slice of retention that failed to the next.
    package static let retentionPauseAfterFailure = milliseconds(5_000)
    /// A crash loses the positions of at most so much time.
    package static let positionSaveInterval = milliseconds(15_000)
    /// From one checkpoint that truncates the log to the next: jobs end all the time, and truncating the log for each would be
    /// too much work.
    package static let truncatingCheckpointInterval = milliseconds(600_000)
    /// The shortest time from the end of a reader's count to the next, so that a metric is at most a second old.
    package static let countInterval = milliseconds(500)
    /// The shortest time between two counts of the notifications whose lifetime has ended.
    package static let expiryCountInterval = milliseconds(1_000)
    /// From one save of the clock to the next while nothing changes. After a restart of the machine, the time since the
    /// last save counts as part of the outage, so this is short.
    package static let clockSaveInterval = milliseconds(60_000)
    /// From one look for a confirmation to the next, while the wall clock is not trusted.
    package static let clockConfirmationInterval = milliseconds(1_000)
    /// The first and the longest pause between two attempts to connect to PostgreSQL.
    package static let (postgresPause, postgresPauseMax) = (milliseconds(250), milliseconds(10_000))
    /// The longest time until a PostgreSQL server accepts a connection.
    package static let postgresConnectMax = milliseconds(2_000)
    /// The longest time of a response of PostgreSQL.
    package static let postgresResponseMax = milliseconds(2_000)

    // MARK: The cluster

    /// How long a node that does not commit stays the leader.
    package static let leaderLease = milliseconds(6_000)
    /// By how much sooner the leader stops than others take over: the database's clock is read before the wait for the
    /// lock.
    package static let leaderLeaseMargin = milliseconds(1_000)
    /// How often a node that has nothing to write looks at the log.
    package static let clusterLogLook = milliseconds(2_000)
    /// A node that was seen this much before the last one had ended before.
    package static let publicationNodeMax = milliseconds(10_000)
    /// The longest time that connecting to one address of a bus server takes.
    package static let busConnectMax = milliseconds(2_000)
    /// A bus server that takes no byte for so long is given up.
    package static let busStallMax = milliseconds(500)
    /// A connection to the bus that has lived for so long works: it is connected again at once, and its loss is news.
    package static let busSettled = milliseconds(2_000)
    /// How often a node asks the bus whether it answers.
    package static let busFlushInterval = milliseconds(1_000)
    /// After an outage of the bus, the other nodes may need so long to connect again: their attempts are at most ten
    /// seconds apart.
    package static let busReconnectMax = milliseconds(11_000)
    /// How long a subscription may wait for the bus's acknowledgement and for other nodes' members.
    package static let interestPatience = milliseconds(1_000)
    /// How long the subject of a channel without subscribers stays subscribed, so that clients who come and go cost
    /// nothing.
    package static let interestLinger = milliseconds(5_000)
    /// How long heartbeats name the version of a presence channel that has changed.
    package static let memberVersionAnnounced = milliseconds(10_000)
    /// How long the version of a presence channel without members is kept.
    package static let memberVersionKept = milliseconds(60_000)
    /// How often the counts of large channels are told to their keepers.
    package static let keeperCountInterval = milliseconds(5_000)
    /// How often a keeper looks for old facts: that takes a while. With many channels it is done less often.
    package static let keeperSweepInterval = milliseconds(2_000)
    /// The end of a subscription or a membership is told so much later, if it still holds (protocol point V5). The keeper
    /// waits, not its queue of webhooks: another node may keep the channel by then.
    package static let keeperAbsence = milliseconds(3_000)
    /// Edges are not told so soon after the set of nodes has changed: a node that comes hears of the others one after the
    /// other.
    package static let keeperSettling = milliseconds(500)
    /// A message is discarded if its next part has not come after this time.
    package static let messagePartPatience = milliseconds(10_000)
    /// How long another node's answer may take.
    package static let questionPatience = milliseconds(1_000)
    /// How long a commit waits for its predecessor.
    package static let commitOrderPatience = milliseconds(200)
}
