import Primitives

/// The constants of time of pushes.
extension Timing {
    /// The longest time of one request to a provider.
    static let pushRequestMax = milliseconds(10_000)
    /// How long a lane waits for the responses under way before it closes connections that it no longer uses.
    static let pushDrain = milliseconds(1_000)
    /// From a report that the store did not write to its repetition.
    static let pushReportRetry = milliseconds(1_000)
    /// The longest time between two reports of a lane.
    static let pushReportInterval = milliseconds(500)
    /// The back-off after a job's, a device's or a lane's first failure. Each further one is twice as long.
    static let pushBackoff = milliseconds(1_000)
    /// The longest back-off of a job or a device, before jitter, unless the provider asks for more.
    static let pushBackoffMax = milliseconds(60_000)
    /// The most that jitter adds to a job's back-off.
    static let pushJitterMax = milliseconds(30_000)
    /// The time between two probes of a lane that has stopped.
    static let pushProbeInterval = milliseconds(30_000)
    /// The longest `retry-after` honoured, by jobs, devices and the lane; a longer one counts as this.
    static let pushRetryAfterMax = milliseconds(600_000)
    /// The longest sleep of the push thread. It is limited because the sleep is calculated from the wall clock, which may
    /// be set meanwhile.
    static let pushSleepMax = milliseconds(5_000)
    /// Time for the store to confirm the last report, after the deadline of a stop.
    static let pushConfirmation = milliseconds(1_000)
    /// From a rejection to the probe that confirms it, if most of the other answers are no such rejections.
    static let rejectionConfirmation = milliseconds(500)
    /// The shortest time between two equal alarms of a lane.
    static let laneEventInterval = milliseconds(60_000)
    /// The delay after an exceeded quota of FCM if the response has no `retry-after`.
    static let fcmQuotaPause = milliseconds(60_000)
    /// The shortest time between two forced renewals of FCM's token. A renewal is forced when FCM refuses a token that has
    /// not expired. If FCM refuses the new token too, another one does not help.
    static let fcmTokenForcedInterval = milliseconds(60_000)
    /// From a refused fetch of FCM's token to the next.
    static let fcmTokenRefusedInterval = milliseconds(30_000)
}
