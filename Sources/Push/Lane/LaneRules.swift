/// A lane's limits. Times are milliseconds.
package struct LaneRules: Equatable, Sendable {
    /// Requests in flight at most (1…).
    package var windowMax: Int
    /// Failed requests in a row after which the lane pauses.
    package var failuresMax = 10
    /// Timed out requests in a row after which the connections are closed.
    package var timeOutsMax = 2
    /// `TooManyProviderTokenUpdates` in a row after which the connections are closed.
    package var tooManyTokensMax = 3
    /// Responses with `retry-after` in a row after which the whole lane pauses for that long.
    package var retryAftersMax = 3
    /// Time between two probes of a stopped lane.
    package var probeInterval: Int64 = 30_000
    /// How often a lane's pauses double: with 3 they last 1, 2, 4, 8, 8 … s, plus up to half of it at random.
    package var pauseDoublings = 3
    /// Longest `retry-after` honoured: 28 days, the longest lifetime of a notification.
    package var retryAfterMax: Int64 = 2_419_200_000
    /// Time-out of a request, also the pool's: so the lane can distinguish a request that was queued until its time-out
    /// from one whose connection failed.
    package var requestTime: Int64 = 10_000
    /// How long the lane waits for responses before it closes the connections.
    package var drainTime: Int64 = 1_000
    /// Delay after a report that the store did not write.
    package var reportRetryDelay: Int64 = 1_000
    /// Maximum time between two reports: the store's replies report what expired in its queue, and the queue's depth.
    package var reportInterval: Int64 = 5_000
    /// Longest back-off of a throttled device (1, 2, 4 … s), unless the provider asks for more.
    package var deviceWaitMax: Int64 = 60_000

    /// - Parameter windowMax: the provider's limit of requests in flight over all connections.
    package init(windowMax: Int) { self.windowMax = windowMax }
}
