import Primitives

/// A lane's limits. Times are milliseconds.
package struct LaneRules: Equatable, Sendable {
    /// Maximum number of requests in flight: at least 1.
    package var windowMax: Int
    /// Failed requests in a row after which the lane pauses.
    package var failuresMax = 10
    /// Timed-out requests in a row after which the connections are closed.
    package var timeOutsMax = 2
    /// `TooManyProviderTokenUpdates` in a row after which the connections are closed.
    package var tooManyTokensMax = 3
    /// Responses with `retry-after` in a row after which the whole lane pauses, for as long as the last one asks.
    package var retryAftersMax = 3
    /// Responses in a row that are not the provider's after which the lane stops. One may be an accident: of a proxy that
    /// restarts, for instance.
    package var foreignResponsesMax = 2
    /// Time between two probes of a stopped lane.
    package var probeInterval = Timing.pushProbeInterval
    /// How often the pause doubles if the lane pauses several times in a row: with 3, the pauses last 1, 2, 4, 8, 8 …
    /// s. A random part of up to half the pause is added to each.
    package var pauseDoublings = 3
    /// Longest `retry-after` honoured, by jobs, devices and the lane; a longer one counts as this. Without this limit, a
    /// few responses of the provider, or of a proxy, could silence the lane for longer than its pushes live.
    package var retryAfterMax = Timing.pushRetryAfterMax
    /// Time-out of a request. The pool uses the same time-out. So the duration of an unsent request shows the lane
    /// whether the request was queued until its time-out, or its connection failed before.
    package var requestTime = Timing.pushRequestMax
    /// How long the lane waits for the responses under way before it closes connections that it no longer uses.
    package var drainTime = Timing.pushDrain
    /// Delay before the lane repeats a report that the store did not write.
    package var reportRetryDelay = Timing.pushReportRetry
    /// Maximum time between two reports. A report without results is useful, too: the store removes expired jobs from
    /// its queue when it handles a report, even while the lane is stopped.
    package var reportInterval = Timing.pushReportInterval
    /// Longest back-off of a throttled device (1, 2, 4 … s), unless the provider's retry-after is longer.
    package var deviceWaitMax = Timing.pushBackoffMax

    /// - Parameter windowMax: the provider's limit of requests in flight over all connections.
    package init(windowMax: Int) { self.windowMax = windowMax }
}
