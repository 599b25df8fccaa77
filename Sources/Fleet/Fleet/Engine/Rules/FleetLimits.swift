import Primitives

/// The limits of one driver's or customer's requests to the fleet's API. The range in parentheses is what the configuration
/// permits, both ends included.
package struct FleetLimits: Equatable, Sendable {
    /// Requests to `/pusher/auth` and `/pusher/user-auth` per second (0–100,000); 0 means no limit. As many as an
    /// application's `subscriptions` may arrive at once. Over the limit: 429.
    package var authRequestsPerSecond = 100
    /// Commands per second (0–100,000); 0 means no limit. Five times as many may arrive at once. Over the limit: 429.
    package var commandsPerSecond = 20
    /// Commands that wait for the store (1–4,096). Over the limit: 429.
    package var commandsWaiting = 32
    /// Queries per second (0–100,000); 0 means no limit. Five times as many may arrive at once. Over the limit: 429.
    package var queriesPerSecond = 50
    /// Queries that wait for the store (1–4,096). Over the limit: 429.
    package var queriesWaiting = 32

    package init() {}

    /// The rate of one subject's commands. An app that was offline sends what it has collected at once.
    package var commandRate: RateLimit { RateLimit(perSecond: commandsPerSecond, burst: commandsPerSecond * 5) }

    /// The rate of one subject's queries.
    package var queryRate: RateLimit { RateLimit(perSecond: queriesPerSecond, burst: queriesPerSecond * 5) }
}
