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
    /// Between two probes of a stopped lane.
    package var probeInterval: Int64 = 30_000
    /// How often a lane's pauses double: with 3 they last 1, 2, 4, 8, 8 … s, plus up to half of it at random.
    package var pauseDoublings = 3
    /// Longest `retry-after` honoured: 28 days, the longest lifetime of a notification.
    package var retryAfterMax: Int64 = 2_419_200_000
    /// Time-out of a request. The pool uses the same, so that a request that waited for its turn for that long can be
    /// told from one that was refused a connection.
    package var requestTime: Int64 = 10_000
    /// How long responses are awaited on connections that are to be closed.
    package var drainTime: Int64 = 1_000
    /// After a report that the store did not write, the delay until the lane reports again.
    package var reportRetryDelay: Int64 = 1_000
    /// Maximum time between two reports: the replies tell the lane what expired in the store and how many jobs wait.
    package var reportInterval: Int64 = 5_000
    /// Longest back-off of a throttled device (1, 2, 4 … s), unless the provider asks for more.
    package var deviceWaitMax: Int64 = 60_000

    /// - Parameter windowMax: the provider's limit of requests in flight over all connections.
    package init(windowMax: Int) { self.windowMax = windowMax }
}
