import FleetRules

/// A lane's numbers. Times are milliseconds.
package struct LaneRules: Equatable, Sendable {
    /// Requests in flight at once, when all is well (1…).
    package var windowMax: Int
    /// So many attempts in a row without a real answer, and the lane pauses.
    package var failuresMax = 10
    /// So many requests in a row without any answer, and the connection is thrown away.
    package var timeOutsMax = 2
    /// So many requests in a row whose connection is spoilt, and it is thrown away.
    package var tooManyTokensMax = 3
    /// So many wishes in a row to be left alone for a while, and the whole lane obeys.
    package var retryAftersMax = 3
    /// How long a stopped lane waits between two probes.
    package var probeInterval: Int64 = 30_000
    /// How often the pauses of a lane double: with 3 they are 1, 2, 4, 8, 8 … s, and up to half as long again by chance.
    package var pauseDoublings = 3
    /// How long it waits at most when the provider asked for it: no notification lives longer.
    package var retryAfterMax: Int64 = 2_419_200_000
    /// How long a request may take before it is given up: the pool's own number, by which a queue is told from a refusal.
    package var requestTime: Int64 = 10_000
    /// How long a connection that is to go may still bring answers to what was asked over it.
    package var drainTime: Int64 = 1_000
    /// How long after the store could not take a report the lane tells it again.
    package var reportAgain: Int64 = 1_000
    /// How long a lane is silent towards the store at most: what expires there, and how much waits, comes to light by reports.
    package var reportInterval: Int64 = 5_000
    /// How long a busy device is left alone at most, unless the provider asks for more: 1, 2, 4 … s.
    package var deviceWaitMax: Int64 = 60_000

    /// - Parameter windowMax: APNs allows about 1,000 streams on a connection that has proved itself; FCM 100 on each of its
    ///   connections (PUSH.md sections 1 and 2).
    package init(windowMax: Int) { self.windowMax = windowMax }

    /// What is right for a provider.
    package init(for provider: PushProvider) {
        self.init(windowMax: provider == .apns ? 1_000 : 400)
    }
}
